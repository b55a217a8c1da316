/* test_mseed.c - tests of miniSEED: channels of records in any order, exact times and rates, refused files, and damaged files,
 * which are refused or read within their bounds. tests/cli/formats/seismic.py tests compressed encodings with samples of all
 * sizes.
 *
 *   test_io_mseed [damaged files] */
#include "seismic.h"

extern const struct lw_format lw_format_mseed;

enum { RECORD = 512, DATA = 64, SAMPLES = 100 };

static struct test_file file;

/* The contents of a record. */
struct recipe {
    const char *name;               /* five letters of the station, two of the location, three of the channel, two of the network */
    int encoding, factor, multiplier;
    int day, hour, minute, second, tenths_of_ms, microseconds;
    int n_samples;
    bool is_big;
};

static const struct recipe usual = {.name = "ABC    HHZXY", .encoding = 3, .factor = 100, .multiplier = 1, .day = 60, .hour = 12,
                                    .n_samples = SAMPLES, .is_big = true};

static int value_of(int record, int i)
{
    return (record * 1000 + i * i) % 30000 - 12000;
}

/* Write Steim-1 with differences of 32 bits, or Steim-2 with differences of 30 bits: one in each word. */
static void put_steim(const struct recipe *recipe, unsigned char *at, int number)
{
    const bool is_first = recipe->encoding == 10;
    int i = 0;
    for (int frame = 0; i < recipe->n_samples; frame++) {
        uint32_t nibbles = 0;
        for (int word = frame == 0 ? 3 : 1; word < 16 && i < recipe->n_samples; word++, i++) {
            const int difference = i == 0 ? 0 : value_of(number, i) - value_of(number, i - 1);
            nibbles |= (is_first ? 3u : 2u) << (30 - 2 * word);
            put(at + frame * 64 + 4 * word, is_first ? difference : (difference & 0x3fffffff) | 1 << 30, 4, recipe->is_big);
        }
        put(at + frame * 64, nibbles, 4, recipe->is_big);
    }
    put(at + 4, value_of(number, 0), 4, recipe->is_big);
    put(at + 8, value_of(number, recipe->n_samples - 1), 4, recipe->is_big);
}

static void put_sample(const struct recipe *recipe, unsigned char *at, int i, int value)
{
    const float f32 = (float)value;
    const double f64 = value;
    uint64_t bits = 0;
    switch (recipe->encoding) {
    case 1: put(at + 2 * i, value, 2, recipe->is_big); break;
    case 4: memcpy(&bits, &f32, sizeof f32); put(at + 4 * i, (int64_t)bits, 4, recipe->is_big); break;
    case 5: memcpy(&bits, &f64, sizeof f64); put(at + 8 * i, (int64_t)bits, 8, recipe->is_big); break;
    default: put(at + 4 * i, value, 4, recipe->is_big);
    }
}

/* Add a record with the samples of record `number`. */
static unsigned char *add_record(const struct recipe *recipe, int number)
{
    unsigned char *const at = file.bytes + file.n;
    const bool is_big = recipe->is_big;
    memcpy(at, "000001D ", 8);
    memcpy(at + 8, recipe->name, 12);
    put(at + 20, 2024, 2, is_big);
    put(at + 22, recipe->day, 2, is_big);
    at[24] = (unsigned char)recipe->hour;
    at[25] = (unsigned char)recipe->minute;
    at[26] = (unsigned char)recipe->second;
    put(at + 28, recipe->tenths_of_ms, 2, is_big);
    put(at + 30, recipe->n_samples, 2, is_big);
    put(at + 32, recipe->factor, 2, is_big);
    put(at + 34, recipe->multiplier, 2, is_big);
    at[39] = 2;
    put(at + 44, DATA, 2, is_big);
    put(at + 46, 48, 2, is_big);
    put(at + 48, 1000, 2, is_big);
    put(at + 50, 56, 2, is_big);
    at[52] = (unsigned char)recipe->encoding;
    at[53] = is_big;
    at[54] = 9;
    put(at + 56, 1001, 2, is_big);
    at[61] = (unsigned char)recipe->microseconds;
    if (recipe->encoding >= 10)
        put_steim(recipe, at + DATA, number);
    else
        for (int i = 0; i < recipe->n_samples; i++)
            put_sample(recipe, at + DATA, i, value_of(number, i));
    file.n += RECORD;
    return at;
}

