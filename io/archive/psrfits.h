/* psrfits.h - the table of subintegrations of a PSRFITS file in search mode: where its columns lie, and what its keywords say.
 *
 *     row: [TSUBINT, OFFS_SUB, ..] [DAT_FREQ] [DAT_WTS] [DAT_OFFS] [DAT_SCL] [DATA: NSBLK spectra]      one after the other
 *
 * (van Straten et al. 2010, and the definition that CSIRO keeps.) A value is ((DATA - ZERO_OFF) DAT_SCL + DAT_OFFS) DAT_WTS; of
 * samples that share a byte the first has the highest bits; numbers are big-endian. */
#pragma once

#include "base/error.h"
#include "io/dataset.h"

#include <stdbool.h>
#include <stdint.h>

/* Places are bytes from the beginning of a row; -1: there is no such column. */
struct lw_psrfits {
    int64_t first_row;                  /* byte of the file */
    int64_t row_bytes, n_rows;
    int64_t data, times, frequencies, weights, scales, offsets;
    bool has_double_frequencies;        /* float64; else float32 */
    int64_t bits, n_pols, n_channels;
    int64_t n_per_row;                  /* spectra in a row, NSBLK */
    int64_t n_spectra;                  /* in all rows: the last one may not be full (NSTOT) */
    int64_t n_rows_before;              /* in files before this one, NSUBOFFS */
    bool is_signed;
    double zero;                        /* ZERO_OFF */
    double period_s;                    /* TBIN */
    double channel_mhz;                 /* CHAN_BW; 0: not known */
    int64_t start_day, start_second;    /* modified Julian date, second of the day, and what is beyond that */
    double start_offset_s;
    struct lw_recorder recorder;        /* without the polarisation */
    char pol_type[24], unit[24];        /* POL_TYPE; unit of the values, "": not known */
};

/** Read the headers of a file. LW_EDATA: damaged, not in search mode, rows that the file is too short for, numbers that do not fit
 * each other. @param file_bytes  of the file */
int lw_psrfits_read(const char *file, int64_t file_bytes, struct lw_psrfits *out, struct lw_error *err);

/** lw_format.visit_attributes: what the headers say of observation, telescope and source. */
void lw_psrfits_visit_attributes(const struct lw_dataset_info *info, lw_attribute_fn *visit, void *context);
