/* mseed_none.c - takes the place of mseed_unpack.c in a build without libmseed. */
#include "io/archive/mseed_unpack.h"

int lw_mseed_can_unpack(const char *name, struct lw_error *err)
{
    return lw_fail(err, LW_EDATA, "'%.600s' is a miniSEED file, which this build of lapwing cannot read: build it with libmseed "
                   "(Debian's libmseed-dev)", name);
}

void lw_mseed_unpack_start(void) {}

int lw_mseed_unpacker_create(int32_t most_bytes, struct lw_mseed_unpacker **out, struct lw_error *err)
{
    (void)most_bytes;
    (void)out;
    return lw_mseed_can_unpack("", err);
}

void lw_mseed_unpacker_destroy(struct lw_mseed_unpacker *unpacker)
{
    (void)unpacker;
}

int lw_mseed_unpack(struct lw_mseed_unpacker *unpacker, int fd, const struct lw_mseed_record *record, const void **samples,
                    struct lw_error *err)
{
    (void)unpacker;
    (void)fd;
    (void)record;
    (void)samples;
    return lw_mseed_can_unpack("", err);
}
