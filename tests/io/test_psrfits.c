/* test_psrfits.c - tests of PSRFITS files in search mode: every width and several polarisations, against samples picked bit by
 * bit; missing rows; and headers that no correct program writes.
 *
 *   test_psrfits [MUTATIONS] */
#include "radio.h"

#include <math.h>
#include <stdarg.h>
#include <unistd.h>

enum { CARD = 80, BLOCK = 2880, MOST_ROWS = 8 };

/* The file to make. */
struct plan {
    int bits, n_pols, n_channels, n_per_row, n_rows;
    bool is_signed, is_scaled;
    const char *pol_type;
    double zero;
    double times[MOST_ROWS];        /* OFFS_SUB of the rows */
    int n_total;                    /* NSTOT; 0: the header has none */
    const char *mode;               /* OBS_MODE; NULL: SEARCH */
};

/* The dataset that a path denotes. */
struct truth {
    const struct plan *plan;
    const unsigned char *rows;
    int64_t row_bytes;
    struct lw_type type;
    int first_pol, second_pol;      /* second polarisation of a sum; -1: none */
};

#define TBIN 0.0005

/* ---- making files ----------------------------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3)))
static void put_card(struct made *made, const char *format, ...)
{
    char card[CARD + 1];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(card, sizeof card, format, arguments);
    va_end(arguments);
    memset(card + length, ' ', (size_t)(CARD - length));
    put_bytes(made, card, CARD);
}

static void put_end(struct made *made)
{
    put_card(made, "END");
    while (made->n % BLOCK)
        put_bytes(made, " ", 1);
}

static void put_primary(struct made *made, const struct plan *plan)
{
    put_card(made, "SIMPLE  =                    T");
    put_card(made, "BITPIX  =                    8");
    put_card(made, "NAXIS   =                    0");
    put_card(made, "EXTEND  =                    T");
    put_card(made, "FITSTYPE= 'PSRFITS '");
    put_card(made, "TELESCOP= 'Parkes  '");
    put_card(made, "OBSFREQ =              1400.25");
    put_card(made, "OBS_MODE= '%s'", plan->mode ? plan->mode : "SEARCH");
    put_card(made, "STT_IMJD=                58543");
    put_card(made, "STT_SMJD=                21600");
    put_card(made, "STT_OFFS=                 0.75");
    put_end(made);
}

static int64_t data_bytes(const struct plan *plan)
{
    return (int64_t)plan->bits * plan->n_pols * plan->n_channels * plan->n_per_row / 8;
}

static int64_t row_bytes(const struct plan *plan)
{
    return 8 + 8 * plan->n_channels + 4 * plan->n_channels + 8 * plan->n_channels * plan->n_pols + data_bytes(plan);
}

static void put_column(struct made *made, int number, const char *name, int64_t count, char type)
{
    put_card(made, "TTYPE%d  = '%s'", number, name);
    put_card(made, "TFORM%d  = '%ld%c'", number, (long)count, type);
}

static void put_table(struct made *made, const struct plan *plan)
{
    const int all = plan->n_channels * plan->n_pols;
    put_card(made, "XTENSION= 'BINTABLE'");
    put_card(made, "BITPIX  =                    8");
    put_card(made, "NAXIS   =                    2");
    put_card(made, "NAXIS1  = %20ld", (long)row_bytes(plan));
    put_card(made, "NAXIS2  = %20d", plan->n_rows);
    put_card(made, "PCOUNT  =                    0");
    put_card(made, "GCOUNT  =                    1");
    put_card(made, "TFIELDS =                    6");
    put_card(made, "EXTNAME = 'SUBINT  '");
    put_column(made, 1, "OFFS_SUB", 1, 'D');
    put_column(made, 2, "DAT_FREQ", plan->n_channels, 'D');
    put_column(made, 3, "DAT_WTS", plan->n_channels, 'E');
    put_column(made, 4, "DAT_OFFS", all, 'E');
    put_column(made, 5, "DAT_SCL", all, 'E');
    put_column(made, 6, "DATA", data_bytes(plan) / (plan->bits > 8 ? plan->bits / 8 : 1),
               plan->bits == 32 ? 'E' : plan->bits == 16 ? 'I' : 'B');
    put_card(made, "NBITS   = %20d", plan->bits);
    put_card(made, "NPOL    = %20d", plan->n_pols);
    put_card(made, "NCHAN   = %20d", plan->n_channels);
    put_card(made, "NSBLK   = %20d", plan->n_per_row);
    put_card(made, "TBIN    = %20.10f", TBIN);
    put_card(made, "CHAN_BW =                 -0.5");
    put_card(made, "POL_TYPE= '%s'", plan->pol_type);
    put_card(made, "ZERO_OFF= %20.4f", plan->zero);
    put_card(made, "SIGNINT = %20d", plan->is_signed);
    put_card(made, "NSUBOFFS= '*       '");
    if (plan->n_total)
        put_card(made, "NSTOT   = %20d", plan->n_total);
    put_end(made);
}

static void put_double(struct made *made, double value)
{
    unsigned char bytes[8];
    lw_copy_ordered(bytes, &value, 8, true);
    put_bytes(made, bytes, 8);
}

static void put_float(struct made *made, float value)
{
    unsigned char bytes[4];
    lw_copy_ordered(bytes, &value, 4, true);
    put_bytes(made, bytes, 4);
}

/* Weights, offsets and scales differ from row to row. */
static double weight_of(const struct plan *plan, int row, int64_t channel)
{
    return plan->is_scaled ? (double)((row + channel) % 3) / 2 : 1;
}

