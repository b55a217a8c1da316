/* mseed.c - miniSEED as one of the formats of archive files.
 *
 * A channel is a dataset, /NET.STA.LOC.CHA, [time]. A file without a path stands for all its channels, [channel x time], from the
 * latest of their beginnings to the earliest of their ends. Where each has to be without gaps. Records are unpacked when they are
 * read, by several threads at a time. */
#include "io/format.h"

#include "base/file.h"
#include "base/integers.h"
#include "base/memory.h"
#include "io/archive/common.h"
#include "io/archive/mseed_index.h"
#include "io/archive/mseed_unpack.h"
#include "io/bytes/transfer.h"
#include "io/notes/recorder.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern const struct lw_format lw_format_mseed;

static int recognise(const char *file, bool *is_one, struct lw_error *err)
{
    enum { HEADER_BYTES = 48 };
    unsigned char header[HEADER_BYTES];
    char why[96];
    const int fd = lw_file_open(file, why);
    if (fd < 0)
        return lw_fail(err, LW_EIO, "cannot read '%.600s': %s", file, why);
    *is_one = lseek(fd, 0, SEEK_END) >= HEADER_BYTES && lw_bytes_read(fd, header, 0, HEADER_BYTES, NULL) == LW_OK &&
              lw_mseed_begins(header);
    close(fd);
    return LW_OK;
}

/* ---- which channels -------------------------------------------------------------------------------------------------- */

/* Channels of a dataset, and what they have in common. */
struct choice {
    const struct lw_mseed_channel *channels;
    int64_t n, n_samples;
    struct lw_instant start;
    enum lw_scalar scalar;
};

/* "A, B, C and 5 more" */
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

