/* notes.h - read what a file holds about a dataset beside its samples: attributes, names of dimensions, columns of a table.
 *
 *     "FILE:/path" -> child process (io/shield.h) -> the file's format (io/format.h) -> notes: plain data -> parent process
 *
 * Commands that show or label data use notes (said.h holds the attributes), and a result takes over some attributes of its input.
 * What a job needs of a dataset is in io/dataset.h instead. recorder.h tells whether files come from the same recorder. */
#pragma once

#include "base/error.h"
#include "io/names.h"
#include "io/notes/said.h"

#include <stdbool.h>
#include <stdint.h>

enum { LW_NOTE_NAME = 64, LW_MOST_COLUMNS = 32 };

struct lw_note_column {
    char name[LW_NOTE_NAME];
    bool is_number;
};

/* Notes about a dataset: plain data without pointers. */
struct lw_notes {
    struct lw_said file, dataset;
    char dimensions[LW_MAX_DIMS][LW_NOTE_NAME];     /* name of each dimension; "": none */
    int n_dims;                                     /* 0: the dataset has more than LW_MAX_DIMS */
    int64_t dims[LW_MAX_DIMS];
    int64_t offset, bytes;                          /* place of the elements in the file, if they are contiguous; else 0 bytes */
    int64_t n_rows;                                 /* rows of a table, that is, of a one-dimensional dataset of compounds */
    int n_columns;                                  /* 0: the dataset is no table */
    struct lw_note_column columns[LW_MOST_COLUMNS];
};

/** Read the notes about "FILE:/path", in a child process (io/shield.h). Called by one process. Notes that the format does not have
 * are empty. Errors: those of lw_object_parse and lw_formats_find; LW_EDATA: damaged, incomplete, or no such dataset; LW_EIO.
 * @param hints  NULL: none */
int lw_notes_read(const char *name, const struct lw_hints *hints, struct lw_notes *notes, struct lw_error *err);

/** Collect only the attributes of a dataset that has been described (lw_format.visit_attributes), in a child process. Called by one
 * process. Errors: those of lw_formats_find and lw_shield. */
int lw_notes_collect(const struct lw_dataset_info *info, struct lw_said *said, struct lw_error *err);

/** Return whether the table has all of these columns, with numbers. @param names  ended by NULL */
bool lw_notes_have_columns(const struct lw_notes *notes, const char *const *names);

/* Rows to be read from a table of one file. */
struct lw_rows {
    int64_t first, count;
    const char *const *columns;         /* names of columns with numbers */
    int n_columns;
};

/** Read rows of a table about which notes have been read. LW_EIO; LW_EDATA: the file has changed since.
 * @param values  set to [count x n_columns] float64, whatever type is stored */
int lw_notes_read_rows(const char *name, const struct lw_rows *rows, double *values, struct lw_error *err);

/** Read rows as lw_notes_read_rows does, with its errors, and call `visit` for each row in order. @param row  [n_columns] */
typedef void lw_row_fn(void *context, const double *row);
int lw_notes_each_row(const char *name, const struct lw_rows *rows, lw_row_fn *visit, void *context, struct lw_error *err);

/* ---- which samples are good, according to the file: a series of numbers, such as one per second, has one bit for each test. */

enum { LW_MOST_QUALITIES = 2 };

/* A series, and the bits that must be set in it where samples are good. */
struct lw_quality {
    char path[LW_MAX_PATH];
    uint64_t bits;
};

struct lw_qualities {
    int n;
    struct lw_quality of[LW_MOST_QUALITIES];
};

/** Find the series of numbers that hold the given tests, in a child process (io/shield.h). Called by one process. LW_EUSAGE: no
 * such test; the message names the tests of the file. LW_EDATA: the file, or its format, has no series of tests.
 * @param tests  names separated by commas, like "DATA,CBC_CAT2", or the bits of the file's first series, like "7" or "0x7f" */
int lw_quality_find(const char *file, const struct lw_hints *hints, const char *tests, struct lw_qualities *out,
                    struct lw_error *err);