static double offset_of(const struct plan *plan, int row, int64_t i) { return plan->is_scaled ? 100.25 * row - (double)i : 0; }

static double scale_of(const struct plan *plan, int row, int64_t i)
{
    return plan->is_scaled ? 0.125 * (double)(1 + (row + i) % 7) : 1;
}

static void put_row(struct made *made, const struct plan *plan, int row, uint64_t *random)
{
    const int all = plan->n_channels * plan->n_pols;
    put_double(made, plan->times[row]);
    for (int c = 0; c < plan->n_channels; c++)
        put_double(made, 1500 - 0.5 * c);
    for (int c = 0; c < plan->n_channels; c++)
        put_float(made, (float)weight_of(plan, row, c));
    for (int i = 0; i < all; i++)
        put_float(made, (float)offset_of(plan, row, i));
    for (int i = 0; i < all; i++)
        put_float(made, (float)scale_of(plan, row, i));
    for (int64_t b = 0; plan->bits < 32 && b < data_bytes(plan); b++) {
        const unsigned char byte = (unsigned char)next_random(random);
        put_bytes(made, &byte, 1);
    }
    for (int64_t i = 0; plan->bits == 32 && i < data_bytes(plan) / 4; i++)
        put_float(made, (float)(next_random(random) % 1000) / 8);
}

/* @return offset of the rows */
static size_t make(struct made *made, const struct plan *plan)
{
    uint64_t random = 77 + (uint64_t)plan->bits;
    made->n = 0;
    put_primary(made, plan);
    put_table(made, plan);
    const size_t begin = made->n;
    for (int r = 0; r < plan->n_rows; r++)
        put_row(made, plan, r, &random);
    while (made->n % BLOCK)
        put_bytes(made, "", 1);
    return begin;
}

/* Set the times of consecutive rows. The first begins `before` rows after the observation's start. */
static void set_times(struct plan *plan, double before)
{
    for (int r = 0; r < plan->n_rows; r++)
        plan->times[r] = (before + r + 0.5) * plan->n_per_row * TBIN;
}

/* ---- picking samples -------------------------------------------------------------------------------------------------- */

/* The row that holds the spectrum `time`; -1: none. */
static int row_of(const struct plan *plan, int64_t time, int64_t *within)
{
    const double duration = plan->n_per_row * TBIN;
    for (int r = 0; r < plan->n_rows; r++) {
        const int64_t first = (int64_t)lround((plan->times[r] - plan->times[0]) / duration) * plan->n_per_row;
        if (first <= time && time < first + plan->n_per_row) {
            *within = time - first;
            return r;
        }
    }
    return -1;
}

static double pick(const struct truth *truth, int row, int64_t within, int64_t pol, int64_t channel)
{
    const struct plan *const plan = truth->plan;
    const unsigned char *const data = truth->rows + (row + 1) * truth->row_bytes - data_bytes(plan);
    const int64_t i = (within * plan->n_pols + pol) * plan->n_channels + channel;
    const bool is_signed = plan->is_signed || plan->bits == 16;
    int value = 0;
    if (plan->bits == 32) {
        float real;
        lw_copy_ordered(&real, data + 4 * i, 4, true);
        return (double)real;
    }
    for (int64_t bit = i * plan->bits; bit < (i + 1) * plan->bits; bit++)
        value = value << 1 | (data[bit / 8] >> (7 - bit % 8) & 1);
    return is_signed && value >= 1 << (plan->bits - 1) ? value - (1 << plan->bits) : value;
}

