/* mseed.c - read miniSEED files.
 *
 * The path /NET.STA.LOC.CHA is one channel, [time]. No path is all channels, [channel x time], at the times that all of them have.
 * A path that ends with #2 is stretch number 2 (mseed_index.h), counted from 0. Records are unpacked when they are read, by several
 * threads at a time. */

#include "base/integers.h"
#include "base/memory.h"
#include "io/archive/mseed_index.h"
#include "io/archive/shared.h"
#include "io/notes/recorder.h"
#include "options/parse.h"

#include <inttypes.h>
#include <stdio.h>

static int recognise(const char *file, bool *is_one, struct lw_error *err)
{
    enum { HEADER_BYTES = 48 };
    char header[HEADER_BYTES];
    const int rc = lw_archive_read_start(file, header, sizeof header, is_one, err);
    *is_one = *is_one && lw_mseed_begins(header);
    return rc;
}

/* ---- which channels -------------------------------------------------------------------------------------------------- */

/* The channels of a dataset, and the stretches of time that all of them have. */
struct choice {
    const struct lw_mseed_channel *channels;
    int64_t n, n_samples;
    enum lw_scalar scalar;
    struct lw_file_stretch *stretches;       /* owned */
    int64_t n_stretches;
    int64_t *from;                      /* owned; [n_stretches x n] index of a stretch's first sample in each channel */
};

static void release(struct choice *choice)
{
    lw_free(choice->stretches);
    lw_free(choice->from);
    *choice = (struct choice){0};
}

/* Write names of channels, like "/A, /B, /C and 5 more", and return `text`. */
static const char *names_text(const struct lw_mseed_channel *channels, int64_t n, char *text, size_t size)
{
    const size_t room_for_count = 32;
    size_t used = 0;
    text[0] = '\0';
    for (int64_t c = 0; c < n; c++) {
        if (used + LW_MSEED_NAME + 4 + room_for_count > size) {
            snprintf(text + used, size - used, " and %" PRId64 " more", n - c);
            break;
        }
        used += (size_t)snprintf(text + used, size - used, "%s/%s", c ? ", " : "", channels[c].name);
    }
    return text;
}

static int find_channel(const struct lw_mseed_index *index, const char *file, const char *path, struct choice *choice,
                        struct lw_error *err)
{
    char names[400];
    if (path[0] == '\0' || strcmp(path, "/") == 0) {
        *choice = (struct choice){.channels = index->channels, .n = index->n_channels};
        return LW_OK;
    }
    for (int64_t c = 0; c < index->n_channels; c++)
        if (strcmp(index->channels[c].name, path + 1) == 0) {
            *choice = (struct choice){.channels = &index->channels[c], .n = 1};
            return LW_OK;
        }
    return lw_fail(err, LW_EDATA, "'%.400s' has no channel %.100s: there are %s", file, path,
                   names_text(index->channels, index->n_channels, names, sizeof names));
}

static int fail_choice(const struct choice *choice, const char *file, const char *what, struct lw_error *err)
{
    char names[400];
    return lw_fail(err, LW_EDATA, "the channels of '%.300s' %s: choose one with FILE:/NET.STA.LOC.CHA; there are %s", file, what,
                   names_text(choice->channels, choice->n, names, sizeof names));
}

static int find_type(struct choice *choice, const char *file, struct lw_error *err)
{
    choice->scalar = choice->channels[0].scalar;
    for (int64_t c = 1; c < choice->n; c++) {
        const enum lw_scalar scalar = choice->channels[c].scalar;
        if (scalar == choice->scalar)
            continue;
        if (!lw_scalar_is_integer(scalar) || !lw_scalar_is_integer(choice->scalar))
            return fail_choice(choice, file, "have samples of different types", err);
        choice->scalar = LW_INT32;
    }
    return LW_OK;
}

/* ---- stretches ------------------------------------------------------------------------------------------------------- */

/* Return the number of samples from a record's first to the end of its stretch. */
static int64_t count_from(const struct lw_mseed_channel *channel, int64_t record)
{
    int64_t end = record + 1;
    while (end < channel->n_records && !channel->records[end].begins_stretch)
        end++;
    return (end < channel->n_records ? channel->records[end].first : channel->n_samples) - channel->records[record].first;
}

