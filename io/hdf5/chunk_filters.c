#include "io/hdf5/library.h"

#include "base/integers.h"
#include "io/dataset.h"

#include <stdio.h>

/* ---- filters by their numbers ---------------------------------------------------------------------------------------- */

/* Numbers of filters that are registered with the HDF Group. */
enum { LZF = 32000, BLOSC = 32001, LZ4 = 32004, BITSHUFFLE = 32008, ZSTANDARD = 32015 };

static const struct known {
    H5Z_filter_t number;
    const char *name;
    bool is_in_hdf5plugin;      /* hdf5plugin, a collection on PyPI, has a plugin */
} known[] = {
    {H5Z_FILTER_DEFLATE, "deflate", false}, {H5Z_FILTER_SHUFFLE, "shuffle", false}, {H5Z_FILTER_FLETCHER32, "fletcher32", false},
    {H5Z_FILTER_SZIP, "szip", false}, {H5Z_FILTER_NBIT, "nbit", false}, {H5Z_FILTER_SCALEOFFSET, "scaleoffset", false},
    {305, "LZO", false}, {307, "bzip2", true}, {LZF, "LZF", false}, {BLOSC, "Blosc", true}, {32002, "MAFISC", false},
    {32003, "Snappy", false}, {LZ4, "LZ4", true}, {BITSHUFFLE, "bitshuffle", true}, {32009, "SPDP", false},
    {32010, "LPC-Rice", false}, {32011, "CCSDS-123", false}, {32012, "JPEG-LS", false}, {32013, "ZFP", true},
    {32014, "fpzip", false}, {ZSTANDARD, "Zstandard", true}, {32016, "B3D", false}, {32017, "SZ", true},
    {32018, "FCIDECOMP", true}, {32019, "JPEG", false}, {32020, "VBZ", false}, {32021, "FAPEC", false},
    {32022, "BitGroom", false}, {32023, "Granular BitRound", false}, {32024, "SZ3", true}, {32025, "Delta-Rice", false},
    {32026, "Blosc2", true}, {32027, "FLAC", false}, {32028, "SPERR", true},
};

static const struct known *find_known(H5Z_filter_t number)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].number == number)
            return &known[i];
    return NULL;
}

/* ---- one filter as a dataset has it ------------------------------------------------------------------------------------ */

enum { MOST_VALUES = 16 };

struct stored_filter {
    H5Z_filter_t number;
    unsigned values[MOST_VALUES];
    size_t n_values;
    char name[64];              /* filter's name in the file */
};

static struct stored_filter get_filter(hid_t creation, int index)
{
    struct stored_filter filter = {.n_values = MOST_VALUES};
    unsigned flags, settings;
    filter.number = H5Pget_filter2(creation, (unsigned)index, &flags, &filter.n_values, filter.values, sizeof filter.name,
                                   filter.name, &settings);
    filter.n_values = filter.n_values < MOST_VALUES ? filter.n_values : MOST_VALUES;
    filter.name[sizeof filter.name - 1] = '\0';
    return filter;
}

/* Convert a bitshuffle filter. Its values are two versions, element bytes, block elements (0: default), compression (0: none). */
static bool take_bitshuffle(const struct stored_filter *stored, struct lw_filter *out)
{
    enum { ELEMENT = 2, BLOCK = 3, COMPRESSION = 4, NONE = 0, WITH_LZ4 = 2, WITH_ZSTANDARD = 3 };
    const unsigned *const values = stored->values;      /* missing values are 0 */
    const int64_t size = values[ELEMENT];
    if (stored->n_values <= ELEMENT || size == 0 || values[BLOCK] % 8 != 0)
        return false;
    const int64_t block = values[BLOCK] > 0 ? values[BLOCK] : lw_bits_default_block(size);
    *out = (struct lw_filter){.kind = values[COMPRESSION] == NONE ? LW_FILTER_BITSHUFFLE : LW_FILTER_BITSHUFFLE_BLOCKS,
                              .codec = values[COMPRESSION] == WITH_ZSTANDARD ? LW_CODEC_ZSTD : LW_CODEC_LZ4, .element_bytes = size};
    return !__builtin_mul_overflow(block, size, &out->block_bytes) &&
           (values[COMPRESSION] == NONE || values[COMPRESSION] == WITH_LZ4 || values[COMPRESSION] == WITH_ZSTANDARD);
}

