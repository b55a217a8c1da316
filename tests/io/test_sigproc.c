/* test_sigproc.c - tests of SIGPROC files of every width, IF and byte order, against samples picked bit by bit; and headers that
 * no correct program writes.
 *
 *   test_sigproc [MUTATIONS] */
#include "io/read/box.h"
#include "radio.h"

#include <math.h>
#include <unistd.h>

/* ---- making files ----------------------------------------------------------------------------------------------------- */

struct header {
    int bits, n_ifs, n_channels, n_spectra;
    bool is_signed, is_swapped;
};

/* The contents of a file, and the IFs whose sum is read. */
struct truth {
    struct header header;
    const unsigned char *samples;       /* samples in the file's format */
    struct lw_type type;
    int first_if, second_if;            /* second IF of a sum; -1: none */
};

static void put_number(struct made *made, const void *value, size_t bytes, bool is_swapped)
{
    unsigned char ordered[8];
    lw_copy_ordered(ordered, value, bytes, is_swapped);
    put_bytes(made, ordered, bytes);
}

static void put_text(struct made *made, const char *text, bool is_swapped)
{
    const int32_t length = (int32_t)strlen(text);
    put_number(made, &length, sizeof length, is_swapped);
    put_bytes(made, text, strlen(text));
}

static void put_int(struct made *made, const char *name, int32_t value, bool is_swapped)
{
    put_text(made, name, is_swapped);
    put_number(made, &value, sizeof value, is_swapped);
}

static void put_real(struct made *made, const char *name, double value, bool is_swapped)
{
    put_text(made, name, is_swapped);
    put_number(made, &value, sizeof value, is_swapped);
}

static void put_header(struct made *made, const struct header *header)
{
    const bool swapped = header->is_swapped;
    put_text(made, "HEADER_START", swapped);
    put_text(made, "source_name", swapped);
    put_text(made, "J0000-00", swapped);
    put_int(made, "telescope_id", 4, swapped);
    put_real(made, "src_raj", 53431.9, swapped);
    put_real(made, "fch1", 1500, swapped);
    put_real(made, "foff", -0.5, swapped);
    put_int(made, "nchans", header->n_channels, swapped);
    put_int(made, "nbits", header->bits, swapped);
    put_int(made, "nifs", header->n_ifs, swapped);
    put_real(made, "tstart", 58543.25, swapped);
    put_real(made, "tsamp", 64e-6, swapped);
    if (header->is_signed) {
        put_text(made, "signed", swapped);
        put_bytes(made, "\1", 1);
    }
    put_text(made, "HEADER_END", swapped);
}

/* Make a file of random samples that ends with an incomplete spectrum. */
static size_t make(struct made *made, const struct header *header)
{
    uint64_t random = 1 + (uint64_t)header->bits;
    made->n = 0;
    put_header(made, header);
    const size_t begin = made->n, bits = (size_t)(header->bits * header->n_ifs * header->n_channels);
    for (size_t b = 0; b < ((size_t)header->n_spectra * bits + 7) / 8 + (bits - 1) / 8; b++) {
        const unsigned char byte = (unsigned char)next_random(&random);
        put_bytes(made, &byte, 1);
    }
    for (int i = 0; header->bits == 32 && i < header->n_spectra * header->n_ifs * header->n_channels; i++) {
        const float value = (float)(i % 1009) - 3.25f;
        lw_copy_ordered(made->bytes + begin + 4 * (size_t)i, &value, sizeof value, header->is_swapped);
    }
    return begin;
}

/* ---- picking samples -------------------------------------------------------------------------------------------------- */

