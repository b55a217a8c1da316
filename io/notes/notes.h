/* notes.h - what a file says of a dataset beside its samples: attributes, names of dimensions, columns of a table. For those who
 * show data and label what they show; what the jobs need of a dataset is in io/dataset.h. */
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

/* Plain data without pointers. */
struct lw_notes {
    struct lw_said file, dataset;
    char dimensions[LW_MAX_DIMS][LW_NOTE_NAME];     /* names; "": not given */
    int n_dims;                                     /* 0: more than LW_MAX_DIMS */
    int64_t dims[LW_MAX_DIMS];
    int64_t offset, bytes;                          /* where its elements lie in the file, side by side; 0 bytes: they do not */
    int64_t n_rows;                                 /* of a table: a dataset of one dimension whose elements are compounds */
    int n_columns;                                  /* 0: it is no table */
    struct lw_note_column columns[LW_MOST_COLUMNS];
};

/** Read the notes of "FILE:/path", in a child process (io/shield.h). By one process. What a format does not have is empty. Errors:
 * lw_object_parse, lw_formats_find; LW_EDATA: damaged, incomplete, no such dataset; LW_EIO. @param hints  NULL: none */
int lw_notes_read(const char *name, const struct lw_hints *hints, struct lw_notes *notes, struct lw_error *err);

/** Collect the attributes alone of a dataset that has been described (lw_format.visit_attributes), in a child process. By one
 * process. Errors: lw_formats_find, lw_shield. */
int lw_notes_collect(const struct lw_dataset_info *info, struct lw_said *said, struct lw_error *err);

/** Whether the table has all of these columns, of numbers. @param names  ended by NULL */
bool lw_notes_have_columns(const struct lw_notes *notes, const char *const *names);

/* Rows of a table of one file. */
struct lw_rows {
    int64_t first, count;
    const char *const *columns;         /* names, of numbers */
    int n_columns;
};

/** Read rows of the table that the notes were read of. LW_EIO, or LW_EDATA if it has changed since.
 * @param values  [count x n_columns], float64 whatever is stored */
int lw_notes_read_rows(const char *name, const struct lw_rows *rows, double *values, struct lw_error *err);

/** Show such rows to `visit`, one after the other. Errors are those of lw_notes_read_rows. @param row  [n_columns] */
typedef void lw_row_fn(void *context, const double *row);
int lw_notes_each_row(const char *name, const struct lw_rows *rows, lw_row_fn *visit, void *context, struct lw_error *err);

/* ---- which samples are good, by what the file itself says: series of numbers beside the samples, such as one a second, each bit
 * of which stands for a test. */

enum { LW_MOST_QUALITIES = 2 };

/* A series, and the bits that are set in it where samples are good. */
struct lw_quality {
    char path[LW_MAX_PATH];
    uint64_t bits;
};

struct lw_qualities {
    int n;
    struct lw_quality of[LW_MOST_QUALITIES];
};

/** Find the series of tests, whose names are parted by commas: "DATA,CBC_CAT2"; or, of the file's first series, the bits of a
 * number: "7", "0x7f". In a child process (shield.h); by one process. LW_EUSAGE: no such test (names those there are). LW_EDATA:
 * the file, or its format, has no such series. */
int lw_quality_find(const char *file, const struct lw_hints *hints, const char *tests, struct lw_qualities *out,
                    struct lw_error *err);
