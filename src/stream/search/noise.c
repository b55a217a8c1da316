#include "stream/search/noise.h"

#include "base/integers.h"
#include "base/log.h"
#include "base/memory.h"
#include "stream/search/noise_pass.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

bool lw_noise_is_measured(const struct lw_job *job)
{
    return job->noise && (job->search.noise == LW_NOISE_MEASURED || job->search.noise == LW_NOISE_RMS);
}

static int64_t n_sigmas(const struct lw_job *job)
{
    return lw_search_stretches(lw_op_search(&job->op)) * job->op.n_channels * lw_op_filters(&job->op);
}

int64_t lw_noise_kept_bytes(const struct lw_job *job)
{
    return lw_op_search(&job->op)->stretch > 0 ? n_sigmas(job) * (int64_t)sizeof *job->noise : 0;
}

struct lw_bytes lw_noise_bytes(const struct lw_plan_spec *spec, const struct lw_plan *plan)
{
    if (!lw_noise_is_measured(spec->job))
        return (struct lw_bytes){0};
    return spec->job->search.noise == LW_NOISE_RMS ? lw_noise_rms_bytes(spec, plan) : lw_noise_clip_bytes(spec, plan);
}

/* Warn of channels and filters whose noise is 0. Rank 0 only. */
static void warn_of_none(const struct lw_job *job, const struct lw_noise_said *said)
{
    const struct lw_search *const search = lw_op_search(&job->op);
    const int64_t n_filters = lw_op_filters(&job->op), pairs = job->op.n_channels * n_filters;
    int64_t n_none = 0, first = 0;
    char more[64] = "", where[64] = "";
    for (int64_t i = n_sigmas(job) - 1; i >= 0; i--) {
        /* A masked channel is expected to have no outputs that count. */
        const bool is_masked = (job->search.mask || job->search.good_data) && said->n_finite && said->n_finite[i] == 0;
        if (job->noise[i] == 0 && !is_masked) {
            n_none++;
            first = i;
        }
    }
    if (n_none == 0)
        return;
    const char *const why = !said->n_finite ? "the segments examined are 0 or not finite"
        : said->n_finite[first] > 0 ? "more than half of its outputs are 0"
        : "none of its outputs is finite and made of samples that differ";
    if (n_none > 1)
        snprintf(more, sizeof more, ", and so are %" PRId64 " others", n_none - 1);
    if (search->stretch > 0)
        snprintf(where, sizeof where, " in the stretch from output %" PRId64 " on",
                 lw_max64(0, search->first_stretch + first / pairs * search->stretch) - job->search.lead);
    lw_log_warn("the noise of %s %" PRId64 " behind %s %" PRId64 "%s is 0 (%s)%s: no peaks are found there. To search it, "
                "give --noise given and a --threshold for |y|", job->ops->channel,
                job->view.channels.begin + first % pairs / n_filters * job->view.channels.step, job->ops->filter,
                first % n_filters, where, why, more);
}

int lw_noise_measure(struct lw_setup *setup, const struct lw_plan *plan, struct lw_error *err)
{
    struct lw_job *const job = &setup->job;
    struct lw_noise_said said = {0};
    const double start = lw_now();
    const int rc =
        job->search.noise == LW_NOISE_RMS ? lw_noise_rms(setup, plan, &said, err) : lw_noise_clip(setup, plan, &said, err);
    if (rc == LW_OK) {
        lw_comm_broadcast(setup->comm, job->noise, n_sigmas(job) * (int64_t)sizeof *job->noise);
        double least = job->noise[0], most = job->noise[0];
        for (int64_t i = 0; i < n_sigmas(job); i++) {
            least = fmin(least, job->noise[i]);
            most = fmax(most, job->noise[i]);
        }
        lw_log_info("the noise is %.6g to %.6g, measured from %s in %.3g s", least, most, said.text, lw_now() - start);
        if (lw_comm_rank(setup->comm) == 0)
            warn_of_none(job, &said);
    }
    lw_free(said.n_finite);
    return rc;
}