static double value_of(const struct truth *truth, int row, int64_t within, int64_t pol, int64_t channel)
{
    const struct plan *const plan = truth->plan;
    const int64_t i = pol * plan->n_channels + channel;
    const double x = pick(truth, row, within, pol, channel);
    return ((x - plan->zero) * scale_of(plan, row, i) + offset_of(plan, row, i)) * weight_of(plan, row, channel);
}

static void expect(const void *context, int64_t time, int64_t channel, void *sample)
{
    const struct truth *const truth = context;
    int64_t within = 0;
    const int row = row_of(truth->plan, time, &within);
    double value = row < 0 ? NAN : value_of(truth, row, within, truth->first_pol, channel);
    if (row >= 0 && truth->second_pol >= 0)
        value += value_of(truth, row, within, truth->second_pol, channel);
    switch (truth->type.scalar) {
#define X(name, ctype, text)                                                                    \
    case name: {                                                                                \
        const ctype number = (ctype)value;                                                      \
        lw_copy_ordered(sample, &number, sizeof number, truth->type.is_swapped);                \
        break;                                                                                  \
    }
        LW_SCALARS(X)
#undef X
    case LW_FLOAT16:
        break;
    }
}

/* @param resolved the path that is chosen if `path` is empty */
static void check_path(const struct made *made, size_t begin, const struct plan *plan, const char *path, const char *resolved,
                       int first_pol, int second_pol, struct lw_type type)
{
    const struct lw_format *format;
    struct lw_dataset_info info;
    struct lw_error err;
    char found[40], wanted[40];
    CHECK(describe_here("made.sf", path, &format, &info, &err) == LW_OK && strcmp(info.path, resolved) == 0,
          "'%s' of %d bits is '%s': %s",
          path, plan->bits, info.path, err.message);
    CHECK(info.type.scalar == type.scalar && info.type.is_swapped == type.is_swapped, "%d bits, '%s': %s, not %s", plan->bits, path,
          lw_type_text(info.type, found), lw_type_text(type, wanted));
    const struct truth truth = {plan, made->bytes + begin, row_bytes(plan), info.type, first_pol, second_pol};
    check_boxes(format, &info, expect, &truth);
}

/* ---- samples ---------------------------------------------------------------------------------------------------------- */

static void check_samples(struct made *made)
{
    static const struct {
        int bits;
        bool is_signed;
        struct lw_type plain, sum;
    } cases[] = {
        {1, false, {.scalar = LW_UINT8}, {.scalar = LW_UINT8}}, {2, false, {.scalar = LW_UINT8}, {.scalar = LW_UINT8}},
        {4, false, {.scalar = LW_UINT8}, {.scalar = LW_UINT8}}, {8, false, {.scalar = LW_UINT8}, {.scalar = LW_UINT16}},
        {8, true, {.scalar = LW_INT8}, {.scalar = LW_INT16}},
        {16, true, {.scalar = LW_INT16, .is_swapped = true}, {.scalar = LW_INT32}},
        {32, false, {.scalar = LW_FLOAT32, .is_swapped = true}, {.scalar = LW_FLOAT32}},
    };
    const struct lw_type real = {.scalar = LW_FLOAT32};
    for (int i = 0; i < 7 * 4; i++) {
        const int c = i / 4;
        const bool is_scaled = i % 2, has_gap = i / 2 % 2;
        struct plan plan = {.bits = cases[c].bits, .n_pols = 4, .n_channels = 26, .n_per_row = 8, .n_rows = 5,
                            .is_signed = cases[c].is_signed, .is_scaled = is_scaled, .pol_type = "AABBCRCI",
                            .zero = is_scaled ? 3.5 : 0};
        set_times(&plan, 0);
        for (int r = 2; has_gap && r < plan.n_rows; r++)
            plan.times[r] += 3 * plan.n_per_row * TBIN;
        const size_t begin = make(made, &plan);
        write_made("made.sf", made);
        const bool is_plain = !is_scaled && !has_gap;
        check_path(made, begin, &plan, "/BB", "/BB", 1, -1, is_plain ? cases[c].plain : real);
        check_path(made, begin, &plan, "", "/AA+BB", 0, 1, is_plain ? cases[c].sum : real);
        check_path(made, begin, &plan, "/CI+AA", "/CI+AA", 3, 0, is_plain ? cases[c].sum : real);
    }
}