/* Convert a stored filter to this program's form. @return  whether it is known and its settings are valid, built in or not */
static bool take_filter(const struct stored_filter *stored, struct lw_filter *out)
{
    switch (stored->number) {
    case H5Z_FILTER_FLETCHER32: *out = (struct lw_filter){.kind = LW_FILTER_FLETCHER32}; return true;
    case H5Z_FILTER_SHUFFLE:
        *out = (struct lw_filter){.kind = LW_FILTER_SHUFFLE, .element_bytes = stored->values[0]};
        return stored->n_values == 1 && stored->values[0] > 0;
    case H5Z_FILTER_DEFLATE: *out = (struct lw_filter){.kind = LW_FILTER_CODEC, .codec = LW_CODEC_DEFLATE}; return true;
    case LZF: *out = (struct lw_filter){.kind = LW_FILTER_CODEC, .codec = LW_CODEC_LZF}; return true;
    case BLOSC: *out = (struct lw_filter){.kind = LW_FILTER_CODEC, .codec = LW_CODEC_BLOSC}; return true;
    case ZSTANDARD: *out = (struct lw_filter){.kind = LW_FILTER_CODEC, .codec = LW_CODEC_ZSTD}; return true;
    case LZ4:
        *out = (struct lw_filter){.kind = LW_FILTER_BLOCKS, .codec = LW_CODEC_LZ4, .block_bytes = stored->values[0]};
        return true;
    case BITSHUFFLE: return take_bitshuffle(stored, out);
    default: return false;
    }
}

bool lw_hdf5_filters_take(hid_t creation, struct lw_filters *out)
{
    const int n = H5Pget_nfilters(creation);
    if (n < 0 || n > LW_MAX_FILTERS)
        return false;
    out->n = n;
    for (int f = 0; f < n; f++) {
        const struct stored_filter stored = get_filter(creation, f);
        if (!take_filter(&stored, &out->filter[f]) || !lw_filter_is_built_in(&out->filter[f]))
            return false;
    }
    return true;
}

/* ---- names of filters -------------------------------------------------------------------------------------------------- */

static const char *filter_text(const struct stored_filter *stored, char text[96])
{
    const struct known *const filter = find_known(stored->number);
    struct lw_filter taken;
    const char *const name = filter ? filter->name : stored->name[0] ? stored->name : "an unnamed filter";
    const bool is_both = take_filter(stored, &taken) && taken.kind == LW_FILTER_BITSHUFFLE_BLOCKS;
    snprintf(text, 96, "%s%s%s", name, is_both ? " + " : "", is_both ? lw_codec_name(taken.codec) : "");
    return text;
}

const char *lw_hdf5_filters_text(hid_t creation, char *text, size_t size)
{
    const int n = H5Pget_nfilters(creation);
    text[0] = '\0';
    for (int f = 0; f < n; f++) {
        const struct stored_filter stored = get_filter(creation, f);
        char one[96];
        const size_t used = strlen(text);
        snprintf(text + used, size - used, "%s%s", f ? " + " : "", filter_text(&stored, one));
    }
    return text;
}

/* ---- filters that nothing decodes -------------------------------------------------------------------------------------- */

/* Return advice on getting a plugin. */
static const char *remedy(const struct known *filter)
{
    if (filter && filter->is_in_hdf5plugin)
        return "pip install hdf5plugin; export HDF5_PLUGIN_PATH=$(python3 -c 'import hdf5plugin; print(hdf5plugin.PLUGINS_PATH)')";
    return "get the plugin from those who made the file, or from the HDF Group's list of registered filters, and set "
           "HDF5_PLUGIN_PATH to its folder";
}

static int fail_filter(const struct stored_filter *stored, const char *file_name, const char *path, struct lw_error *err)
{
    const struct known *const filter = find_known(stored->number);
    struct lw_filter taken;
    char text[96];
    filter_text(stored, text);
    if (!take_filter(stored, &taken) || lw_filter_is_built_in(&taken))
        return lw_fail(err, LW_EDATA, "%.400s is compressed with %s (filter %d), for which HDF5 finds no plugin: %s",
                       lw_name_of(file_name, path).text, text, (int)stored->number, remedy(filter));
    return lw_fail(err, LW_EDATA, "%.400s is compressed with %s (filter %d), which this lapwing was built without: "
                   "install %s and build it again; or %s", lw_name_of(file_name, path).text, text, (int)stored->number,
                   lw_codec_package(taken.codec), remedy(filter));
}

static bool is_ours[H5Z_FILTER_MAX + 1];    /* [filter number]: this program's decoder is registered with HDF5 */

int lw_hdf5_filters_check(hid_t creation, const char *file_name, const char *path, struct lw_error *err)
{
    const int n = H5Pget_nfilters(creation);
    for (int f = 0; f < n; f++) {
        const struct stored_filter stored = get_filter(creation, f);
        struct lw_filter taken;
        if (stored.number < 0 || stored.number > H5Z_FILTER_MAX)
            continue;
        const bool is_sound = take_filter(&stored, &taken);
        if (is_sound && lw_filter_is_built_in(&taken))
            continue;
        if (is_ours[stored.number] && !is_sound)
            return lw_fail(err, LW_EDATA, "%.400s is damaged: its filter %d (%s) has settings that make no sense",
                           lw_name_of(file_name, path).text, (int)stored.number, find_known(stored.number)->name);
        if (is_ours[stored.number] || H5Zfilter_avail(stored.number) <= 0)
            return fail_filter(&stored, file_name, path, err);
    }
    return LW_OK;
}

/* ---- this program's decoders for HDF5 ------------------------------------------------------------------------------------- */

