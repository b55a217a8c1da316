/* segy_header.h - what the headers of a SEG-Y file say: where its traces lie, when and where they were recorded.
 *
 *     | text [3200] | binary header [400] | more texts [3200 each] | trace header [240] | samples | trace header | samples ...
 *
 * Source: SEG-Y revision 2.1 (Society of Exploration Geophysicists, 2023), and what revisions 0 and 1 have otherwise. The
 * standard counts bytes of the binary header from 3201, and those of a trace header from 1, as is done here. */
#pragma once

#include "base/error.h"
#include "io/dataset.h"

#include <stdbool.h>
#include <stdint.h>

enum { LW_SEGY_TEXT_BYTES = 3200, LW_SEGY_BINARY_BYTES = 400, LW_SEGY_TRACE_BYTES = 240 };

/* Make `n` samples of the scalar, in this machine's byte order. What is read may lie at the end of what is written: no sample is
 * written over one that is still to be read. */
typedef void lw_segy_convert_fn(const unsigned char *from, int64_t n, void *to);

/* A format of samples. */
struct lw_segy_format {
    int code;
    const char *text;
    int bytes;                          /* of a sample in the file; 0: samples of this format are not read */
    enum lw_scalar scalar;              /* that it is given as */
    lw_segy_convert_fn *convert[2];     /* from little and big endian; NULL: samples are given as they lie there */
};

/* A file open for reading, and its headers. */
struct lw_segy_file {
    int fd;
    int64_t bytes;
    bool is_big;
    int revision;               /* 0, 1 or 2 */
    const struct lw_segy_format *format;
    int64_t first_byte;         /* of the first trace's header */
    int64_t header_bytes;       /* of every trace */
    int64_t pitch;              /* bytes from one trace to the next */
    int64_t n_samples, n_traces;
    unsigned char text[LW_SEGY_TEXT_BYTES], binary[LW_SEGY_BINARY_BYTES];
    unsigned char trace[LW_SEGY_TRACE_BYTES];       /* header of the first one */
};

/** Open a file and find its traces. LW_EIO: unreadable. LW_EDATA: its headers do not agree with each other or with its size, or
 * are of a kind that is not read. */
int lw_segy_open(const char *name, struct lw_segy_file *out, struct lw_error *err);
void lw_segy_close(struct lw_segy_file *file);

/** Whether the text is text and the headers agree: no number in the file says that it is SEG-Y. Of a file that was opened. */
bool lw_segy_is_plausible(const struct lw_segy_file *file);

/** Fill info->axis: the interval between samples, the time of the first trace and the unit. */
void lw_segy_find_sampling(const struct lw_segy_file *file, struct lw_dataset_info *info);

/** Look at the headers of traces, of very many at some spread evenly. LW_EDATA where one says another length than the file, unless
 * a user names the format: then the file's own counts, or that of the traces, if they agree and fit the file's size; or another
 * interval, unless a user gives the rate. Set `where` to the distance along the traces, or to their number where they are not
 * evenly spaced.
 * @param info  its name and hints */
int lw_segy_check_traces(struct lw_segy_file *file, const struct lw_dataset_info *info, struct lw_coordinate *where,
                         struct lw_error *err);

/** Take traces to have so many samples. LW_EDATA: there is none that is whole. */
int lw_segy_set_length(struct lw_segy_file *file, const char *name, int64_t n_samples, struct lw_error *err);

/** The text, its 40 lines without the blanks at their ends; from EBCDIC where it is in that. Returns `text`. */
const char *lw_segy_text(const struct lw_segy_file *file, char text[LW_SEGY_TEXT_BYTES + 41]);

/** A field of the binary header, or of the first trace's header: a number in two's complement. */
int64_t lw_segy_field(const struct lw_segy_file *file, int byte, int bytes);

/** The format of that code; NULL: the standard has none. */
const struct lw_segy_format *lw_segy_format_find(int code);
