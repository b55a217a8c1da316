/* test_sequence.c - tests of several files as one axis: thousands of random sets of files with gaps, overlaps and files inside
 * others, against an axis that is painted sample by sample; and files that do not fit together. */
#include "../check.h"
#include "base/integers.h"
#include "io/notes/recorder.h"
#include "io/read/sequence.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FILES = 12, MOST_SAMPLES = 400 };

/* Join files that have no gaps inside. */
static int join_files(const struct lw_dataset_info *files, int64_t n, bool last_stands, struct lw_sequence *out,
                      struct lw_error *err)
{
    struct lw_piece *const pieces = calloc((size_t)n, sizeof *pieces);
    struct lw_infos infos = {0};
    CHECK(lw_infos_begin(&infos, &files[0], err) == LW_OK, "%s", err->message);
    for (int64_t f = 0; f < n; f++) {
        pieces[f] = (struct lw_piece){f, 0, 0, files[f].dims[0], files[f].axis.instant};
        CHECK(lw_infos_add(&infos, &files[f], err) == LW_OK, "%s", err->message);
    }
    CHECK(lw_infos_index(&infos, n, 1, err) == LW_OK, "%s", err->message);
    const struct lw_join join = {.infos = &infos, .pieces = pieces, .n_pieces = n, .last_stands = last_stands};
    const int rc = lw_sequence_join(&join, out, err);
    lw_infos_release(&infos);
    free(pieces);
    return rc;
}

static uint64_t state = 1;

static int64_t pick(int64_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((state >> 33) % (uint64_t)n);
}

static void make_file(struct lw_dataset_info *info, int64_t first, int64_t n, struct lw_period period, int number)
{
    static const struct lw_instant start = {1700000000, 123456789012345678};
    struct lw_error err;
    *info = (struct lw_dataset_info){.n_dims = 2, .dims = {n, 5}, .metadata_axis = 0, .type = {.scalar = LW_INT16}};
    snprintf(info->file, sizeof info->file, "day/file-%d.h5", number);
    info->axis.scale = LW_TIME_UTC;
    info->axis.period = period;
    info->axis.instant = lw_instant_of_sample(start, period, first);
    info->axis.instant.attoseconds += pick(LW_ATTOSECONDS / 4000);         /* less than half a sample */
    if (info->axis.instant.attoseconds >= LW_ATTOSECONDS) {
        info->axis.instant.attoseconds -= LW_ATTOSECONDS;
        info->axis.instant.seconds++;
    }
    CHECK(lw_sampling_settle(info, &err) == LW_OK, "%s", err.message);
}

/* Set the file of each sample of the axis; -1: none. In an overlap the earlier file counts, or with last_stands the later one. */
static int64_t paint(const int64_t *first, const int64_t *n, const int *order, int n_files, bool last_stands, int *owner)
{
    const int64_t begin = first[order[0]];
    int64_t end = 0;
    for (int64_t s = 0; s < MOST_SAMPLES; s++)
        owner[s] = -1;
    for (int f = 0; f < n_files; f++)
        for (int64_t s = 0; s < n[order[f]]; s++) {
            const int64_t at = first[order[f]] - begin + s;
            if (owner[at] < 0 || last_stands)
                owner[at] = order[f];
            end = lw_max64(end, at + 1);
        }
    return end;
}

static void check_axis(const struct lw_sequence *sequence, const int64_t *first, const int *owner, int64_t length, int64_t begin)
{
    int64_t wrong = 0;
    for (int64_t s = 0; s < length; s++) {
        const int64_t p = lw_sequence_find(sequence, s);
        const bool is_there = p < sequence->n_parts && sequence->parts[p].first <= s;
        const struct lw_file_part *const part = &sequence->parts[is_there ? p : 0];
        if (!is_there)
            wrong += owner[s] >= 0;
        else
            wrong += owner[s] != (int)part->file || s - part->first + part->skip + first[part->file] - begin != s;
    }
    for (int64_t g = 0; g < sequence->n_gaps; g++)
        for (int64_t s = 0; s < sequence->gaps[g].count; s++)
            wrong += owner[sequence->gaps[g].first + s] >= 0;
    CHECK(wrong == 0, "%d samples are wrong", (int)wrong);
}

