/* kinds.c - the kinds of filters that there are. A further one is a further line here. */
#include "jobs/filters/kinds.h"

const struct lw_filter_kind *const lw_filter_kinds[] = {
    &lw_filter_bandpass,
    &lw_filter_lowpass,
    &lw_filter_highpass,
    &lw_filter_boxcar,
    &lw_filter_gaussian,
    &lw_filter_ricker,
    &lw_filter_chirp,
    &lw_filter_inspiral,
    NULL,
};
