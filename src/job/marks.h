/* marks.h - marks of samples that do not count. --mask names them in one of two ways:
 *
 *     --mask FILE:/dataset       a dataset of marks
 *     --mask good-data=TESTS     tests, whose results are in the input files (io/notes/notes.h); samples that fail are marked
 *
 * A dataset of marks holds numbers: 0 for a sample that counts, any other for one that does not. There is one mark for each sample
 * of the axis, each channel, or each sample of each channel in the input's shape. Packed marks are bits, eight in a uint8 along
 * the last dimension, the first one in the highest place (numpy.packbits); every rank keeps all bits in memory. */
#pragma once

#include "job/job.h"

/* Things that have a mark: a sample of the axis; a channel; a sample of a channel. */
enum lw_marks_shape { LW_MARKS_BY_SAMPLE, LW_MARKS_BY_CHANNEL, LW_MARKS_BY_BOTH };

/* All members are zero without marks. */
struct lw_marks {
    enum lw_marks_shape shape;
    struct lw_reader *reader;           /* owned; marks in a dataset, which the user reads unless they are in memory */
    struct lw_type type;
    double *channels;                   /* owned; marks BY_CHANNEL: [channels of the view] */
    unsigned char *bits;                /* owned; packed marks or those of tests, unless BY_CHANNEL: [rows][pitch] bytes */
    int64_t rows, pitch;
};

/** Open the marks that job->search.mask or good_data names, and check their shape. A dataset is added to the job's inputs. Errors
 * are those of lw_reader_open, lw_quality_find and lw_reader_read_numbers. LW_EDATA: the shape does not fit the input; or results
 * of the tests are missing; or times of the results or of the input are unknown. Collective. */
int lw_marks_open(struct lw_comm *comm, const struct lw_reader *input, struct lw_job *job, struct lw_marks *marks,
                  struct lw_error *err);
void lw_marks_close(struct lw_marks *marks);

/** Return the mark of a sample of a channel, both numbered as in the input, from `bits`. @param axis  dimension of the samples */
bool lw_marks_bit(const struct lw_marks *marks, int axis, int64_t channel, int64_t sample);