/* Each file's overlap is the number of its samples that earlier files have, too. */
static void check_overlaps(const struct lw_sequence *sequence, const int64_t *first, const int64_t *n, const int *order,
                           int n_files)
{
    int64_t end = first[order[0]], o = 0;
    for (int f = 0; f < n_files; f++) {
        const int64_t begin = first[order[f]], shared = lw_min64(end, begin + n[order[f]]) - begin;
        if (f > 0 && shared > 0) {
            const struct lw_overlap *const overlap = &sequence->overlaps[o++];
            CHECK(o <= sequence->n_overlaps && overlap->file == order[f] && overlap->first == begin - first[order[0]] &&
                  overlap->count == shared, "file %d: %d samples shared, not %d", order[f], (int)overlap->count, (int)shared);
        }
        end = lw_max64(end, begin + n[order[f]]);
    }
    CHECK(o == sequence->n_overlaps, "%d overlaps, not %d", (int)sequence->n_overlaps, (int)o);
}

static int64_t count_missing(const int *owner, int64_t length)
{
    int64_t n = 0;
    for (int64_t s = 0; s < length; s++)
        n += owner[s] < 0;
    return n;
}

static void check_random(void)
{
    struct lw_dataset_info infos[MOST_FILES];
    struct lw_period period;
    struct lw_error err;
    lw_period_make(1, 1000, &period);
    for (int trial = 0; trial < 6000; trial++) {
        const bool last_stands = trial % 2;
        int64_t first[MOST_FILES], n[MOST_FILES];
        int order[MOST_FILES], owner[MOST_SAMPLES];
        const int n_files = 1 + (int)pick(MOST_FILES);
        for (int f = 0; f < n_files; f++) {
            first[f] = pick(MOST_SAMPLES / 2);
            for (int before = 0; before < f; before++)          /* no equal starts: those are sorted by name, which one case below
                                                                 * tests */
                if (first[before] == first[f])
                    first[f] = first[f] + 1, before = -1;
            n[f] = 1 + pick(30);
            make_file(&infos[f], first[f], n[f], period, f);
            int at = f;
            for (; at > 0 && first[order[at - 1]] > first[f]; at--)
                order[at] = order[at - 1];
            order[at] = f;
        }
        struct lw_sequence sequence;
        CHECK(join_files(infos, n_files, last_stands, &sequence, &err) == LW_OK, "%s", err.message);
        const int64_t length = paint(first, n, order, n_files, last_stands, owner);
        int64_t missing = 0;
        for (int64_t g = 0; g < sequence.n_gaps; g++)
            missing += sequence.gaps[g].count;
        CHECK(sequence.length == length, "%d samples, not %d", (int)sequence.length, (int)length);
        CHECK(missing == count_missing(owner, length), "%d samples are missing", (int)missing);
        check_axis(&sequence, first, owner, length, first[order[0]]);
        check_overlaps(&sequence, first, n, order, n_files);
        lw_sequence_release(&sequence);
    }
}

/* An axis of 10^10 samples: every file still begins at its own sample. */
static void check_long(void)
{
    enum { N = 1000 };
    static struct lw_dataset_info infos[N];
    struct lw_period period;
    struct lw_error err;
    struct lw_sequence sequence;
    const int64_t samples = 10000000;
    lw_period_make(310771, 1000000000, &period);
    for (int f = 0; f < N; f++) {
        make_file(&infos[f], f * samples, samples, period, f);
        infos[f].axis.instant = lw_instant_of_sample((struct lw_instant){1661296194, 373836288000000000}, period, f * samples);
    }
    CHECK(join_files(infos, N, false, &sequence, &err) == LW_OK, "%s", err.message);
    CHECK(sequence.length == N * samples && sequence.n_gaps == 0 && sequence.n_parts == N, "%lld samples, %d gaps",
          (long long)sequence.length, (int)sequence.n_gaps);
    lw_sequence_release(&sequence);
}

/* Files of a single channel match although their step along the channels is unknown. */
static void check_step(void)
{
    struct lw_period period;
    struct lw_dataset_info infos[2];
    struct lw_error err;
    struct lw_sequence sequence;
    lw_period_make(1, 100, &period);
    for (int f = 0; f < 2; f++) {
        make_file(&infos[f], 10 * f, 10, period, f);
        infos[f].dims[1] = 1;
        infos[f].coordinates[1] = (struct lw_coordinate){.name = "distance", .is_regular = true, .first = 7};
    }
    CHECK(join_files(infos, 2, false, &sequence, &err) == LW_OK, "%s", err.message);
    lw_sequence_release(&sequence);
    infos[1].coordinates[1].first = 8;
    CHECK(join_files(infos, 2, false, &sequence, &err) == LW_EDATA, "channels at different places are not refused");
}

