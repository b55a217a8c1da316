/* test_segy.c - tests of SEG-Y: every sample format in both byte orders, headers of all revisions, places and times of traces,
 * refused files, and damaged files, which are refused or read within their bounds.
 *
 *   test_io_segy [damaged files] */
#include "seismic.h"

#include <math.h>

extern const struct lw_format lw_format_segy;

enum { TRACES = 5, SAMPLES = 37, FIRST = 3600 };

/* The contents of a file. */
struct recipe {
    int code, bytes, revision;
    bool is_big, is_ascii;
    int64_t traces, samples, interval_us;
};

static const struct recipe usual = {.code = 5, .bytes = 4, .revision = 1, .is_big = true, .traces = TRACES, .samples = SAMPLES,
                                    .interval_us = 500};

static struct test_file file;

static unsigned char *binary(int byte) { return file.bytes + byte - 1; }

static int64_t pitch_of(const struct recipe *recipe) { return 240 + recipe->samples * recipe->bytes; }

static unsigned char *trace_field(const struct recipe *recipe, int64_t trace, int byte)
{
    return file.bytes + FIRST + trace * pitch_of(recipe) + byte - 1;
}

/* Bits of sample i of a trace: any bits, but for float formats only exponents of finite numbers. */
static uint64_t bits_of(const struct recipe *recipe, int64_t trace, int64_t i)
{
    uint64_t state = (uint64_t)(trace * 1000 + i);
    const uint64_t bits = next_random(&state);
    if (recipe->code == 5)
        return (bits & 0x807fffff) | (100 + bits % 50) << 23;
    if (recipe->code == 6)
        return (bits & 0x800fffffffffffff) | (1000 + bits % 50) << 52;
    return bits;
}

static void make_file(const struct recipe *recipe)
{
    memset(&file, 0, sizeof file);
    memset(file.bytes, recipe->is_ascii ? ' ' : 0x40, 3200);
    memcpy(file.bytes, recipe->is_ascii ? "C 1 A LINE" : "\xc3\x40\xf1\x40\xc1\x40\xd3\xc9\xd5\xc5", 10);
    put(binary(3217), recipe->interval_us, 2, recipe->is_big);
    put(binary(3221), recipe->samples, 2, recipe->is_big);
    put(binary(3225), recipe->code, 2, recipe->is_big);
    put(binary(3255), 1, 2, recipe->is_big);
    if (recipe->revision == 1)
        put(binary(3501), 0x100, 2, recipe->is_big);
    if (recipe->revision == 2) {
        put(binary(3297), 0x01020304, 4, recipe->is_big);
        *binary(3501) = 2;
    }
    put(binary(3503), recipe->revision > 0, 2, recipe->is_big);
    for (int64_t t = 0; t < recipe->traces; t++) {
        put(trace_field(recipe, t, 37), 100 + 25 * t, 4, recipe->is_big);
        put(trace_field(recipe, t, 115), recipe->samples, 2, recipe->is_big);
        for (int64_t i = 0; i < recipe->samples; i++)
            put(trace_field(recipe, t, 241) + i * recipe->bytes, (int64_t)bits_of(recipe, t, i), recipe->bytes, recipe->is_big);
    }
    file.n = FIRST + recipe->traces * pitch_of(recipe);
}

/* Value of a sample, computed from the definition of the format. */
static double value_of(const struct recipe *recipe, uint64_t bits)
{
    float f32;
    double f64;
    const uint32_t word = (uint32_t)bits;
    switch (recipe->code) {
    case 1: return (word >> 31 ? -1 : 1) * ldexp(word & 0xffffff, 4 * ((int)(word >> 24 & 0x7f) - 64) - 24);
    case 2: return (int32_t)word;
    case 3: return (int16_t)word;
    case 5: memcpy(&f32, &word, sizeof f32); return (double)f32;
    case 6: memcpy(&f64, &bits, sizeof f64); return f64;
    case 7: return (double)(int32_t)(word << 8) / 256;
    case 8: return (int8_t)word;
    case 10: return word;
    case 11: return (uint16_t)word;
    case 15: return word & 0xffffff;
    default: return (uint8_t)word;
    }
}

static int describe(struct lw_dataset_info *info, struct lw_error *err)
{
    write_test_file("file.sgy", &file);
    *info = named("file.sgy", "");
    const int rc = lw_format_segy.describe(info, err);
    return rc ? rc : lw_sampling_settle(info, err);
}

