#include "stream/open.h"

#include "io/codecs/hash.h"
#include "stream/search/mask.h"
#include "stream/sums/sums.h"

static int choose_sums(struct lw_setup *setup, struct lw_error *err)
{
    if (!lw_options_flag(setup->options, "checksum"))
        return LW_OK;
    if (!lw_hash_is_there())
        return lw_fail(err, LW_ECONFIG, "--checksum: this build of lapwing has no checksums: build it with xxHash (Debian's "
                       "libxxhash-dev)");
    if (lw_setup_result_format(setup) != LW_RESULT_HDF5)
        return lw_fail(err, LW_EUSAGE, "--checksum goes with HDF5 results only, not with FITS: give --output another name, such as "
                       "NAME.h5");
    lw_sums_want(&setup->job);
    return LW_OK;
}

static int open_more(struct lw_setup *setup, struct lw_error *err)
{
    const int rc = lw_comm_agree(setup->comm, choose_sums(setup, err), err);
    return rc ? rc : lw_mask_open(setup->comm, setup->reader, &setup->job, &setup->mask, err);
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