static void check_names(void)
{
    static const char *const names[] = {"b10.h5", "b9.h5", "a.h5"};
    struct lw_dataset_info infos[3];
    struct lw_error err;
    struct lw_sequence sequence;
    for (int f = 0; f < 3; f++) {
        infos[f] = (struct lw_dataset_info){.n_dims = 1, .dims = {10 + f}, .metadata_axis = -1};
        snprintf(infos[f].file, sizeof infos[f].file, "%s", names[f]);
    }
    CHECK(join_files(infos, 3, false, &sequence, &err) == LW_OK, "%s", err.message);
    CHECK(sequence.parts[0].file == 2 && sequence.parts[1].file == 1 && sequence.parts[2].file == 0 &&
              sequence.parts[2].first == 23,
          "files without times must be in the order of names");
    lw_sequence_release(&sequence);
}

static void expect_refused(void (*change)(struct lw_dataset_info *), const char *word)
{
    struct lw_dataset_info infos[3];
    struct lw_period period;
    struct lw_error err = {0};
    struct lw_sequence sequence;
    lw_period_make(1, 1000, &period);
    for (int f = 0; f < 3; f++)
        make_file(&infos[f], 100 * f, 100, period, f);
    change(&infos[1]);
    const int code = join_files(infos, 3, false, &sequence, &err);
    CHECK(code == LW_EDATA && strstr(err.message, word) && strstr(err.message, "file-0") && strstr(err.message, "file-1"),
          "code %d: the message '%s' lacks '%s'", code, err.message, word);
}

static void change_type(struct lw_dataset_info *info) { info->type.scalar = LW_FLOAT32; }
static void change_order(struct lw_dataset_info *info) { info->type.is_swapped = true; }
static void change_channels(struct lw_dataset_info *info) { info->dims[1] = 6; }
static void change_dims(struct lw_dataset_info *info) { info->n_dims = 1; }
static void change_rate(struct lw_dataset_info *info) { info->axis.sample_rate_hz = 1010; }
static void change_scale(struct lw_dataset_info *info) { info->axis.scale = LW_TIME_GPS; }
static void forget_start(struct lw_dataset_info *info) { info->axis.scale = LW_TIME_UNKNOWN; }
static void change_unit(struct lw_dataset_info *info) { strcpy(info->axis.unit, "m"); }

static void change_detector(struct lw_dataset_info *info)
{
    lw_recorder_add(&info[-1].recorder, "detector", "H1");
    lw_recorder_add(&info->recorder, "detector", "L1");
}

static void change_pointing(struct lw_dataset_info *info)
{
    lw_recorder_point(&info[-1].recorder, 83.63, 22.01);
    lw_recorder_point(&info->recorder, 83.64, 22.01);
}

/* A file without a field matches files with any value of it, even if it is the first file. */
static void check_recorder(void)
{
    static const struct {
        const char *fields[3][2];       /* field and value of each file; NULL: none */
        double ra[3];                   /* right ascension in degrees, of a pointing 50 degrees north; 0: no pointing */
        const char *says;               /* text of the error; NULL: the files are one axis */
    } cases[] = {
        {{{"detector", "H1"}, {"detector", "H1"}, {"detector", "H1"}}, {0}, NULL},
        {{{NULL}, {"detector", "H1"}, {"detector", "H1"}}, {0}, NULL},
        {{{NULL}, {"detector", "H1"}, {"detector", "L1"}},
         {0},
         "'day/file-1.h5' and 'day/file-2.h5' are not one axis: the detector is H1 in"},
        {{{"station", "A"}, {"detector", "H1"}, {"station", "B"}}, {0}, "'day/file-0.h5' and 'day/file-2.h5'"},
        {{{"detector", "unknown"}, {"detector", " H1 "}, {"detector", "H1"}}, {0}, NULL},
        {{{"channel", "A VERY LONG NAME OF A CHANNEL, WHICH DIFFERS AT ITS END 1"},
          {"channel", "A VERY LONG NAME OF A CHANNEL, WHICH DIFFERS AT ITS END 2"},
          {NULL}},
         {0},
         "the channel"},
        {{{NULL}}, {10, 10.001, 10}, NULL},
        {{{NULL}}, {10, 0, 10.01}, "the pointing is 10.00000 +50.00000 degrees"},
        {{{NULL}}, {10, 10 + 0.417807, 10 + 2 * 0.417807}, NULL}, /* the sky turns for 100 s between files */
        {{{NULL}}, {359.9, 0.317807, 0.735614}, NULL},
    };
    struct lw_period period;
    lw_period_make(1, 1, &period);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct lw_dataset_info infos[3];
        struct lw_error err = {0};
        struct lw_sequence sequence;
        for (int f = 0; f < 3; f++) {
            make_file(&infos[f], 100 * f, 100, period, f);
            if (cases[c].fields[f][0])
                lw_recorder_add(&infos[f].recorder, cases[c].fields[f][0], cases[c].fields[f][1]);
            lw_recorder_point(&infos[f].recorder, cases[c].ra[f], cases[c].ra[f] > 0 ? 50 : 0);
        }
        const int code = join_files(infos, 3, false, &sequence, &err);
        CHECK(code == (cases[c].says ? LW_EDATA : LW_OK) && (!cases[c].says || strstr(err.message, cases[c].says)),
              "case %d: %d, '%s'", (int)c, code, err.message);
        if (code == LW_OK)
            lw_sequence_release(&sequence);
    }
}