static void begin_file(void)
{
    memset(&file, 0, sizeof file);
}

/* Add three consecutive records of a channel. */
static void add_channel(const char *name, int encoding, int first_number)
{
    struct recipe recipe = usual;
    recipe.name = name;
    recipe.encoding = encoding;
    recipe.n_samples = encoding == 5 ? 50 : SAMPLES;
    for (int r = 0; r < 3; r++) {
        recipe.second = r * recipe.n_samples / 100;
        recipe.tenths_of_ms = r * recipe.n_samples % 100 * 100;
        add_record(&recipe, first_number + r);
    }
}

static int describe(const char *path, struct lw_dataset_info *info, struct lw_error *err)
{
    write_test_file("file.mseed", &file);
    *info = named("file.mseed", path);
    const int rc = lw_format_mseed.describe(info, err);
    return rc ? rc : lw_sampling_settle(info, err);
}

static void check_values(const struct lw_dataset_info *info, int64_t from, int first_number, int in_record, int64_t n)
{
    int rc = LW_OK;
    struct lw_error err = {0};
    char *const samples = read_all(&lw_format_mseed, info, &rc, &err);
    CHECK(samples, "code %d: %s", rc, err.message);
    for (int64_t i = 0; samples && i < n; i++) {
        const int wanted = value_of(first_number + (int)i / in_record, (int)i % in_record);
        CHECK(lw_type_number(info->type, samples, from + i) == wanted, "%s, sample %" PRId64 " is %g, not %d", info->path, i,
              lw_type_number(info->type, samples, from + i), wanted);
    }
    if (samples && info->n_dims == 2)
        check_boxes(&lw_format_mseed, info, samples);
    free(samples);
}

static void check_encodings(void)
{
    static const struct {
        int encoding;
        enum lw_scalar scalar;
    } encodings[] = {{1, LW_INT16}, {3, LW_INT32}, {4, LW_FLOAT32}, {5, LW_FLOAT64}, {10, LW_INT32}, {11, LW_INT32}};
    struct lw_dataset_info info;
    struct lw_error err = {0};
    for (size_t e = 0; e < sizeof encodings / sizeof *encodings; e++) {
        begin_file();
        add_channel("ABC    HHZXY", encodings[e].encoding, 0);
        const int in_record = encodings[e].encoding == 5 ? 50 : SAMPLES;
        const int rc = describe("", &info, &err);
        CHECK(rc == LW_OK && info.type.scalar == encodings[e].scalar && info.n_dims == 1 && info.dims[0] == 3 * in_record,
              "encoding %d: code %d, %s", encodings[e].encoding, rc, err.message);
        if (rc == LW_OK)
            check_values(&info, 0, 0, in_record, 3 * in_record);
    }
}

/* Records that are not in order of time; a channel that begins later and one that ends earlier; text records between them. */
static void check_channels(void)
{
    struct lw_dataset_info info;
    struct lw_error err = {0};
    begin_file();
    struct recipe late = usual, text = usual;
    late.name = "ABC  00HHEXY";
    late.encoding = 11;
    late.second = 2;
    add_record(&late, 12);
    late.second = 1;
    add_record(&late, 11);
    text.encoding = 0;
    text.name = "ABC    LOGXY";
    add_record(&text, 0);
    add_channel("ABC    HHZXY", 1, 0);
    CHECK(describe("", &info, &err) == LW_OK && info.n_dims == 2 && info.dims[0] == 2 && info.dims[1] == 2 * SAMPLES &&
          info.type.scalar == LW_INT32, "two channels: %s", err.message);
    char text_of_time[LW_INSTANT_TEXT];
    CHECK(strcmp(lw_sampling_time_text(&info.axis, 0, text_of_time), "2024-02-29T12:00:01") == 0, "start %s", text_of_time);
    check_values(&info, 0, 1, SAMPLES, 2 * SAMPLES);                /* XY.ABC..HHZ, beginning with its second record */
    check_values(&info, 2 * SAMPLES, 11, SAMPLES, 2 * SAMPLES);     /* XY.ABC.00.HHE */
    CHECK(describe("/XY.ABC..HHZ", &info, &err) == LW_OK && info.n_dims == 1 && info.dims[0] == 3 * SAMPLES &&
          info.type.scalar == LW_INT16, "one channel: %s", err.message);
    int n = 0;
    CHECK(lw_format_mseed.list("file.mseed", pass_row, &n, &err) == LW_OK && n == 2, "%d are listed", n);
}