/* Take the stretches of a single channel as they are, even if they overlap. */
static int find_own(struct choice *choice, struct lw_error *err)
{
    const struct lw_mseed_channel *const channel = &choice->channels[0];
    choice->stretches = lw_alloc_array(channel->n_stretches, sizeof *choice->stretches, "the stretches of a file", err);
    choice->from = lw_alloc_array(channel->n_stretches, sizeof *choice->from, "the stretches of a file", err);
    if (!choice->stretches || !choice->from)
        return LW_ESYSTEM;
    for (int64_t r = 0; r < channel->n_records; r++) {
        const struct lw_mseed_record *const record = &channel->records[r];
        if (!record->begins_stretch)
            continue;
        choice->from[choice->n_stretches] = record->first;
        choice->stretches[choice->n_stretches++] =
            (struct lw_file_stretch){record->first, count_from(channel, r), lw_mseed_start(record)};
    }
    choice->n_samples = channel->n_samples;
    return LW_OK;
}

/* A walk through the stretches of a channel. Their samples are numbered on a grid of times that all channels share. */
struct walk {
    const struct lw_mseed_channel *channel;
    struct lw_instant start;            /* time of the grid's sample 0 */
    int64_t record;                     /* first record of the stretch */
    int64_t begin, end;                 /* grid samples [begin, end) of the stretch */
    int64_t first;                      /* index in the channel of the sample at `begin` */
};

/* Go to the first stretch that begins at or after a record. Its place on the grid is rounded. Samples that this puts within the
 * previous stretch are left out. Returns false after the last stretch. @param record  index in the channel */
static bool go_to(struct walk *walk, int64_t record)
{
    const struct lw_mseed_channel *const channel = walk->channel;
    while (record < channel->n_records && !channel->records[record].begins_stretch)
        record++;
    if (record == channel->n_records)
        return false;
    const int64_t at = -lw_instant_to_sample(lw_mseed_start(&channel->records[record]), channel->period, walk->start, NULL);
    const int64_t begin = record > 0 ? lw_max64(at, walk->end) : at;
    *walk = (struct walk){
        channel, walk->start, record, begin, at + count_from(channel, record), channel->records[record].first + begin - at};
    return true;
}

static int check_channels(const struct choice *choice, const char *file, struct lw_instant *start, struct lw_error *err)
{
    const struct lw_mseed_channel *const channels = choice->channels;
    *start = channels[0].start;
    for (int64_t c = 0; c < choice->n; c++) {
        const struct lw_period period = channels[c].period;
        if (period.numerator != channels[0].period.numerator || period.denominator != channels[0].period.denominator)
            return fail_choice(choice, file, "have different sampling rates", err);
        if (channels[c].has_overlaps)
            return lw_fail(err, LW_EDATA,
                           "'%.400s' has records of channel %s that overlap; these can be read only from one channel: choose one, "
                           "as in FILE:/%s", file, channels[c].name, channels[c].name);
        if (lw_instant_compare(*start, channels[c].start) < 0)
            *start = channels[c].start;
    }
    return LW_OK;
}

/* Find the stretches that all channels have. Store them if memory for them is allocated. @return  number of stretches */
static int64_t intersect(struct choice *choice, struct lw_instant start, struct walk *walks)
{
    bool are_there = true;
    int64_t kept = 0;
    for (int64_t c = 0; c < choice->n; c++) {
        walks[c] = (struct walk){.channel = &choice->channels[c], .start = start};
        are_there &= go_to(&walks[c], 0);
    }
    while (are_there) {
        int64_t begin = walks[0].begin, end = walks[0].end;
        for (int64_t c = 1; c < choice->n; c++) {
            begin = lw_max64(begin, walks[c].begin);
            end = lw_min64(end, walks[c].end);
        }
        if (begin < end && choice->from) {
            const struct lw_instant instant = lw_instant_of_sample(start, choice->channels[0].period, begin);
            choice->stretches[kept] = (struct lw_file_stretch){choice->n_samples, end - begin, instant};
            choice->n_samples += end - begin;
            for (int64_t c = 0; c < choice->n; c++)
                choice->from[kept * choice->n + c] = walks[c].first + begin - walks[c].begin;
        }
        kept += begin < end;
        for (int64_t c = 0; c < choice->n; c++)
            if (walks[c].end <= end)
                are_there &= go_to(&walks[c], walks[c].record + 1);
    }
    return kept;
}

