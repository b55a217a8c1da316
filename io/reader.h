/* reader.h - collective reading of one dataset of an archive file.
 *
 * A reader shows its dataset as a view [channel][axis] or [axis][channel] (the layout it is stored in), after the choice of
 * the axis, a piece of the axis and a selection of channels. Images are shown as [channel][axis], each sample a row of pixels.
 * Samples come in their stored type and byte order.
 *
 * Contiguous and plain chunked datasets are read by collective transfers. For those that are compressed, virtual, external or
 * have chunks that were never written, each rank has a plain handle of its own, with a cache of decoded chunks. */
#ifndef LW_READER_H
#define LW_READER_H

#include "../src/comm.h"
#include "../src/engine.h"
#include "dataset.h"

struct lw_reader;

/* A range with a step, as in A:B:STEP; begin <= end, step >= 1. */
struct lw_range {
    int64_t begin, end, step;
};

struct lw_view_spec {
    int axis;                   /* dimension of the dataset that is the axis */
    int64_t start, count;       /* piece of the axis */
    struct lw_range channels;   /* of the other dimension; where there is none: 0:1:1 */
    bool has_rows;              /* the last dimension is neither axis nor channels: each sample is a whole row of it */
    int64_t max_axis, max_channels;     /* largest single read, for bounce buffers and call counts */
};

/* Part of the view, and where it goes: `into` has the layout's two dimensions with the axis dimension `into_axis` long
 * (time fast: [n_channels][into_axis]; time slow: [into_axis][n_channels]); the samples are placed from `into_first` on. */
struct lw_slab {
    int64_t first, count;               /* axis of the view; count 0 = nothing, still collective */
    int64_t channel, n_channels;
    void *into;
    int64_t into_axis, into_first;
};

/** Open "FILE:/path/in/file" for collective reading. The last colon that is followed by "/" parts file and path.
 * Errors: LW_EUSAGE (no path given: lists the datasets), LW_EIO (missing or unreadable file), LW_EDATA (not HDF5, no such
 * dataset: lists those there are; a type outside LW_SCALARS; rank 0 or above LW_MAX_DIMS; no data). Collective: every
 * rank returns the same code. */
int lw_reader_open(struct lw_comm *comm, const char *name, struct lw_reader **out, struct lw_error *err);
void lw_reader_close(struct lw_reader *reader);             /* Collective. NULL is legal. */

const struct lw_dataset_info *lw_reader_info(const struct lw_reader *reader);

/** What lw_reader_select would refuse about the view, whatever its max_axis and max_channels. Not collective. */
int lw_reader_check(const struct lw_reader *reader, const struct lw_view_spec *view, struct lw_error *err);

/** Choose the view. LW_ECONFIG if a range leaves the dataset. Allocates bounce buffers (lw_reader_bytes). Not collective. */
int lw_reader_select(struct lw_reader *reader, const struct lw_view_spec *view, struct lw_error *err);
int64_t lw_reader_bytes(const struct lw_reader *reader, const struct lw_view_spec *view);

/** Read part of the view. Collective: every rank calls equally often, with nothing to read if need be. A failing rank
 * ends all ranks (lw_comm_abort) once the collective file call has begun. */
int lw_reader_read(struct lw_reader *reader, const struct lw_slab *slab, struct lw_error *err);

int64_t lw_reader_bytes_read(const struct lw_reader *reader);   /* by this rank, so far, stored type */

/** A small dataset (filters, kernels) of rank 1 or 2 as float64, or complex float64 pairs, on every rank: rank 0 reads and
 * broadcasts; any integer or floating type. Collective.
 * @param values  returned, [dims[0] x dims[1]] row-major (x 2 if complex), release with lw_free */
int lw_read_small(struct lw_comm *comm, const char *name, struct lw_dataset_info *info, double **values,
                  struct lw_error *err);

#endif