static void check_refusals(void)
{
    expect_refused(change_detector, "the detector is H1 in the first and L1 in the second");
    expect_refused(change_pointing, "the pointing");
    expect_refused(change_type, "the type");
    expect_refused(change_order, "the type");
    expect_refused(change_channels, "dimension 1");
    expect_refused(change_dims, "number of dimensions");
    expect_refused(change_rate, "1010 Hz");
    expect_refused(change_scale, "the start");
    expect_refused(forget_start, "not known");
    expect_refused(change_unit, "the unit");

    struct lw_dataset_info infos[2];
    struct lw_period period;
    struct lw_error err = {0};
    struct lw_sequence sequence;
    lw_period_from_rate(1e12, &period);
    make_file(&infos[0], 0, 10, period, 0);
    make_file(&infos[1], 0, 10, period, 1);
    infos[0].axis.instant.seconds -= 100000000;
    CHECK(join_files(infos, 2, false, &sequence, &err) == LW_EDATA && strstr(err.message, "64 bits"), "'%s'", err.message);
}

/* Every byte of every description is restored from a smaller store, also for descriptions that several ranks have found. */
static void check_infos(void)
{
    enum { N = 500, SOURCES = 3 };
    struct lw_infos all = {0}, found[SOURCES] = {{0}};
    struct lw_period period;
    struct lw_error err;
    struct lw_dataset_info *const files = calloc(N, sizeof *files), info;
    lw_period_make(1, 1000, &period);
    for (int f = 0; f < N; f++) {
        make_file(&files[f], 40 * f, 1 + pick(40), period, f);
        memset(files[f].file, 0, sizeof files[f].file);
        snprintf(files[f].file, sizeof files[f].file, "file-%0*d.h5", (int)(1 + pick(1000)), f);
        for (int64_t p = f % 5 == 0 ? 1 + pick(100) : 0; p > 0; p--) {      /* several changed bytes near each other, and the last
                                                                             * byte */
            char *const at = (char *)&files[f] + LW_MAX_PATH + pick((int64_t)sizeof info - LW_MAX_PATH);
            *at = (char)pick(256);
        }
    }
    memset((char *)&files[7] + LW_MAX_PATH, 0xa5, sizeof info - LW_MAX_PATH);
    CHECK(lw_infos_begin(&all, &files[0], &err) == LW_OK, "%s", err.message);
    for (int s = 0; s < SOURCES; s++) {
        CHECK(lw_infos_begin(&found[s], &files[0], &err) == LW_OK, "%s", err.message);
        for (int f = s; f < N; f += SOURCES)
            CHECK(lw_infos_add(&found[s], &files[f], &err) == LW_OK, "%s", err.message);
        CHECK(lw_infos_append(&all, found[s].records, found[s].bytes, &err) == LW_OK, "%s", err.message);
        lw_infos_release(&found[s]);
    }
    CHECK(lw_infos_index(&all, N, SOURCES, &err) == LW_OK, "%s", err.message);
    for (int f = 0; f < N; f++) {
        CHECK(strcmp(lw_infos_file(&all, f), files[f].file) == 0, "file %d is '%s'", f, lw_infos_file(&all, f));
        memset(&info, 0x5a, sizeof info);
        lw_infos_get(&all, f, &info);
        CHECK(memcmp(info.path, files[f].path, sizeof info - LW_MAX_PATH) == 0, "the restored description of file %d differs", f);
    }
    CHECK(all.room < (int64_t)(N * sizeof info), "%d files take %d bytes", (int)N, (int)all.room);
    lw_infos_release(&all);
    free(files);
}

int main(void)
{
    check_infos();
    check_random();
    check_long();
    check_step();
    check_names();
    check_refusals();
    check_recorder();
    return check_result("sequence");
}