/* Find the stretches that all channels have. Sample 0 of the grid is the start of the channel that begins last. */
static int find_common(struct choice *choice, const char *file, struct lw_error *err)
{
    struct lw_instant start;
    int rc = check_channels(choice, file, &start, err);
    if (rc)
        return rc;
    LW_FREED struct walk *const walks = lw_alloc_array(choice->n, sizeof *walks, "the stretches of a file", err);
    if (!walks)
        return LW_ESYSTEM;
    const int64_t n = choice->n_stretches = intersect(choice, start, walks);
    if (n == 0)
        rc = fail_choice(choice, file, "have no time in common", err);
    else if (!(choice->stretches = lw_alloc_array(n, sizeof *choice->stretches, "the stretches of a file", err)) ||
             !(choice->from = lw_alloc_array(n * choice->n, sizeof *choice->from, "the stretches of a file", err)))
        rc = LW_ESYSTEM;
    else
        intersect(choice, start, walks);
    return rc;
}

static int keep_stretch(struct choice *choice, const char *file, int64_t number, struct lw_error *err)
{
    if (number < 0)
        return LW_OK;
    if (number >= choice->n_stretches)
        return lw_fail(err, LW_EDATA, "'%.400s' has no stretch #%" PRId64 ": there are %" PRId64 ", counted from 0", file, number,
                       choice->n_stretches);
    choice->stretches[0] = choice->stretches[number];
    choice->stretches[0].first = 0;
    memmove(choice->from, choice->from + number * choice->n, (size_t)choice->n * sizeof *choice->from);
    choice->n_samples = choice->stretches[0].count;
    choice->n_stretches = 1;
    return LW_OK;
}

/* Choose the channels and stretches that a path names. @param choice  the caller releases it, also after an error */
static int choose(const struct lw_mseed_index *index, const char *file, const char *path, struct choice *choice,
                  struct lw_error *err)
{
    char name[LW_MAX_PATH];
    int64_t stretch = -1;
    int rc;
    *choice = (struct choice){0};
    snprintf(name, sizeof name, "%s", path);
    char *const mark = strrchr(name, '#');
    if (mark && lw_parse_int(mark + 1, &stretch) == LW_PARSE_OK && stretch >= 0)
        *mark = '\0';
    (void)((rc = find_channel(index, file, name, choice, err)) || (rc = find_type(choice, file, err)) ||
           (rc = choice->n == 1 ? find_own(choice, err) : find_common(choice, file, err)) ||
           (rc = keep_stretch(choice, file, stretch, err)));
    return rc;
}

/* An open file with its index, and the channels chosen from it. */
struct opened {
    struct lw_mseed_index index;
    struct choice choice;
};

/* Open a described file. @param opened  the caller closes it, also after an error */
static int open_choice(struct opened *opened, const struct lw_dataset_info *info, struct lw_error *err)
{
    *opened = (struct opened){0};
    const int rc = lw_mseed_index_open(info->file, &opened->index, err);
    return rc ? rc : choose(&opened->index, info->file, info->path, &opened->choice, err);
}

static void close_choice(void *dataset)
{
    struct opened *const opened = dataset;
    release(&opened->choice);
    lw_mseed_index_close(&opened->index);
}

/* ---- describe -------------------------------------------------------------------------------------------------------- */