static void check_time(const char *time, double rate)
{
    struct lw_dataset_info info;
    struct lw_error err = {0};
    char text[LW_INSTANT_TEXT] = "";
    CHECK(describe("", &info, &err) == LW_OK && info.axis.sample_rate_hz == rate &&
          strcmp(lw_sampling_time_text(&info.axis, 0, text), time) == 0, "%.17g Hz, not %.17g, from %s, not %s: %s",
          info.axis.sample_rate_hz, rate, text, time, err.message);
}

static void check_times(void)
{
    static const struct {
        int factor, multiplier;
        double rate;
    } rates[] = {{100, 1, 100}, {20, -8, 2.5}, {-10, 3, 0.3}, {-10, -5, 0.02}, {32000, 2, 64000}};
    for (size_t r = 0; r < sizeof rates / sizeof *rates; r++) {
        struct recipe recipe = usual;
        recipe.factor = rates[r].factor;
        recipe.multiplier = rates[r].multiplier;
        recipe.is_big = r % 2;
        recipe.tenths_of_ms = 1234;
        recipe.microseconds = -7;
        begin_file();
        unsigned char *const at = add_record(&recipe, 0);
        check_time("2024-02-29T12:00:00.123393", rates[r].rate);
        put(at + 40, 15000, 4, recipe.is_big);
        check_time("2024-02-29T12:00:01.623393", rates[r].rate);
        at[36] = 2;     /* the time already includes the correction */
        check_time("2024-02-29T12:00:00.123393", rates[r].rate);
    }
    begin_file();
    unsigned char *const at = add_record(&usual, 0);
    const float actual = 99.999f;
    uint32_t bits;
    memcpy(&bits, &actual, sizeof bits);
    put(at + 56, 100, 2, true);
    put(at + 60, bits, 4, true);
    check_time("2024-02-29T12:00:00", 99.999);
}

/* ---- refused files -------------------------------------------------------------------------------------------------------- */

static void check_refused(const char *path, const char *says)
{
    struct lw_dataset_info info;
    struct lw_error err = {0};
    int rc = describe(path, &info, &err);
    if (rc == LW_OK)
        free(read_all(&lw_format_mseed, &info, &rc, &err));
    CHECK(rc == LW_EDATA && strstr(err.message, says), "code %d, the message '%s' lacks '%s'", rc, err.message, says);
}

/* ---- stretches ------------------------------------------------------------------------------------------------------------- */

/* Add a channel of three records. The second begins `late` samples after the end of the first; the third begins in the middle of
 * the second. */
static void add_broken(const char *name, int number, int late)
{
    struct recipe recipe = usual;
    recipe.name = name;
    add_record(&recipe, number);
    recipe.second = (100 + late) / 100;
    recipe.tenths_of_ms = (100 + late) % 100 * 100;
    recipe.n_samples = 50;
    add_record(&recipe, number + 1);
    recipe.second += recipe.tenths_of_ms >= 5000;
    recipe.tenths_of_ms = (recipe.tenths_of_ms + 5000) % 10000;
    add_record(&recipe, number + 2);
}

static struct lw_file_stretch *find_stretches(const char *path, struct lw_dataset_info *info)
{
    struct lw_file_stretch *stretches = NULL;
    struct lw_error err = {0};
    const int rc = describe(path, info, &err);
    CHECK(rc == LW_OK, "%s: %s", path, err.message);
    CHECK(rc != LW_OK || lw_format_mseed.find_stretches(info, &stretches, &err) == LW_OK, "%s: %s", path, err.message);
    return stretches;
}

