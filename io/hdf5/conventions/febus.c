/* febus.c - files of FEBUS' A1: /DEVICE/Source1/Zone1/NAME [block x time x distance]. Blocks overlap, and are joined here to [time
 * x distance]: of the rows that two blocks share, each block gives one half. */
#include "io/hdf5/conventions/conventions.h"

#include "io/notes/recorder.h"

#include <stdio.h>

/* A zone's attributes, and numbers that follow from them. Spacing and Origin: m, ms. Extent: first and last channel, row. */
struct zone {
    double extent[6], spacing[3], origin[3];
    double step_s;              /* seconds from row to row */
    double block_s;             /* seconds from block to block; 0: unknown */
    double first_s;             /* time of the first block, s since 1970 */
    int64_t rows;               /* valid rows of a block */
};

static bool is_data(hid_t file, const char *path)
{
    return lw_place_exists(file, path, "../@Extent") && lw_place_exists(file, path, "../@GaugeLength") &&
           lw_place_exists(file, path, "../../time");
}

static bool read_list(const struct lw_subject *subject, const char *name, double *values, int least, int most)
{
    char place[LW_PLACE];
    return lw_place_reals(subject->file, lw_place_from(subject->info->path, name, place), values, most, subject->err) >= least;
}

/* Read a zone. BlockRate is in mHz. */
static bool read_zone(const struct lw_subject *subject, const struct lw_times *times, struct zone *zone)
{
    double rate = 0;
    *zone = (struct zone){0};
    if (!read_list(subject, "../@Extent", zone->extent, 4, 6) || !read_list(subject, "../@Spacing", zone->spacing, 2, 3) ||
        !read_list(subject, "../@Origin", zone->origin, 2, 3))
        return false;
    zone->step_s = zone->spacing[1] * 1e-3;
    zone->rows = subject->info->dims[1];
    /* Files of early versions have no attribute Version, but a rate, and wrong extents. */
    if (lw_place_exists(subject->file, subject->info->path, "../@Version")) {
        const double rows = 1 + zone->extent[3] - zone->extent[2];
        zone->rows = rows >= 1 && rows < (double)zone->rows ? (int64_t)rows : zone->rows;
    } else if (lw_subject_real(subject, "../@SamplingRate", &rate) && rate > 0 && rate < 1e8) {
        zone->step_s = 1 / rate;
    }
    zone->first_s = times->start;
    if (!(lw_subject_real(subject, "../@BlockRate", &rate) && rate > 0) &&
        !(lw_subject_real(subject, "../@FreqRes", &rate) && rate > 0))
        rate = times->n > 1 ? 1e3 * (double)(times->n - 1) / times->span_s : 0;
    zone->block_s = rate > 0 ? 1e3 / rate : 0;
    return zone->step_s > 0;
}

/* Return the rows from block to block; 0: not valid. An extent that begins at row 0 includes the overlap, given in percent. */
static int64_t find_period(const struct lw_subject *subject, const struct zone *zone)
{
    double overlap = 100;
    if (!lw_subject_real(subject, "../@Overlap", &overlap))
        lw_subject_real(subject, "../@BlockOverlap", &overlap);
    const double period =
        zone->extent[2] != 0 ? rint(zone->block_s / zone->step_s) : rint((double)zone->rows / (1 + overlap / 100));
    return period >= 1 && period <= (double)zone->rows ? (int64_t)period : 0;
}

/* Join the blocks. If they share an odd number of rows, the row that cannot be halved is skipped at the beginning of the file. */
static void join(struct lw_subject *subject, const struct zone *zone, struct lw_blocks *blocks)
{
    struct lw_dataset_info *const info = subject->info;
    const int64_t shared = zone->rows - blocks->period;
    blocks->lead = shared / 2;
    blocks->skip = shared % 2;
    info->blocks = *blocks;
    info->n_dims = 2;
    info->dims[0] = blocks->n * blocks->period - blocks->skip;
    info->dims[1] = info->dims[2];
    info->dims[2] = 0;
    memset(info->chunk, 0, sizeof info->chunk);
    lw_subject_name(subject, 0, "distance");
}