/* Make room in both buffers, data and spare. @return  false: there is no memory */
static bool make_room(struct lw_filtered *f, int64_t room)
{
    char *const data = H5resize_memory(f->data, (size_t)room);
    f->data = data ? data : f->data;
    H5free_memory(f->spare);
    f->spare = data ? H5allocate_memory((size_t)room, false) : NULL;
    f->room = data ? room : f->room;
    return f->spare;
}

/* Undo a filter. If the data do not state their decoded size, try again and again with four times the room. */
static int undo_in_room(const struct lw_filter *filter, struct lw_filtered *f, struct lw_error *err)
{
    struct lw_filter_tools *tools = NULL;
    int rc = lw_filter_tools_create(filter, 1, &tools, err);
    if (rc)
        return rc;
    const int64_t claimed = lw_filter_claim(filter, f->data, f->bytes);
    int64_t room = lw_max64(lw_max64(1, f->bytes), claimed > 0 ? claimed : 4 * f->bytes);
    do {
        room = lw_min64(room, UINT32_MAX);
        rc = room >= f->bytes && make_room(f, room) ? lw_filter_undo(filter, tools, f, err)
                                                    : lw_fail(err, LW_ESYSTEM, "no memory for decoding chunks");
        room *= 4;
    } while (rc == LW_EDATA && f->is_full && f->room < UINT32_MAX);
    lw_filter_tools_destroy(tools);
    return rc;
}

/* Undo one filter of a chunk for HDF5. @param values  [n], NULL if n is 0 @return  decoded bytes; 0: failed */
static size_t decode(H5Z_filter_t number, size_t n, const unsigned values[], size_t n_bytes, size_t *room, void **buffer)
{
    struct stored_filter stored = {.number = number, .n_values = n < MOST_VALUES ? n : MOST_VALUES};
    struct lw_filter filter;
    struct lw_filtered data = {.data = *buffer, .bytes = (int64_t)n_bytes, .room = (int64_t)*room};
    struct lw_error err;
    for (size_t i = 0; i < stored.n_values; i++)
        stored.values[i] = values[i];
    int rc = take_filter(&stored, &filter) && lw_filter_is_built_in(&filter)
                 ? undo_in_room(&filter, &data, &err)
                 : lw_fail(&err, LW_EDATA, "the filter's settings make no sense");
    if (rc == LW_OK && data.bytes == 0)     /* HDF5 would take 0 bytes for a failure */
        rc = lw_fail(&err, LW_EDATA, "a chunk is compressed from nothing");
    H5free_memory(data.spare);
    *buffer = data.data;
    *room = (size_t)data.room;
    if (rc)             /* the last call, because HDF5's other functions clear the error stack */
        H5Epush2(H5E_DEFAULT, __FILE__, __func__, __LINE__, H5E_ERR_CLS, H5E_PLINE, H5E_READERROR, "%s", err.message);
    return rc ? 0 : (size_t)data.bytes;
}

/* HDF5 does not pass the filter's number to its function, so each number has a function of its own. */
#define DECODER(name, number)                                                                                                 \
    static size_t name(unsigned flags, size_t n, const unsigned values[], size_t n_bytes, size_t *room, void **buffer)        \
    {                                                                                                                         \
        return flags & H5Z_FLAG_REVERSE ? decode(number, n, values, n_bytes, room, buffer) : 0;                               \
    }

DECODER(decode_lzf, LZF)
DECODER(decode_blosc, BLOSC)
DECODER(decode_lz4, LZ4)
DECODER(decode_bitshuffle, BITSHUFFLE)
DECODER(decode_zstandard, ZSTANDARD)

/* Register a decoder unless HDF5 has one and this build lacks a codec. @param codecs  all that datasets with the filter may need */
static void register_filter(H5Z_filter_t number, H5Z_func_t function, const enum lw_codec_id *codecs, int n_codecs)
{
    const H5Z_class2_t filter = {.version = H5Z_CLASS_T_VERS, .id = number, .decoder_present = 1, .name = find_known(number)->name,
                                 .filter = function};
    int n_there = 0;
    for (int c = 0; c < n_codecs; c++)
        n_there += lw_codec_find(codecs[c]) != NULL;
    if (n_there == n_codecs || H5Zfilter_avail(number) <= 0)
        is_ours[number] = H5Zregister(&filter) >= 0;
}

void lw_hdf5_filters_start(void)
{
    register_filter(LZF, decode_lzf, (const enum lw_codec_id[]){LW_CODEC_LZF}, 1);
    register_filter(BLOSC, decode_blosc, (const enum lw_codec_id[]){LW_CODEC_BLOSC}, 1);
    register_filter(LZ4, decode_lz4, (const enum lw_codec_id[]){LW_CODEC_LZ4}, 1);
    register_filter(BITSHUFFLE, decode_bitshuffle, (const enum lw_codec_id[]){LW_CODEC_LZ4, LW_CODEC_ZSTD}, 2);
    register_filter(ZSTANDARD, decode_zstandard, (const enum lw_codec_id[]){LW_CODEC_ZSTD}, 1);
}