/* ---- samples --------------------------------------------------------------------------------------------------------------- */

static void check_samples(const struct recipe *recipe, enum lw_scalar scalar)
{
    struct lw_dataset_info info;
    struct lw_error err = {0};
    bool is_one = false;
    make_file(recipe);
    int rc = describe(&info, &err);
    CHECK(rc == LW_OK && info.type.scalar == scalar && info.n_dims == 2 && info.dims[0] == TRACES && info.dims[1] == SAMPLES &&
          info.metadata_axis == 1, "format %d: code %d, %s", recipe->code, rc, err.message);
    CHECK(lw_format_segy.recognise("file.sgy", &is_one, &err) == LW_OK && is_one, "format %d is recognised", recipe->code);
    char *const samples = rc ? NULL : read_all(&lw_format_segy, &info, &rc, &err);
    double numbers[TRACES * SAMPLES];
    CHECK(samples && lw_format_read_numbers(&lw_format_segy, &info, numbers, &err) == LW_OK, "format %d: %s", recipe->code,
          err.message);
    if (!samples)
        return;
    for (int64_t i = 0; i < TRACES * SAMPLES; i++) {
        double wanted = value_of(recipe, bits_of(recipe, i / SAMPLES, i % SAMPLES));
        wanted = scalar == LW_FLOAT32 ? (double)(float)wanted : wanted;
        CHECK(lw_type_number(info.type, samples, i) == wanted && numbers[i] == wanted, "format %d, sample %" PRId64
              ": %.17g, not %.17g", recipe->code, i, lw_type_number(info.type, samples, i), wanted);
    }
    check_boxes(&lw_format_segy, &info, samples);
    free(samples);
}

static void check_formats(void)
{
    static const struct {
        int code, bytes;
        enum lw_scalar scalar;
    } formats[] = {
        {1, 4, LW_FLOAT32}, {2, 4, LW_INT32}, {3, 2, LW_INT16}, {5, 4, LW_FLOAT32}, {6, 8, LW_FLOAT64}, {7, 3, LW_INT32},
        {8, 1, LW_INT8}, {10, 4, LW_FLOAT64}, {11, 2, LW_UINT16}, {15, 3, LW_INT32}, {16, 1, LW_UINT8},
    };
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
        for (int variant = 0; variant < 6; variant++) {
            struct recipe recipe = usual;
            recipe.code = formats[f].code;
            recipe.bytes = formats[f].bytes;
            recipe.revision = variant / 2;
            recipe.is_big = variant % 2;
            recipe.is_ascii = variant % 3 == 0;
            check_samples(&recipe, formats[f].scalar);
        }
}

/* ---- headers --------------------------------------------------------------------------------------------------------------- */

static void check_coordinates(void)
{
    struct lw_dataset_info info;
    make_file(&usual);
    CHECK(describe(&info, NULL) == LW_OK && strcmp(info.coordinates[0].name, "distance") == 0 &&
          strcmp(info.coordinates[0].unit, "m") == 0 && info.coordinates[0].first == 100 && info.coordinates[0].step == 25 &&
          strcmp(info.coordinates[1].name, "time") == 0, "the offsets must be the coordinate distance");
    put(trace_field(&usual, 2, 37), 160, 4, true);
    CHECK(describe(&info, NULL) == LW_OK && strcmp(info.coordinates[0].name, "channel") == 0, "offsets are not even: %s",
          info.coordinates[0].name);
    for (int64_t t = 0; t < TRACES; t++) {
        put(trace_field(&usual, t, 71), -100, 2, true);
        put(trace_field(&usual, t, 81), 5000 - 300 * t, 4, true);
        put(trace_field(&usual, t, 85), 700 + 400 * t, 4, true);
    }
    CHECK(describe(&info, NULL) == LW_OK && strcmp(info.coordinates[0].name, "distance") == 0 && info.coordinates[0].first == 0 &&
          fabs(info.coordinates[0].step - 5) < 1e-12, "coordinates: %g", info.coordinates[0].step);
    for (int64_t t = 0; t < TRACES; t++)
        put(trace_field(&usual, t, 89), 2, 2, true);
    CHECK(describe(&info, NULL) == LW_OK && strcmp(info.coordinates[0].name, "channel") == 0,
          "coordinates in seconds of arc must not become distances");
}

static void put_date(int year, int day, int hour, int minute, int second, int basis)
{
    const int values[] = {year, day, hour, minute, second, basis};
    for (int v = 0; v < 6; v++)
        put(trace_field(&usual, 0, 157 + 2 * v), values[v], 2, true);
}

