/* notes.h - read notes, that is, facts about a dataset: attributes, names of dimensions, columns of a table.
 *
 *     "FILE:/path" -> child process (io/shield.h) -> the file's format (io/format.h) -> notes: plain data -> parent process
 *
 * Commands use notes to show and label data (said.h holds the attributes). A result takes over some attributes of its input.
 * Jobs need shape, type and times of a dataset, which io/dataset.h describes. recorder.h: which instrument recorded a file. */
#pragma once

#include "io/names.h"
#include "io/notes/said.h"

enum { LW_NOTE_NAME = 64, LW_MOST_COLUMNS = 32 };

struct lw_note_column {
    char name[LW_NOTE_NAME];
    bool is_number;
};

/* Notes about a dataset. They have no pointers, since a child process passes them to its parent as bytes. */
struct lw_notes {
    struct lw_said file, dataset;
    char dimensions[LW_MAX_DIMS][LW_NOTE_NAME];     /* name of each dimension; "": none */
    int n_dims;                                     /* 0: the dataset has more than LW_MAX_DIMS */
    int64_t dims[LW_MAX_DIMS];
    int64_t offset, bytes;                          /* bytes of the file with the elements, if these are contiguous; else 0 bytes */
    int64_t n_rows;                                 /* rows of a table: a table is a one-dimensional dataset of compounds */
    int n_columns;                                  /* 0: the dataset is no table */
    struct lw_note_column columns[LW_MOST_COLUMNS];
};

/** Read the notes about "FILE:/path", in a child process (io/shield.h). Not collective. Members that the format cannot fill are 0.
 * Errors: those of lw_object_parse and lw_formats_find; LW_EDATA: the file is damaged or incomplete, or lacks the dataset; LW_EIO.
 * @param hints  options such as --format; NULL: none */
int lw_notes_read(const char *name, const struct lw_hints *hints, struct lw_notes *notes, struct lw_error *err);

/** Collect only the attributes of a described dataset (lw_format.visit_attributes), and the fields of its recorder, in a child
 * process. Not collective. Errors: those of lw_formats_find and lw_shield. */
int lw_notes_collect(const struct lw_dataset_info *info, struct lw_said *said, struct lw_error *err);

/** Return whether the table has a column of numbers for each of the names. @param names  the last one is NULL */
bool lw_notes_have_columns(const struct lw_notes *notes, const char *const *names);

/* Rows and columns of a table that are to be read. */
struct lw_rows {
    int64_t first, count;
    const char *const *columns;         /* names of columns with numbers */
    int n_columns;
};

/** Read rows of a table that lw_notes_read has found. LW_EIO; LW_EDATA: the format has no tables, or the file has changed since.
 * @param values  set to [count x n_columns] numbers, converted to float64 */
int lw_notes_read_rows(const char *name, const struct lw_rows *rows, double *values, struct lw_error *err);

/** Read a column of all rows. Errors: also LW_ESYSTEM. @param values  set to [table->n_rows], to be released after errors, too */
int lw_notes_read_column(const char *name, const struct lw_notes *table, const char *column, double **values, struct lw_error *err);

/** Read rows like lw_notes_read_rows and call `visit` for each row in order. Errors: also LW_ESYSTEM. @param row  [n_columns] */
typedef void lw_row_fn(void *context, const double *row);
int lw_notes_each_row(const char *name, const struct lw_rows *rows, lw_row_fn *visit, void *context, struct lw_error *err);

/* ---- quality of samples: some files hold a series of integers, such as one a second, in which each bit is a test's outcome. */

enum { LW_MOST_QUALITIES = 2 };

/* A series, and the bits that are set in its numbers where samples are good. */
struct lw_quality {
    char path[LW_MAX_PATH];
    uint64_t bits;
};

struct lw_qualities {
    int n;
    struct lw_quality of[LW_MOST_QUALITIES];
};

/** Find the series that hold the given tests, in a child process (io/shield.h). Not collective. LW_EUSAGE: the file lacks a
 * test, and the message names the tests that it has. LW_EDATA: the file, or its format, has no series of tests.
 * @param tests  names separated by commas, like "DATA,CBC_CAT2", or bits of the file's first series, like "7" or "0x7f" */
int lw_quality_find(const char *file, const struct lw_hints *hints, const char *tests, struct lw_qualities *out,
                    struct lw_error *err);
