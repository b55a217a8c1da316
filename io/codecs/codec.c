#include "io/codecs/codec.h"

static const struct {
    const char *name, *package;
    const struct lw_codec *codec;
} codecs[LW_N_CODECS] = {
    [LW_CODEC_DEFLATE] = {"deflate", "libdeflate-dev", &lw_codec_deflate},
    [LW_CODEC_LZ4] = {"LZ4", "liblz4-dev",
#ifdef LAPWING_HAVE_LZ4
                      &lw_codec_lz4
#endif
    },
    [LW_CODEC_ZSTD] = {"Zstandard", "libzstd-dev",
#ifdef LAPWING_HAVE_ZSTD
                       &lw_codec_zstd
#endif
    },
    [LW_CODEC_LZF] = {"LZF", "liblzf-dev",
#ifdef LAPWING_HAVE_LZF
                      &lw_codec_lzf
#endif
    },
    [LW_CODEC_BLOSC] = {"Blosc", "libblosc-dev",
#ifdef LAPWING_HAVE_BLOSC
                        &lw_codec_blosc
#endif
    },
};

const struct lw_codec *lw_codec_find(enum lw_codec_id id) { return codecs[id].codec; }

const char *lw_codec_name(enum lw_codec_id id) { return codecs[id].name; }

const char *lw_codec_package(enum lw_codec_id id) { return codecs[id].package; }
