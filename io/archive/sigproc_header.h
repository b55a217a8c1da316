/* sigproc_header.h - the header of SIGPROC's filterbank and time series files: keywords between HEADER_START and HEADER_END, each a
 * counted text with a value behind it whose kind the keyword implies (SIGPROC's user guide, and what its users have added). */
#pragma once

#include "base/error.h"
#include "io/attribute.h"

#include <stdbool.h>
#include <stdint.h>

struct lw_sigproc_header {
    bool is_swapped;            /* written on a machine of the other byte order: the samples are, too */
    int64_t bytes;              /* of the header: where the samples begin */
    int64_t bits, n_ifs, n_channels;
    int64_t n_spectra;          /* nsamples, which few programs write; 0: it does not say */
    bool is_signed;
    bool is_barycentric;        /* times are those at the barycentre of the solar system */
    double start_mjd;           /* 0: not known */
    double period_s;
    double first_mhz, step_mhz; /* of the channels; step 0: not known */
    double ra, dec;             /* as hhmmss.s and ddmmss.s: where the telescope points; both 0: not known */
    double dispersion;          /* refdm: of a time series, that its channels were delayed for */
    int64_t telescope, machine, beam;       /* numbers that SIGPROC gives; 0: not known */
    char telescope_name[32];
    int64_t n_listed;           /* frequencies, where they are listed one by one */
};

/** Whether the file begins as such a header does. LW_EIO: it cannot be read. */
int lw_sigproc_recognise(const char *file, bool *is_one, struct lw_error *err);

/** Read a header. LW_EDATA: it does not end, has a keyword that nobody knows, or values that no file can have. */
int lw_sigproc_header_read(const char *file, struct lw_sigproc_header *out, struct lw_error *err);

/** Call `visit` for what the header says beside shape, type, time and frequency, in its order. */
void lw_sigproc_header_visit(const char *file, lw_attribute_fn *visit, void *context);