static void set_info(const struct choice *choice, struct lw_dataset_info *info)
{
    const struct lw_file_stretch *const last = &choice->stretches[choice->n_stretches - 1];
    const struct lw_period period = choice->channels[0].period;
    char names[2048];
    info->n_dims = choice->n > 1 ? 2 : 1;
    info->metadata_axis = info->n_dims - 1;
    info->dims[0] = choice->n;
    info->dims[info->metadata_axis] = choice->n_samples;
    info->type = (struct lw_type){.scalar = choice->scalar};
    info->axis.period = period;
    info->axis.scale = LW_TIME_UTC;
    info->axis.instant = choice->stretches[0].instant;
    info->n_stretches = choice->n_stretches;
    info->n_missing = lw_instant_to_sample(info->axis.instant, period, last->instant, NULL) - last->first;
    snprintf(info->axis.source, sizeof info->axis.source, "miniSEED records");
    lw_archive_name(info, info->metadata_axis, "time");
    if (info->n_dims == 2)
        info->coordinates[0] = (struct lw_coordinate){.name = "channel", .is_regular = true, .first = 0, .step = 1};
    snprintf(info->convention, sizeof info->convention, "miniSEED");
    lw_recorder_add(&info->recorder, choice->n > 1 ? "channels" : "channel",
                    names_text(choice->channels, choice->n, names, sizeof names));
}

/* Describe a dataset. Its type does not depend on info->use. */
static int describe(struct lw_dataset_info *info, struct lw_error *err)
{
    struct opened opened;
    const int rc = open_choice(&opened, info, err);
    if (rc == LW_OK)
        set_info(&opened.choice, info);
    close_choice(&opened);
    return rc;
}

static int find_stretches(const struct lw_dataset_info *info, struct lw_file_stretch **out, struct lw_error *err)
{
    struct opened opened;
    struct choice *const choice = &opened.choice;
    int rc = open_choice(&opened, info, err);
    if (rc == LW_OK && choice->n_stretches != info->n_stretches)
        rc = lw_archive_fail_changed(info->file, err);
    if (rc == LW_OK) {
        *out = choice->stretches;
        choice->stretches = NULL;
    }
    close_choice(&opened);
    return rc;
}

static int list_channel(const struct lw_mseed_index *index, const char *file, const struct lw_mseed_channel *channel,
                        lw_list_fn *visit, void *context, struct lw_error *err)
{
    struct lw_dataset_info info = {.metadata_axis = -1};
    struct choice choice;
    char storage[120], stretches[48] = "";
    int64_t bytes = 0;
    snprintf(info.path, sizeof info.path, "/%s", channel->name);
    const int rc = choose(index, file, info.path, &choice, err);
    if (rc == LW_OK) {
        set_info(&choice, &info);
        if (channel->n_stretches > 1)
            snprintf(stretches, sizeof stretches, " in %" PRId64 " stretches", channel->n_stretches);
        snprintf(storage, sizeof storage, "%" PRId64 " record%s%s, %s", channel->n_records, channel->n_records == 1 ? "" : "s",
                 stretches, lw_mseed_encoding_text(channel->records[0].encoding));
        for (int64_t r = 0; r < channel->n_records; r++)
            bytes += channel->records[r].bytes;
        lw_archive_list(&info, storage, bytes, visit, context);
    }
    release(&choice);
    return rc;
}

static int list(const char *file, lw_list_fn *visit, void *context, struct lw_error *err)
{
    struct lw_mseed_index index;
    int rc = lw_mseed_index_open(file, &index, err);
    for (int64_t c = 0; rc == LW_OK && c < index.n_channels; c++)
        rc = list_channel(&index, file, &index.channels[c], visit, context, err);
    lw_mseed_index_close(&index);
    return rc;
}

/* ---- open ------------------------------------------------------------------------------------------------------------ */

static int open_described(void *dataset, const struct lw_dataset_info *info, struct lw_error *err)
{
    struct opened *const opened = dataset;
    struct lw_dataset_info now = {0};
    lw_mseed_make_ready();
    const int rc = open_choice(opened, info, err);
    if (rc)
        return rc;
    set_info(&opened->choice, &now);
    return lw_archive_check_same(&now, info, err);
}

/* ---- samples --------------------------------------------------------------------------------------------------------- */

