/* mseed_index.h - the records of a miniSEED file, and the channels that they make.
 *
 *     channel  all records of one name NET.STA.LOC.CHA, in the order of time
 *     stretch  records of a channel that follow each other without gap or overlap, to within half a sample; the samples of a
 *              channel are those of its stretches, one behind the other
 *
 * Only headers are read here (mseed_record.h). */
#pragma once

#include "io/archive/mseed_record.h"

struct lw_mseed_channel {
    const char *name;                   /* the first record's */
    struct lw_mseed_record *records;    /* of the index */
    int64_t n_records, n_samples;
    struct lw_instant start;
    struct lw_period period;
    enum lw_scalar scalar;              /* that holds the samples of all its records */
    int64_t n_stretches;
    bool has_overlaps;                  /* of stretches */
};

struct lw_mseed_index {
    int fd;
    int64_t bytes;
    struct lw_mseed_record *records;    /* sorted by channel and time */
    int64_t n_records, most_records;
    int32_t most_bytes;                 /* of a record */
    struct lw_mseed_channel *channels;  /* sorted by name */
    int64_t n_channels;
};

/** Open a file and find its records with samples; one that the file ends within is left out, and so are texts. LW_EIO: unreadable.
 * LW_EDATA: what is no record of miniSEED, or a damaged one; a channel whose rate or type changes. LW_ESYSTEM: no memory. */
int lw_mseed_index_open(const char *name, struct lw_mseed_index *out, struct lw_error *err);
void lw_mseed_index_close(struct lw_mseed_index *index);

/* The time of a record's first sample. */
struct lw_instant lw_mseed_start(const struct lw_mseed_record *record);