static void check_stretch(const struct lw_file_stretch *stretch, int64_t first, int64_t count, const char *time)
{
    char text[LW_INSTANT_TEXT];
    lw_instant_text(stretch->instant, text);
    CHECK(stretch->first == first && stretch->count == count && strcmp(text, time) == 0, "%" PRId64 " samples from %" PRId64
          " on, at %s, not %" PRId64 " from %" PRId64 " on, at %s", stretch->count, stretch->first, text, count, first, time);
}

/* A channel's samples are its stretches one behind the other; a path with a stretch's number selects that stretch. */
static void check_gap(void)
{
    struct lw_dataset_info info;
    begin_file();
    add_broken("ABC    HHZXY", 0, 20);
    struct lw_file_stretch *const stretches = find_stretches("/XY.ABC..HHZ", &info);
    CHECK(info.dims[0] == 200 && info.n_stretches == 2 && info.n_missing == 20,
          "%" PRId64 " samples, %" PRId64 " stretches, %" PRId64 " missing", info.dims[0], info.n_stretches, info.n_missing);
    if (stretches) {
        check_stretch(&stretches[0], 0, 100, "2024-02-29T12:00:00");
        check_stretch(&stretches[1], 100, 100, "2024-02-29T12:00:01.2");
    }
    check_values(&info, 0, 0, SAMPLES, SAMPLES);
    check_values(&info, 100, 1, 50, 100);
    lw_free(stretches);
    CHECK(describe("/XY.ABC..HHZ#1", &info, NULL) == LW_OK && info.dims[0] == 100 && info.n_stretches == 1,
          "the second stretch of a channel");
    check_values(&info, 0, 1, 50, 100);
    CHECK(describe("/#0", &info, NULL) == LW_OK && info.n_dims == 1, "the first stretch of all channels");
    check_values(&info, 0, 0, SAMPLES, SAMPLES);
    check_refused("/XY.ABC..HHZ#2", "has no stretch #2: there are 2");
}

/* The stretches of a single channel may overlap. Several channels with overlapping stretches are refused. */
static void check_overlap(void)
{
    struct lw_dataset_info info;
    begin_file();
    add_broken("ABC    HHZXY", 0, -10);
    struct lw_file_stretch *const stretches = find_stretches("/XY.ABC..HHZ", &info);
    CHECK(info.n_stretches == 2 && info.n_missing == -10, "%" PRId64 " stretches, %" PRId64 " missing", info.n_stretches,
          info.n_missing);
    if (stretches)
        check_stretch(&stretches[1], 100, 100, "2024-02-29T12:00:00.9");
    lw_free(stretches);
    add_channel("ABC    HHEXY", 3, 5);
    check_refused("", "has records of channel XY.ABC..HHZ that overlap");
}

/* Several channels share the times that all have. HHE has samples 0 to 300 without a gap, HHN misses 100 to 120, HHZ misses 100
 * to 107 and ends at 207. */
static void check_common(void)
{
    struct lw_dataset_info info;
    begin_file();
    add_channel("ABC    HHEXY", 3, 0);
    add_broken("ABC    HHNXY", 10, 20);
    add_broken("ABC    HHZXY", 20, 7);
    struct lw_file_stretch *const stretches = find_stretches("", &info);
    CHECK(info.n_dims == 2 && info.dims[0] == 3 && info.dims[1] == 187 && info.n_stretches == 2 && info.n_missing == 20,
          "[%" PRId64 " x %" PRId64 "] in %" PRId64, info.dims[0], info.dims[1], info.n_stretches);
    if (stretches) {
        check_stretch(&stretches[0], 0, 100, "2024-02-29T12:00:00");
        check_stretch(&stretches[1], 100, 87, "2024-02-29T12:00:01.2");
    }
    lw_free(stretches);
    int rc = LW_OK;
    char *const samples = read_all(&lw_format_mseed, &info, &rc, NULL);
    const int64_t at[3] = {120, 100, 113};      /* sample of each channel, counted without gaps, with which the second stretch
                                                 * begins */
    for (int64_t c = 0; samples && c < 3; c++)
        for (int64_t i = 0; i < 87; i++) {
            const int64_t sample = at[c] + i;
            const int wanted = c == 0 || sample < 100 ? value_of((int)(10 * c + sample / 100), (int)sample % 100)
                                                      : value_of((int)(10 * c + 1 + (sample - 100) / 50), (int)(sample - 100) % 50);
            CHECK(lw_type_number(info.type, samples, c * 187 + 100 + i) == wanted, "channel %d, sample %d", (int)c, (int)i);
        }
    if (samples)
        check_boxes(&lw_format_mseed, &info, samples);
    free(samples);
}