/* Copy every step-th of a record's unpacked samples. int16 samples are unpacked as int32; `scalar` is int16 or int32 for them. */
static void copy_samples(enum lw_scalar scalar, const void *from, int64_t first, int64_t step, int64_t n, char *into)
{
    const int64_t bytes = (int64_t)lw_scalar_bytes(scalar);
    if (scalar == LW_INT16) {
        for (int64_t i = 0; i < n; i++) {
            const int16_t value = (int16_t)((const int32_t *)from)[first + i * step];
            memcpy(into + i * bytes, &value, sizeof value);
        }
    } else if (step == 1) {
        memcpy(into, (const char *)from + first * bytes, (size_t)(n * bytes));
    } else {
        for (int64_t i = 0; i < n; i++)
            memcpy(into + i * bytes, (const char *)from + (first + i * step) * bytes, (size_t)bytes);
    }
}

/* Read samples of channel c, record by record. */
static int read_row(const struct opened *opened, struct lw_mseed_unpacker *unpacker, int64_t c, const struct lw_box_rows *rows,
                    char *into, struct lw_error *err)
{
    const struct choice *const choice = &opened->choice;
    const struct lw_mseed_channel *const channel = &choice->channels[c];
    const struct lw_mseed_record *const records = channel->records;
    const int64_t bytes = (int64_t)lw_scalar_bytes(choice->scalar);
    const void *samples;
    for (int64_t done = 0, n; done < rows->count; done += n) {
        const int64_t at = rows->first + done * rows->step;
        const int64_t s = lw_archive_find_last(&choice->stretches->first, sizeof *choice->stretches, choice->n_stretches, at);
        const struct lw_file_stretch *const stretch = &choice->stretches[s];
        const int64_t sample = choice->from[s * choice->n + c] + at - stretch->first;
        const struct lw_mseed_record *const record =
            &records[lw_archive_find_last(&records->first, sizeof *records, channel->n_records, sample)];
        const int64_t from = sample - record->first;
        const int64_t left = lw_min64(record->n_samples - from, stretch->first + stretch->count - at);
        const int rc = lw_mseed_unpack(unpacker, opened->index.fd, record, &samples, err);
        if (rc)
            return rc;
        n = lw_min64(rows->count - done, lw_divide_up(left, rows->step));
        copy_samples(choice->scalar, samples, from, rows->step, n, into + done * bytes);
    }
    return LW_OK;
}

static int read_box(void *dataset, const struct lw_box *box, struct lw_error *err)
{
    const struct opened *const opened = dataset;
    const struct choice *const choice = &opened->choice;
    const struct lw_box_rows rows = lw_archive_rows(box, choice->n > 1 ? 2 : 1);
    const int64_t pitch = rows.pitch * (int64_t)lw_scalar_bytes(choice->scalar);
    struct lw_mseed_unpacker *unpacker;
    int rc = lw_mseed_unpacker_create(opened->index.most_bytes, &unpacker, err);
    if (rc)
        return rc;
    for (int64_t i = 0; rc == LW_OK && i < rows.n; i++)
        rc = read_row(opened, unpacker, rows.row + i * rows.row_step, &rows, (char *)box->into + i * pitch, err);
    lw_mseed_unpacker_destroy(unpacker);
    return rc;
}

/* Visit one attribute: the names of the channels in the order of the dataset's rows. */
static void visit_attributes(const struct lw_dataset_info *info, lw_attribute_fn *visit, void *context)
{
    enum { MOST_TEXT = 32 << 10 };
    struct opened opened;
    const struct choice *const choice = &opened.choice;
    LW_FREED char *const names = lw_alloc(MOST_TEXT, "the names of channels", NULL);
    if (names && open_choice(&opened, info, NULL) == LW_OK) {
        const struct lw_attribute attribute = {.name = "channels", .kind = LW_ATTRIBUTE_TEXT,
                                               .text = names_text(choice->channels, choice->n, names, MOST_TEXT)};
        visit(&attribute, context);
    }
    if (names)
        close_choice(&opened);
}

const struct lw_format lw_format_mseed = {
    .name = "miniSEED", .file_text = "a miniSEED file",
    .start = lw_mseed_make_ready,
    .recognise = recognise, .list = list, .describe = describe,
    .find_stretches = find_stretches,
    .open = open_described, .open_bytes = sizeof(struct opened), .read = read_box, .reads_in_threads = true,
    .close = close_choice,
    .visit_attributes = visit_attributes,
};