static double pick(const struct truth *truth, int64_t time, int64_t n_if, int64_t channel)
{
    const struct header *const header = &truth->header;
    const int64_t i = (time * header->n_ifs + n_if) * header->n_channels + channel;
    int value = 0;
    if (header->bits == 32) {
        float real;
        lw_copy_ordered(&real, truth->samples + 4 * i, sizeof real, header->is_swapped);
        return (double)real;
    }
    for (int b = 0; b < header->bits; b++) {
        const int64_t bit = i * header->bits + b;
        const int64_t byte = header->is_swapped && header->bits == 16 ? bit / 8 ^ 1 : bit / 8;
        value |= (truth->samples[byte] >> bit % 8 & 1) << b;
    }
    return header->is_signed && value >= 1 << (header->bits - 1) ? value - (1 << header->bits) : value;
}

static void expect(const void *context, int64_t time, int64_t channel, void *sample)
{
    const struct truth *const truth = context;
    double value = pick(truth, time, truth->first_if, channel);
    if (truth->second_if >= 0)
        value += pick(truth, time, truth->second_if, channel);
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

static void check_path(const char *path, const struct header *header, const unsigned char *samples, int first_if, int second_if)
{
    const struct lw_format *format;
    struct lw_dataset_info info;
    struct lw_error err;
    CHECK(describe_here("made.fil", path, &format, &info, &err) == LW_OK, "%s", err.message);
    const bool is_series = header->n_ifs == 1 && header->n_channels == 1;
    CHECK(info.n_dims == (is_series ? 1 : 2) && info.dims[0] == header->n_spectra &&
          (is_series || info.dims[1] == header->n_channels), "%d bits, %d x %d: shape %ld x %ld", header->bits, header->n_ifs,
          header->n_channels, (long)info.dims[0], (long)info.dims[1]);
    const struct truth truth = {*header, samples, info.type, first_if, second_if};
    check_boxes(format, &info, expect, &truth);
}

static void check_samples(struct made *made)
{
    static const int widths[] = {1, 2, 4, 8, 16, 32}, channels[] = {1, 3, 64, 70, 5000};
    for (int i = 0; i < 6 * 5 * 3 * 4; i++) {
        const struct header header = {.bits = widths[i % 6], .n_channels = channels[i / 6 % 5], .n_ifs = 1 + i / 30 % 3,
                                      .n_spectra = channels[i / 6 % 5] == 5000 ? 2 : 48,
                                      .is_signed = i / 90 % 2 && widths[i % 6] >= 8 && widths[i % 6] <= 16,
                                      .is_swapped = i / 180};
        const size_t begin = make(made, &header);
        write_made("made.fil", made);
        check_path("/if/0", &header, made->bytes + begin, 0, -1);
        if (header.n_ifs > 1) {
            check_path("/if/1", &header, made->bytes + begin, 1, -1);
            check_path("/if/0+1", &header, made->bytes + begin, 0, 1);
        }
        if (header.n_ifs > 2)
            check_path("/if/2+0", &header, made->bytes + begin, 2, 0);
    }
}

/* ---- keywords of a header ------------------------------------------------------------------------------------------------ */

static void note_attribute(const struct lw_attribute *attribute, void *context)
{
    char *const text = context;
    const size_t used = strlen(text);
    if (attribute->kind == LW_ATTRIBUTE_TEXT)
        snprintf(text + used, 256 - used, "%s=%s ", attribute->name, attribute->text);
    else if (attribute->kind == LW_ATTRIBUTE_INT)
        snprintf(text + used, 256 - used, "%s=%ld ", attribute->name, (long)attribute->integer);
    else
        snprintf(text + used, 256 - used, "%s=%.10g ", attribute->name, attribute->real);
}

static void check_metadata(struct made *made)
{
    const struct header header = {.bits = 8, .n_ifs = 1, .n_channels = 16, .n_spectra = 20};
    const struct lw_format *format;
    struct lw_dataset_info info;
    struct lw_error err;
    char text[256] = "", time[LW_INSTANT_TEXT];
    make(made, &header);
    write_made("made.fil", made);
    CHECK(describe_here("made.fil", "", &format, &info, &err) == LW_OK, "%s", err.message);
    CHECK(strcmp(info.path, "/if/0") == 0 && info.metadata_axis == 0, "%s, axis %d", info.path, info.metadata_axis);
    CHECK(info.axis.scale == LW_TIME_UTC && strcmp(lw_instant_text(info.axis.instant, time), "2019-03-01T06:00:00") == 0, "%s",
          time);
    CHECK(info.axis.period.numerator == 1 && info.axis.period.denominator == 15625, "%ld/%ld", (long)info.axis.period.numerator,
          (long)info.axis.period.denominator);
    CHECK(info.axis.sample_rate_hz == 15625, "%g Hz", info.axis.sample_rate_hz);
    const struct lw_coordinate *const frequency = &info.coordinates[1];
    CHECK(strcmp(frequency->name, "frequency") == 0 && strcmp(frequency->unit, "MHz") == 0 && frequency->is_regular &&
          frequency->first == 1500 && frequency->step == -0.5, "%s %g by %g", frequency->name, frequency->first, frequency->step);
    format->visit_attributes(&info, note_attribute, text);
    CHECK(strcmp(text, "source_name=J0000-00 telescope_id=4 src_raj=53431.9 ") == 0, "attributes %s", text);
    double values[20 * 16];
    CHECK(lw_format_read_numbers(format, &info, values, &err) == LW_OK && values[17] == made->bytes[made->n - 15 - 20 * 16 + 17],
          "%g", values[17]);
}

/* Keywords for a list of frequencies, a barycentric time, and the number of spectra. */
static void check_further_keywords(struct made *made)
{
    static const struct {
        double third;
        bool is_regular;
    } lists[] = {{1210, true}, {1211, false}, {NAN, false}};
    for (int i = 0; i < 3; i++) {
        const struct lw_format *format;
        struct lw_dataset_info info;
        struct lw_error err;
        made->n = 0;
        put_text(made, "HEADER_START", false);
        put_text(made, "FREQUENCY_START", false);
        put_real(made, "fchannel", 1200, false);
        put_real(made, "fchannel", 1205, false);
        put_real(made, "fchannel", lists[i].third, false);
        put_text(made, "FREQUENCY_END", false);
        put_int(made, "nchans", 3, false);
        put_int(made, "nbits", 8, false);
        put_int(made, "nsamples", 2, false);
        put_int(made, "barycentric", 1, false);
        put_real(made, "tstart", 58543.25, false);
        put_real(made, "tsamp", 1e-3, false);
        put_text(made, "HEADER_END", false);
        put_bytes(made, "abcdefgh", 8);
        write_made("made.fil", made);
        CHECK(describe_here("made.fil", "", &format, &info, &err) == LW_OK, "%s", err.message);
        const struct lw_coordinate *const frequency = &info.coordinates[1];
        CHECK(frequency->is_regular == lists[i].is_regular &&
              (!frequency->is_regular || (frequency->first == 1200 && frequency->step == 5)),
              "list %d: %d, %g by %g", i, frequency->is_regular, frequency->first, frequency->step);
        CHECK(info.dims[0] == 2 && info.axis.scale == LW_TIME_UNKNOWN && info.axis.start == 58543.25 &&
              strcmp(info.axis.start_unit, "barycentric MJD") == 0, "%ld spectra from %g %s", (long)info.dims[0], info.axis.start,
              info.axis.start_unit);
        made->n -= 4;
        write_made("made.fil", made);
        check_refused("made.fil", "", LW_EDATA, "it holds 2 spectra (nsamples), and only 1 are there");
    }
}

/* A table of frequencies that is longer than usual headers. */
static void check_long_header(struct made *made)
{
    enum { CHANNELS = 3000 };
    const struct lw_format *format;
    struct lw_dataset_info info;
    struct lw_error err;
    made->n = 0;
    put_text(made, "HEADER_START", false);
    for (int c = 0; c < CHANNELS; c++)
        put_real(made, "fchannel", 1500 - 0.25 * c, false);
    put_int(made, "nchans", CHANNELS, false);
    put_int(made, "nbits", 8, false);
    put_real(made, "tsamp", 1e-3, false);
    put_text(made, "HEADER_END", false);
    memset(made->bytes + made->n, 1, 2 * CHANNELS);
    made->n += 2 * CHANNELS;
    write_made("made.fil", made);
    CHECK(describe_here("made.fil", "", &format, &info, &err) == LW_OK, "%s", err.message);
    CHECK(info.dims[0] == 2 && info.dims[1] == CHANNELS && info.coordinates[1].step == -0.25, "%ld x %ld by %g", (long)info.dims[0],
          (long)info.dims[1], info.coordinates[1].step);
}

/* ---- damage ------------------------------------------------------------------------------------------------------------ */

static void check_header(struct made *made, struct header header, const char *says)
{
    make(made, &(struct header){.bits = 8, .n_ifs = 1, .n_channels = 4, .n_spectra = 4});
    const size_t old = made->n;
    unsigned char samples[64];
    memcpy(samples, made->bytes + old - 16, 16);
    made->n = 0;
    put_header(made, &header);
    put_bytes(made, samples, 16);
    write_made("made.fil", made);
    check_refused("made.fil", "", LW_EDATA, says);
}

static void check_damage(struct made *made)
{
    check_header(made, (struct header){.bits = 3, .n_ifs = 1, .n_channels = 4},
                 "samples of 3 bits (nbits), not 1, 2, 4, 8, 16 or 32");
    check_header(made, (struct header){.bits = 8, .n_ifs = 0, .n_channels = 4}, "0 IFs (nifs)");
    check_header(made, (struct header){.bits = 8, .n_ifs = 1, .n_channels = -4}, "-4 channels (nchans)");
    check_header(made, (struct header){.bits = 8, .n_ifs = 1, .n_channels = 17},
                 "no whole spectrum: behind its header there are 16 bytes");
    make(made, &(struct header){.bits = 8, .n_ifs = 2, .n_channels = 4, .n_spectra = 4});
    const struct made *const good = made;
    write_made("made.fil", good);
    check_refused("made.fil", "", LW_EUSAGE, "2 IFs (polarisations) without names: choose one");
    check_refused("made.fil", "/if/2", LW_EDATA, "has no '/if/2'; it has /if/0 to /if/1, and sums of two");
    check_refused("made.fil", "/if/1+1", LW_EDATA, "has no '/if/1+1'");
    check_refused("made.fil", "/data", LW_EDATA, "has no '/data'");
    made->n = 100;
    write_made("made.fil", made);
    check_refused("made.fil", "", LW_EDATA, "it ends at byte 100, within its SIGPROC header");
    made->n = 16;
    put_int(made, "nchans", 4, false);
    put_int(made, "mystery", 4, false);
    write_made("made.fil", made);
    check_refused("made.fil", "", LW_EDATA, "keyword 'mystery' at byte 30 of its SIGPROC header; it is unknown");
    made->n = 16;
    put_int(made, "", INT32_MAX, false);
    write_made("made.fil", made);
    check_refused("made.fil", "", LW_EDATA, "keyword '' at byte 16");
}

int main(int argc, char **argv)
{
    static struct made made;
    char folder[] = "/tmp/lapwing-sigproc-XXXXXX", command[64];
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return 1;
    lw_formats_start();
    check_samples(&made);
    check_metadata(&made);
    check_further_keywords(&made);
    check_long_header(&made);
    check_damage(&made);
    const size_t begin = make(&made, &(struct header){.bits = 4, .n_ifs = 1, .n_channels = 24, .n_spectra = 30});
    check_mutations("mutated.fil", &made, begin, argc > 1 ? atoi(argv[1]) : 500);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    CHECK(system(command) == 0, "%s", command);
    return check_result("sigproc");
}
