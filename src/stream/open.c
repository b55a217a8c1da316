#include "stream/open.h"

#include "stream/search/mask.h"

static int open_more(struct lw_setup *setup, struct lw_error *err)
{
    return lw_mask_open(setup->comm, setup->reader, &setup->job, &setup->mask, err);
}

int lw_stream_open(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options, struct lw_setup *setup,
                   struct lw_error *err)
{
    return lw_setup_open(comm, ops, options, open_more, setup, err);
}

void lw_stream_close(struct lw_setup *setup)
{
    lw_mask_close(setup->mask);
    lw_setup_close(setup);
}
