/* psrfits.h - read the headers of PSRFITS files in search mode: where the columns of the table SUBINT lie, and values of keywords.
 *
 *     row (subintegration): [TSUBINT, OFFS_SUB, ..] [DAT_FREQ] [DAT_WTS] [DAT_OFFS] [DAT_SCL] [DATA: NSBLK spectra]
 *
 * A value is ((DATA - ZERO_OFF) DAT_SCL + DAT_OFFS) DAT_WTS. Numbers are big-endian; the first sample in a byte has its highest
 * bits. Source: van Straten et al. 2010, and the definition kept by CSIRO. */
#pragma once

#include "io/dataset.h"

/* The headers of a file. Columns (`data` to `offsets`) are first bytes in a row; -1: the table lacks the column. */
struct lw_psrfits {
    int64_t first_row;                  /* first byte of the table in the file */
    int64_t row_bytes, n_rows;
    int64_t data, times, frequencies, weights, scales, offsets;
    bool has_double_frequencies;        /* DAT_FREQ is float64; else float32 */
    int64_t bits, n_pols, n_channels;
    int64_t n_per_row;                  /* NSBLK: spectra in a row */
    int64_t n_spectra;                  /* NSTOT: spectra in all rows; the last row may have fewer than n_per_row */
    int64_t n_rows_before;              /* NSUBOFFS: rows in the previous files of the observation */
    bool is_signed;
    double zero;                        /* ZERO_OFF */
    double period_s;                    /* TBIN */
    double channel_mhz;                 /* CHAN_BW: step of frequencies; 0: unknown */
    int64_t start_day, start_second;    /* start: modified Julian day, second of the day, and fraction of the second */
    double start_offset_s;
    struct lw_recorder recorder;        /* all fields except the polarisation */
    char pol_type[24], unit[24];        /* POL_TYPE, such as "AABB"; unit of the values ("": unknown) */
};

/** Read the headers of a file. LW_EDATA: the file is damaged, not in search mode, or too short for its rows, or its headers
 * contradict each other. @param file_bytes  size of the file */
int lw_psrfits_read(const char *file, int64_t file_bytes, struct lw_psrfits *out, struct lw_error *err);

/** Visit the keywords about observation, telescope and source: lw_format.visit_attributes. */
void lw_psrfits_visit_attributes(const struct lw_dataset_info *info, lw_attribute_fn *visit, void *context);