/* The place for gaps: what is here said of a channel, its records' starts and `first` know. */
static int check_gaps(const struct choice *choice, const char *file, struct lw_error *err)
{
    for (int64_t c = 0; c < choice->n; c++) {
        const struct lw_mseed_channel *const channel = &choice->channels[c];
        if (channel->n_stretches == 1)
            continue;
        const struct lw_mseed_record *const next = &channel->records[channel->broken_at];
        const struct lw_instant end = lw_mseed_end(channel, next - 1), begin = lw_mseed_start(next);
        const bool is_gap = lw_instant_compare(end, begin) < 0;
        char one[LW_INSTANT_TEXT], other[LW_INSTANT_TEXT], more[64] = "";
        if (channel->n_stretches > 2)
            snprintf(more, sizeof more, ", and %d more such places", channel->n_stretches - 2);
        lw_instant_text(is_gap ? end : begin, one);
        lw_instant_text(is_gap ? begin : end, other);
        return lw_fail(err, LW_EDATA, "'%.400s' has %s in channel %s from %s to %s%s: gaps and overlaps within a file are not "
                       "read: split it there", file, is_gap ? "a gap" : "an overlap", channel->name, one, other, more);
    }
    return LW_OK;
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

/* The sample of a channel that is nearest to the common start. */
static int64_t shift_of(const struct choice *choice, int64_t c)
{
    const struct lw_mseed_channel *const channel = &choice->channels[c];
    return lw_instant_to_sample(channel->start, channel->period, choice->start, NULL);
}

static bool is_same_period(struct lw_period a, struct lw_period b)
{
    return a.numerator == b.numerator && a.denominator == b.denominator;
}

static int find_span(struct choice *choice, const char *file, struct lw_error *err)
{
    const struct lw_mseed_channel *const channels = choice->channels;
    choice->start = channels[0].start;
    for (int64_t c = 1; c < choice->n; c++) {
        if (!is_same_period(channels[c].period, channels[0].period))
            return fail_choice(choice, file, "have different sampling rates", err);
        if (lw_instant_compare(choice->start, channels[c].start) < 0)
            choice->start = channels[c].start;
    }
    choice->n_samples = INT64_MAX;
    for (int64_t c = 0; c < choice->n; c++)
        choice->n_samples = min64(choice->n_samples, channels[c].n_samples - shift_of(choice, c));
    return choice->n_samples > 0 ? LW_OK : fail_choice(choice, file, "have no time in common", err);
}

static int choose(const struct lw_mseed_index *index, const char *file, const char *path, struct choice *choice,
                  struct lw_error *err)
{
    int rc;
    (void)((rc = find_channel(index, file, path, choice, err)) || (rc = check_gaps(choice, file, err)) ||
           (rc = find_type(choice, file, err)) || (rc = find_span(choice, file, err)));
    return rc;
}

/* ---- describe -------------------------------------------------------------------------------------------------------- */

static void set_info(const struct choice *choice, struct lw_dataset_info *info)
{
    char names[2048];
    info->n_dims = choice->n > 1 ? 2 : 1;
    info->metadata_axis = info->n_dims - 1;
    info->dims[0] = choice->n;
    info->dims[info->metadata_axis] = choice->n_samples;
    info->type = (struct lw_type){.scalar = choice->scalar};
    info->axis.period = choice->channels[0].period;
    info->axis.scale = LW_TIME_UTC;
    info->axis.instant = choice->start;
    snprintf(info->axis.source, sizeof info->axis.source, "miniSEED records");
    snprintf(info->coordinates[info->metadata_axis].name, sizeof info->coordinates->name, "time");
    if (info->n_dims == 2)
        info->coordinates[0] = (struct lw_coordinate){.name = "channel", .is_regular = true, .first = 0, .step = 1};
    snprintf(info->convention, sizeof info->convention, "miniSEED");
    lw_recorder_add(&info->recorder, choice->n > 1 ? "channels" : "channel", names_text(choice->channels, choice->n, names, sizeof names));
}

/* As numbers, the same types. */
static int describe(struct lw_dataset_info *info, enum lw_use use, struct lw_error *err)
{
    struct lw_mseed_index index;
    struct choice choice;
    (void)use;
    int rc;
    if ((rc = lw_mseed_can_unpack(info->file, err)) || (rc = lw_mseed_index_open(info->file, &index, err)))
        return rc;
    if ((rc = choose(&index, info->file, info->path, &choice, err)) == LW_OK)
        set_info(&choice, info);
    lw_mseed_index_close(&index);
    return rc;
}

static int64_t bytes_of(const struct lw_mseed_channel *channel)
{
    int64_t bytes = 0;
    for (int64_t r = 0; r < channel->n_records; r++)
        bytes += channel->records[r].bytes;
    return bytes;
}

static void list_channel(const struct lw_mseed_channel *channel, lw_list_fn *visit, void *context)
{
    struct lw_dataset_info info = {.metadata_axis = -1};
    const struct choice choice = {.channels = channel, .n = 1, .n_samples = channel->n_samples, .start = channel->start,
                                  .scalar = channel->scalar};
    char storage[120], stretches[48] = "";
    set_info(&choice, &info);
    snprintf(info.path, sizeof info.path, "/%s", channel->name);
    if (channel->n_stretches > 1)
        snprintf(stretches, sizeof stretches, " in %d stretches", channel->n_stretches);
    snprintf(storage, sizeof storage, "%" PRId64 " record%s%s, %s", channel->n_records, channel->n_records == 1 ? "" : "s",
             stretches, lw_mseed_encoding_text(channel->records[0].encoding));
    lw_archive_list(&info, storage, bytes_of(channel), visit, context);
}

static int list(const char *file, lw_list_fn *visit, void *context, struct lw_error *err)
{
    struct lw_mseed_index index;
    const int rc = lw_mseed_index_open(file, &index, err);
    if (rc)
        return rc;
    for (int64_t c = 0; c < index.n_channels; c++)
        list_channel(&index.channels[c], visit, context);
    lw_mseed_index_close(&index);
    return LW_OK;
}

/* ---- open ------------------------------------------------------------------------------------------------------------ */

struct worker {
    struct lw_mseed_unpacker *unpacker;
    struct worker *next;
};

struct opened {
    struct lw_mseed_index index;
    struct choice choice;
    pthread_mutex_t mutex;              /* over `idle` */
    struct worker *idle;                /* unpackers that no thread uses now */
};

static void close_dataset(void *dataset)
{
    struct opened *const opened = dataset;
    while (opened->idle) {
        struct worker *const worker = opened->idle;
        opened->idle = worker->next;
        lw_mseed_unpacker_destroy(worker->unpacker);
        lw_free(worker);
    }
    pthread_mutex_destroy(&opened->mutex);
    lw_mseed_index_close(&opened->index);
    lw_free(opened);
}

static int open_choice(struct opened *opened, const struct lw_dataset_info *info, struct lw_error *err)
{
    int rc;
    struct lw_dataset_info now = {0};
    if ((rc = lw_mseed_can_unpack(info->file, err)) || (rc = lw_mseed_index_open(info->file, &opened->index, err)) ||
        (rc = choose(&opened->index, info->file, info->path, &opened->choice, err)))
        return rc;
    set_info(&opened->choice, &now);
    if (memcmp(now.dims, info->dims, sizeof now.dims) != 0 || now.type.scalar != info->type.scalar)
        return lw_fail(err, LW_EDATA, "'%.600s' changed while it was read", info->file);
    return LW_OK;
}

static int open_dataset(const struct lw_dataset_info *info, void **dataset, struct lw_error *err)
{
    struct opened *const opened = lw_alloc(sizeof *opened, "the reader", err);
    if (!opened)
        return LW_ESYSTEM;
    opened->index.fd = -1;
    pthread_mutex_init(&opened->mutex, NULL);
    lw_mseed_unpack_start();
    const int rc = open_choice(opened, info, err);
    if (rc)
        close_dataset(opened);
    else
        *dataset = opened;
    return rc;
}

/* ---- samples --------------------------------------------------------------------------------------------------------- */

/* There are as many as threads that have ever read at the same time. */
static int take_worker(struct opened *opened, struct worker **out, struct lw_error *err)
{
    pthread_mutex_lock(&opened->mutex);
    struct worker *worker = opened->idle;
    if (worker)
        opened->idle = worker->next;
    pthread_mutex_unlock(&opened->mutex);
    if (!worker) {
        if (!(worker = lw_alloc(sizeof *worker, "unpacking records", err)))
            return LW_ESYSTEM;
        if (lw_mseed_unpacker_create(opened->index.most_bytes, &worker->unpacker, err)) {
            lw_free(worker);
            return LW_ESYSTEM;
        }
    }
    *out = worker;
    return LW_OK;
}

static void give_worker(struct opened *opened, struct worker *worker)
{
    pthread_mutex_lock(&opened->mutex);
    worker->next = opened->idle;
    opened->idle = worker;
    pthread_mutex_unlock(&opened->mutex);
}

/* The last record that does not begin behind a sample. */
static int64_t find_record(const struct lw_mseed_channel *channel, int64_t sample)
{
    int64_t low = 0, high = channel->n_records;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (channel->records[middle].first <= sample)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Samples of one channel: first, first + step, ... */
struct row {
    const struct lw_mseed_channel *channel;
    int64_t first, step, count;
    char *into;
};

/* Short integers come as long ones; into long ones they may go. */
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

static int read_row(struct opened *opened, struct lw_mseed_unpacker *unpacker, const struct row *row, struct lw_error *err)
{
    const enum lw_scalar scalar = opened->choice.scalar;
    const int64_t bytes = (int64_t)lw_scalar_bytes(scalar);
    int64_t r = find_record(row->channel, row->first);
    for (int64_t done = 0; done < row->count; r++) {
        const struct lw_mseed_record *const record = &row->channel->records[r];
        const int64_t from = row->first + done * row->step - record->first;
        const int64_t n = min64(row->count - done, divide_up(max64(0, record->n_samples - from), row->step));
        if (n == 0)
            continue;           /* all between two samples */
        const void *samples;
        const int rc = lw_mseed_unpack(unpacker, opened->index.fd, record, &samples, err);
        if (rc)
            return rc;
        copy_samples(scalar, samples, from, row->step, n, row->into + done * bytes);
        done += n;
    }
    return LW_OK;
}

/* A run is one channel, or all of them. */
static int read_box(void *dataset, const struct lw_box *box, struct lw_error *err)
{
    struct opened *const opened = dataset;
    const struct choice *const choice = &opened->choice;
    const int time = choice->n > 1 ? 1 : 0;
    const int64_t n = time == 1 ? box->count[0] : 1, bytes = (int64_t)lw_scalar_bytes(choice->scalar);
    const int64_t pitch = box->run == box->count[time] ? box->pitch : box->count[time];
    struct worker *worker;
    int rc = take_worker(opened, &worker, err);
    if (rc)
        return rc;
    for (int64_t i = 0; rc == LW_OK && i < n; i++) {
        const int64_t c = time == 1 ? box->first[0] + i * box->step[0] : 0;
        const struct row row = {.channel = &choice->channels[c], .first = box->first[time] + shift_of(choice, c),
                                .step = box->step[time], .count = box->count[time],
                                .into = (char *)box->into + i * pitch * bytes};
        rc = read_row(opened, worker->unpacker, &row, err);
    }
    give_worker(opened, worker);
    return rc;
}

/* ---- attributes ------------------------------------------------------------------------------------------ */

/* What tells the channels apart: their names, in order. */
static void visit_attributes(const struct lw_dataset_info *info, lw_attribute_fn *visit, void *context)
{
    enum { MOST_TEXT = 32 << 10 };
    struct lw_mseed_index index;
    struct choice choice;
    if (lw_mseed_index_open(info->file, &index, NULL))
        return;
    char *const names = lw_alloc(MOST_TEXT, "the names of channels", NULL);
    if (names && choose(&index, info->file, info->path, &choice, NULL) == LW_OK) {
        const struct lw_attribute attribute = {.name = "channels", .kind = LW_ATTRIBUTE_TEXT,
                                               .text = names_text(choice.channels, choice.n, names, MOST_TEXT)};
        visit(&attribute, context);
    }
    lw_free(names);
    lw_mseed_index_close(&index);
}

const struct lw_format lw_format_mseed = {
    .name = "miniSEED",
    .file_text = "a miniSEED file",
    .start = lw_mseed_unpack_start,
    .recognise = recognise,
    .list = list,
    .describe = describe,
    .open = open_dataset,
    .read = read_box,
    .reads_in_threads = true,
    .close = close_dataset,
    .visit_attributes = visit_attributes,
};