static void check_names(struct made *made)
{
    struct plan plan = {.bits = 8, .n_pols = 1, .n_channels = 4, .n_per_row = 4, .n_rows = 2, .pol_type = "AA+BB"};
    const struct lw_type byte = {.scalar = LW_UINT8};
    set_times(&plan, 0);
    size_t begin = make(made, &plan);
    write_made("made.sf", made);
    check_path(made, begin, &plan, "", "/AA+BB", 0, -1, byte);
    check_refused("made.sf", "/AA", LW_EDATA, "has no '/AA'; it has /AA+BB");
    plan.n_pols = 4;
    plan.pol_type = "IQUV";
    begin = make(made, &plan);
    write_made("made.sf", made);
    check_path(made, begin, &plan, "", "/I", 0, -1, byte);
    check_path(made, begin, &plan, "/V", "/V", 3, -1, byte);
    plan.pol_type = "odd";
    begin = make(made, &plan);
    write_made("made.sf", made);
    check_refused("made.sf", "", LW_EUSAGE, "which of its 4 polarisations are the total power (POL_TYPE 'odd')");
    check_path(made, begin, &plan, "/0+2", "/0+2", 0, 2, (struct lw_type){.scalar = LW_UINT16});
}

/* ---- times, frequencies, attributes ------------------------------------------------------------------------------------ */

static void note_attribute(const struct lw_attribute *attribute, void *context)
{
    char *const text = context;
    const size_t used = strlen(text);
    if (attribute->kind == LW_ATTRIBUTE_TEXT)
        snprintf(text + used, 256 - used, "%s=%s ", attribute->name, attribute->text);
    else
        snprintf(text + used, 256 - used, "%s=%.10g ", attribute->name, attribute->real);
}

/* The first row is the fourth of the observation; the last row holds three spectra. */
static void check_metadata(struct made *made)
{
    struct plan plan = {.bits = 4, .n_pols = 2, .n_channels = 6, .n_per_row = 10, .n_rows = 3, .pol_type = "AABB", .n_total = 23};
    const struct lw_format *format;
    struct lw_dataset_info info;
    struct lw_error err;
    char text[256] = "", time[LW_INSTANT_TEXT];
    set_times(&plan, 3);
    make(made, &plan);
    write_made("made.sf", made);
    CHECK(describe_here("made.sf", "", &format, &info, &err) == LW_OK, "%s", err.message);
    CHECK(info.dims[0] == 23 && info.dims[1] == 6 && info.metadata_axis == 0, "%ld x %ld", (long)info.dims[0], (long)info.dims[1]);
    CHECK(info.axis.scale == LW_TIME_UTC && strcmp(lw_instant_text(info.axis.instant, time), "2019-03-01T06:00:00.765") == 0, "%s",
          time);
    CHECK(info.axis.period.numerator == 1 && info.axis.period.denominator == 2000, "%ld/%ld", (long)info.axis.period.numerator,
          (long)info.axis.period.denominator);
    const struct lw_coordinate *const frequency = &info.coordinates[1];
    CHECK(frequency->is_regular && frequency->first == 1500 && frequency->step == -0.5, "%g by %g", frequency->first,
          frequency->step);
    format->visit_attributes(&info, note_attribute, text);
    CHECK(strcmp(text, "TELESCOP=Parkes OBSFREQ=1400.25 ") == 0, "attributes %s", text);
    plan.n_total = 20;
    make(made, &plan);
    write_made("made.sf", made);
    CHECK(describe_here("made.sf", "", &format, &info, &err) == LW_OK && info.dims[0] == 30, "%ld", (long)info.dims[0]);
}

/* ---- damage ------------------------------------------------------------------------------------------------------------ */

/* Overwrite the value of a keyword. */
static void set_card(struct made *made, const char *keyword, const char *value)
{
    for (size_t at = 0; at + CARD <= made->n; at += CARD)
        if (strncmp((const char *)made->bytes + at, keyword, strlen(keyword)) == 0) {
            memset(made->bytes + at + 10, ' ', CARD - 10);
            memcpy(made->bytes + at + 10, value, strlen(value));
            return;
        }
    CHECK(false, "no %s", keyword);
}

static void check_card(struct made *made, const struct plan *plan, const char *keyword, const char *value, const char *says)
{
    make(made, plan);
    set_card(made, keyword, value);
    write_made("made.sf", made);
    check_refused("made.sf", "", LW_EDATA, says);
}

static void check_times(struct made *made, struct plan plan, double third, const char *says)
{
    plan.times[2] = third;
    make(made, &plan);
    write_made("made.sf", made);
    check_refused("made.sf", "", LW_EDATA, says);
}