static void find_axis(struct lw_subject *subject, const struct zone *zone, const struct lw_blocks *blocks)
{
    struct lw_period period;
    struct lw_instant start;
    const double first = zone->first_s + zone->origin[1] * 1e-3 + (double)blocks->lead * zone->step_s;
    if (!lw_times_step(zone->step_s, &period))
        return;
    lw_subject_period(subject, period, "attribute Spacing");
    if (lw_times_from_seconds(first, &start))
        lw_subject_start_at(subject, lw_instant_of_sample(start, period, blocks->skip));
}

/* Find the unit in a name such as "StrainRate" or "PSD [dB re 1 nStrain|sqrt(Hz)]". */
static void find_unit(struct lw_subject *subject, const char *name)
{
    char unit[64];
    const char *const bracket = strchr(name, '[');
    if (bracket) {
        snprintf(unit, sizeof unit, "%.*s", (int)strcspn(bracket + 1, "]"), bracket + 1);
        lw_subject_unit(subject, unit);
    } else if (strcmp(name, "StrainRate") == 0) {
        lw_subject_unit(subject, "nanostrain/s");
    }
}

static int fail(const struct lw_subject *subject, const char *why)
{
    return lw_fail(subject->err, LW_EDATA, "the blocks of %.600s cannot be joined: %s", lw_dataset_name(subject->info).text, why);
}

/* Describe the dataset. The path "/DEVICE/Source1/Zone1/NAME" names the fibre: a device watches several fibres, each in zones. */
static int describe(struct lw_subject *subject)
{
    const char *const path = subject->info->path + 1, *const name = lw_last_part(path);
    struct zone zone;
    struct lw_times times;
    char place[LW_PLACE], fibre[LW_MAX_PATH];
    struct lw_blocks blocks = {.n = subject->info->dims[0], .rows = subject->info->dims[1]};
    if (subject->info->n_dims != 3)
        return LW_OK;
    lw_place_from(subject->info->path, "../../time", place);
    if (!lw_times_read(subject->file, place, "s since 1970-01-01", &times, subject->err))
        return fail(subject, "'time' of their source is no list of increasing times");
    if (!read_zone(subject, &times, &zone))
        return fail(subject, "their zone lacks the attribute Extent, Spacing or Origin, or a step above 0");
    blocks.period = find_period(subject, &zone);
    if (blocks.period == 0 || (double)blocks.n * (double)blocks.period > 9e15 || blocks.n * blocks.period < 2)
        return fail(subject, "Extent, BlockRate and BlockOverlap of their zone leave a block no rows of its own");
    const double block_s = (double)blocks.period * zone.step_s, expected = block_s * (double)(blocks.n - 1);
    if (blocks.n > 1 && (times.n < blocks.n || !(fabs(times.span_s - expected) <= 0.5 * block_s)))
        return lw_fail(subject->err, LW_EDATA, "%.600s has %lld blocks of %.9g s, but their times cover %.9g s: some are missing",
                       lw_dataset_name(subject->info).text, (long long)blocks.n, block_s, times.span_s + block_s);
    join(subject, &zone, &blocks);
    find_axis(subject, &zone, &blocks);
    lw_subject_distance(subject, zone.extent[0] * zone.spacing[0] + zone.origin[0], zone.spacing[0], "m");
    find_unit(subject, name);
    snprintf(fibre, sizeof fibre, "%.*s", (int)(name - path) - 1, path);
    lw_recorder_add(&subject->info->recorder, "fibre", fibre);
    return LW_OK;
}

const struct lw_convention lw_convention_febus = {
    .name = "FEBUS", .pattern = "*/Source*/Zone*/*", .is_das = true, .is_data = is_data,
    .gauge = "../@GaugeLength",
    .describe = describe,
};