static void check_start(const char *time, double rate)
{
    struct lw_dataset_info info;
    struct lw_error err = {0};
    char text[LW_INSTANT_TEXT];
    CHECK(describe(&info, &err) == LW_OK && info.axis.sample_rate_hz == rate &&
          strcmp(lw_sampling_time_text(&info.axis, 0, text), time) == 0, "%g Hz, not %g, from %s, not %s: %s",
          info.axis.sample_rate_hz, rate, text, time, err.message);
}

static void check_times(void)
{
    make_file(&usual);
    check_start("", 2000);
    put_date(2023, 60, 23, 59, 58, 4);
    check_start("2023-03-01T23:59:58", 2000);
    put_date(2023, 60, 23, 59, 58, 5);
    check_start("2023-03-01T23:59:40", 2000);       /* GPS was 18 s ahead */
    put_date(2023, 60, 23, 59, 58, 1);
    check_start("", 2000);
    put_date(99, 60, 23, 59, 58, 0);
    check_start("", 2000);
    put_date(2023, 400, 23, 59, 58, 0);
    check_start("", 2000);
    struct recipe second = usual;
    second.revision = 2;
    make_file(&second);
    const double interval = 31.25;
    uint64_t bits;
    memcpy(&bits, &interval, sizeof bits);
    put(binary(3273), (int64_t)bits, 8, true);
    check_start("", 32000);
    make_file(&usual);
    put(binary(3217), 0, 2, true);
    put(trace_field(&usual, 0, 117), 4000, 2, true);
    check_start("", 250);
}

static void check_extended_headers(void)
{
    struct recipe recipe = usual;
    struct lw_dataset_info info;
    recipe.revision = 2;
    make_file(&recipe);
    memmove(file.bytes + FIRST + 6400, file.bytes + FIRST, (size_t)(file.n - FIRST));
    memset(file.bytes + FIRST, 0x40, 6400);
    file.n += 6400 + 3200;
    put(binary(3505), 2, 2, true);
    put(binary(3529), 1, 4, true);
    put(binary(3221), 0, 2, true);
    put(binary(3269), SAMPLES, 4, true);
    put(binary(3513), TRACES, 8, true);
    int rc = LW_OK;
    CHECK(describe(&info, NULL) == LW_OK && info.dims[0] == TRACES && info.dims[1] == SAMPLES,
          "a file with texts before and after the traces");
    char *const samples = read_all(&lw_format_segy, &info, &rc, NULL);
    CHECK(samples && lw_type_number(info.type, samples, 0) == value_of(&recipe, bits_of(&recipe, 0, 0)),
          "the first sample of a file with texts");
    free(samples);
}

/* One trace is an array of one dimension. An incomplete trace at the end does not count. */
static void check_few(void)
{
    struct recipe one = usual;
    struct lw_dataset_info info;
    one.traces = 1;
    make_file(&one);
    file.n += pitch_of(&one) - 1;
    CHECK(describe(&info, NULL) == LW_OK && info.n_dims == 1 && info.dims[0] == SAMPLES && info.metadata_axis == 0,
          "a file of one trace must have one dimension");
}

/* SEG-Y has no magic number: the text header identifies a file. */
static void check_text(void)
{
    static const struct {
        const char *begin;
        char fill;
        bool is_one;
    } texts[] = {{"", 0, false}, {"C 1 A LINE", 0, true}, {"", ' ', true}, {"", 1, false}};
    struct recipe recipe = usual;
    recipe.revision = 0;
    recipe.is_ascii = true;
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        bool is_one = !texts[t].is_one;
        make_file(&recipe);
        memset(file.bytes, texts[t].fill, 3200);
        memcpy(file.bytes, texts[t].begin, strlen(texts[t].begin));
        write_test_file("file.sgy", &file);
        CHECK(lw_format_segy.recognise("file.sgy", &is_one, NULL) == LW_OK && is_one == texts[t].is_one,
              "a text '%s' filled with bytes of value %d", texts[t].begin, texts[t].fill);
    }
}

/* ---- refused files -------------------------------------------------------------------------------------------------------- */

static void check_refused(const char *says)
{
    struct lw_dataset_info info;
    struct lw_error err = {0};
    const int rc = describe(&info, &err);
    CHECK(rc == LW_EDATA && strstr(err.message, says), "code %d, the message '%s' lacks '%s'", rc, err.message, says);
}