static void check_damage(struct made *made)
{
    struct plan plan = {.bits = 8, .n_pols = 1, .n_channels = 4, .n_per_row = 10, .n_rows = 3, .pol_type = "I"};
    set_times(&plan, 0);
    check_card(made, &plan, "NBITS", "3", "samples of 3 bits (NBITS)");
    check_card(made, &plan, "NBITS", "16", "does not hold plain int16, as samples of 16 bits must be stored");
    check_card(made, &plan, "NPOL", "5", "NPOL is 5 or missing, not 1 to 4");
    check_card(made, &plan, "NCHAN", "-1", "NCHAN is -1 or missing");
    check_card(made, &plan, "NCHAN", "5", "not the 10 spectra (NSBLK) of 1 polarisations and 5 channels in 8 bits");
    check_card(made, &plan, "NSBLK", "9223372036854775807", "NSBLK is");
    check_card(made, &plan, "TBIN", "0.0", "TBIN is 0 s or missing");
    check_card(made, &plan, "NAXIS2", "100000", "it holds 100000 rows of");
    check_card(made, &plan, "NAXIS2", "0", "the number of rows of SUBINT is 0");
    check_card(made, &plan, "EXTNAME", "'OTHER'", "has no table SUBINT");
    check_card(made, &plan, "TTYPE6", "'DATUM'", "SUBINT has no column DATA");
    check_card(made, &plan, "OBS_MODE", "'PSR     '", "PSRFITS in mode 'PSR' (OBS_MODE): only search mode is supported");
    const double duration = 10 * TBIN;
    check_times(made, plan, 2.2 * duration, "by OFFS_SUB its row 2 begins 0.7 rows after the row before it");
    check_times(made, plan, 0.5 * duration, "row 2 begins -1 rows");
    check_times(made, plan, 1e6, "and at most a day");
    check_times(made, plan, NAN, "row 2 begins nan rows");
    make(made, &plan);
    made->n = 100;
    write_made("made.sf", made);
    check_refused("made.sf", "", LW_EDATA, "FITS file is cut short");
}

static void check_row_bytes(const struct lw_listing *row, void *context)
{
    const int64_t wanted = *(const int64_t *)context;
    CHECK(row->stored_bytes == wanted, "%s has %ld bytes, not %ld", row->path, (long)row->stored_bytes, (long)wanted);
}

/* The listed bytes do not count missing rows, however many there are. */
static void check_listed_bytes(struct made *made)
{
    struct plan plan = {.bits = 4, .n_pols = 1, .n_channels = 6, .n_per_row = 8, .n_rows = 3, .pol_type = "I"};
    const struct lw_format *format;
    struct lw_error err = {0};
    set_times(&plan, 0);
    plan.times[2] += 1e6 * plan.n_per_row * TBIN;
    make(made, &plan);
    write_made("made.sf", made);
    int64_t wanted = plan.n_rows * data_bytes(&plan);
    CHECK(lw_formats_find("made.sf", NULL, &format, &err) == LW_OK &&
              format->list("made.sf", check_row_bytes, &wanted, &err) == LW_OK,
          "%s", err.message);
}

/* The file lacks the columns of weights, offsets and scales; only ZERO_OFF shifts its numbers. */
static void check_missing_columns(struct made *made)
{
    struct plan plan = {.bits = 4, .n_pols = 1, .n_channels = 6, .n_per_row = 8, .n_rows = 2, .pol_type = "I", .zero = 7.5};
    set_times(&plan, 0);
    const size_t begin = make(made, &plan);
    set_card(made, "TTYPE3", "'A'");
    set_card(made, "TTYPE4", "'B'");
    set_card(made, "TTYPE5", "'C'");
    write_made("made.sf", made);
    check_path(made, begin, &plan, "", "/I", 0, -1, (struct lw_type){.scalar = LW_FLOAT32});
}

int main(int argc, char **argv)
{
    static struct made made;
    char folder[] = "/tmp/lapwing-psrfits-XXXXXX", command[64];
    struct plan plan = {.bits = 2, .n_pols = 1, .n_channels = 8, .n_per_row = 6, .n_rows = 3, .pol_type = "AA", .is_scaled = true};
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return 1;
    lw_formats_start();
    set_times(&plan, 0);
    check_samples(&made);
    check_names(&made);
    check_metadata(&made);
    check_damage(&made);
    check_missing_columns(&made);
    check_listed_bytes(&made);
    const size_t begin = make(&made, &plan);
    check_mutations("mutated.sf", &made, begin + 8, argc > 1 ? atoi(argv[1]) : 500);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    CHECK(system(command) == 0, "%s", command);
    return check_result("psrfits");
}