static void check_refusals(void)
{
    struct recipe recipe = usual;
    begin_file();
    add_record(&usual, 0);
    check_refused("/XY.ABC..HHE", "has no channel /XY.ABC..HHE: there are /XY.ABC..HHZ");
    recipe.name = "ABC    HHEXY";
    recipe.factor = 50;
    add_record(&recipe, 0);
    check_refused("", "different sampling rates: choose one with FILE:/NET.STA.LOC.CHA; there are /XY.ABC..HHE, /XY.ABC..HHZ");
    begin_file();
    add_record(&usual, 0);
    recipe.factor = 100;
    recipe.encoding = 4;
    add_record(&recipe, 0);
    check_refused("", "samples of different types");
    begin_file();
    add_record(&usual, 0);
    recipe.encoding = 3;
    recipe.hour = 13;
    add_record(&recipe, 0);
    check_refused("", "have no time in common");
    begin_file();
    recipe = usual;
    unsigned char *at = add_record(&recipe, 0);
    recipe.encoding = 4;
    recipe.second = 1;
    add_record(&recipe, 0);
    check_refused("", "with int32 and, at byte 512, with float32");
    recipe.encoding = 3;
    recipe.factor = 200;
    file.n = RECORD;
    add_record(&recipe, 0);
    check_refused("", "with 100 Hz and, at byte 512, with 200 Hz");
    file.n = RECORD;
    at[52] = 32;
    check_refused("", "samples in unsupported encoding 32");
    begin_file();
    recipe = usual;
    recipe.encoding = 11;
    at = add_record(&recipe, 0);
    at[DATA + 11] ^= 1;
    check_refused("", "its last sample should be");
    at[DATA + 11] ^= 1;
    at[DATA + 64 + 4] = 0;      /* 0 is no code of differences in Steim-2 */
    check_refused("", "cannot be unpacked from Steim-2");
    begin_file();
    add_record(&usual, 0);
    memset(file.bytes + file.n, 'x', RECORD);
    file.n += RECORD;
    check_refused("", "the record at byte 512 has no header of a data record");
    file.n = RECORD - 1;
    check_refused("", "holds no whole record");
}

static void check_cut(void)
{
    struct lw_dataset_info info;
    begin_file();
    add_channel("ABC    HHZXY", 3, 0);
    file.n -= 100;
    CHECK(describe("", &info, NULL) == LW_OK && info.dims[0] == 2 * SAMPLES, "an incomplete last record is not left out");
}

int main(int argc, char **argv)
{
    char folder[256];
    enter_folder(folder);
    check_encodings();
    check_channels();
    check_times();
    check_gap();
    check_overlap();
    check_common();
    check_refusals();
    check_cut();
    const int64_t n_runs = argc > 1 ? atoll(argv[1]) : 600;
    begin_file();
    add_channel("ABC    HHZXY", 11, 0);
    add_channel("ABC    HHEXY", 10, 4);
    add_channel("ABC    HHNXY", 1, 7);
    add_broken("ABD    HHNXY", 20, 30);
    check_damage(&lw_format_mseed, &file, "", 0, RECORD, 140, n_runs / 2);
    check_damage(&lw_format_mseed, &file, "/XY.ABD..HHN", 0, RECORD, 140, n_runs / 2);
    leave_folder(folder);
    return check_result("mseed");
}