/* Describe a file with the options of a user: the format, or the sample rate. */
static int describe_hinted(const char *format, double rate_hz, struct lw_dataset_info *info, struct lw_error *err)
{
    write_test_file("file.sgy", &file);
    *info = named("file.sgy", "");
    snprintf(info->hints.format, sizeof info->hints.format, "%s", format);
    info->hints.sample_rate_hz = rate_hz;
    return lw_format_segy.describe(info, err);
}

/* Headers that contradict each other: the message names both values and their places, and an option of the user decides. */
static void check_contradictions(void)
{
    struct lw_dataset_info info;
    struct lw_error err = {0};
    int rc = LW_OK;
    make_file(&usual);
    put(trace_field(&usual, 3, 115), SAMPLES + 1, 2, true);
    check_refused(
        "a trace has 37 samples by its binary header (bytes 3221-3222), and 38 by the header of trace 3 (bytes 115-116); of 5 "
        "traces checked, 1 contradict the file; --format SEG-Y takes the length of the binary header");
    CHECK(describe_hinted("SEG-Y", 0, &info, &err) == LW_OK && info.dims[1] == SAMPLES, "%s", err.message);
    make_file(&usual);
    put(binary(3221), 20, 2, true);
    check_refused("--format SEG-Y takes the length of the traces, which fits the file's size");
    CHECK(describe_hinted("SEG-Y", 0, &info, &err) == LW_OK && info.dims[0] == TRACES && info.dims[1] == SAMPLES, "%s",
          err.message);
    char *const samples = read_all(&lw_format_segy, &info, &rc, &err);
    CHECK(samples && lw_type_number(info.type, samples, SAMPLES) == value_of(&usual, bits_of(&usual, 1, 0)), "%s", err.message);
    free(samples);
    make_file(&usual);
    put(trace_field(&usual, 2, 117), 501, 2, true);
    check_refused(
        "samples are 500 us apart by its binary header (bytes 3217-3218), and 501 us by the header of trace 2 (bytes 117-118)");
    CHECK(describe_hinted("SEG-Y", 0, &info, &err) == LW_EDATA && describe_hinted("", 1000, &info, &err) == LW_OK,
          "--sample-rate must settle the contradiction, the format must not");
}

static void check_refusals(void)
{
    struct recipe second = usual;
    second.revision = 2;
    make_file(&usual);
    put(binary(3225), 4, 2, true);
    check_refused("fixed point with gain");
    put(binary(3225), 99, 2, true);
    check_refused("format code 99");
    make_file(&usual);
    put(binary(3221), 0, 2, true);
    put(trace_field(&usual, 0, 115), 0, 2, true);
    check_refused("lacks the number of samples of a trace");
    make_file(&usual);
    file.n = FIRST + pitch_of(&usual) - 1;
    check_refused("is too short");
    file.n = 1000;
    check_refused("less than the headers take");
    make_file(&usual);
    put(binary(3505), -1, 2, true);
    check_refused("extended text headers");
    make_file(&second);
    put(binary(3513), TRACES + 1, 8, true);
    check_refused("claims 6 traces");
    make_file(&second);
    put(binary(3297), 0x02010403, 4, true);
    check_refused("bytes of each pair swapped");
    make_file(&second);
    put(binary(3521), 1 << 30, 8, true);
    check_refused("the first one would begin at byte 1073741824");
    make_file(&usual);
    write_test_file("file.sgy", &file);
    struct lw_error err;
    struct lw_dataset_info info = named("file.sgy", "/data");
    const int rc = lw_format_segy.describe(&info, &err);
    CHECK(rc == LW_EDATA && strstr(err.message, "has no dataset /data"), "a name: %d", rc);
}

int main(int argc, char **argv)
{
    char folder[256];
    enter_folder(folder);
    check_formats();
    check_coordinates();
    check_times();
    check_extended_headers();
    check_few();
    check_text();
    check_contradictions();
    check_refusals();
    const int64_t n_runs = argc > 1 ? atoll(argv[1]) : 600;
    struct recipe recipe = usual;
    for (recipe.revision = 0; recipe.revision <= 2; recipe.revision++) {
        recipe.code = recipe.revision == 1 ? 5 : 1;
        make_file(&recipe);
        check_damage(&lw_format_segy, &file, "", 3200, file.n, 640, n_runs / 3);
    }
    leave_folder(folder);
    return check_result("segy");
}
