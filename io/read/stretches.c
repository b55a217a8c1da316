#include "io/read/stretches.h"

#include "base/integers.h"
#include "base/memory.h"
#include "io/read/state.h"
#include "options/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Describe the file that a word (options/words.h) names, with the dimensions that a run shows. A failure's reason is dropped. */
static int describe(const struct lw_reader_request *request, const char *word, struct lw_dataset_info *info)
{
    struct lw_error ignored;
    char name[2 * LW_MAX_PATH + 2];
    const bool is_whole = lw_words_take(word, name, sizeof name) != NULL;
    const int rc = is_whole ? lw_examine_dataset(name, &request->hints, LW_USE_SAMPLES, info, &ignored) : LW_EUSAGE;
    if (rc == LW_OK)
        lw_source_squeeze(info, request->least_dims, request->most_dims, NULL);
    return rc;
}

/* ---- names ----------------------------------------------------------------------------------------------------------------- */

/* Texts collected so far. A further name begins a new text or extends the last one. */
struct collector {
    struct lw_names *out;
    size_t room;                /* size of out->memory, bytes */
};

static int add_text(struct collector *c, const char *name, bool is_new, struct lw_error *err)
{
    struct lw_names *const out = c->out;
    const size_t needed = (size_t)out->bytes + lw_words_room(name) + 1;
    if (needed > c->room) {
        const size_t room = 2 * needed;
        char *const memory = lw_alloc(room, "the names of files", err);
        if (!memory)
            return LW_ESYSTEM;
        memcpy(memory, out->memory ? out->memory : "", (size_t)out->bytes);
        lw_free(out->memory);
        out->memory = memory;
        c->room = room;
    }
    char *const end = out->memory + out->bytes - !is_new;
    out->n += is_new;
    out->bytes = lw_words_append(name, is_new ? end : out->memory, end) + 1 - out->memory;
    return LW_OK;
}

/* ---- sizes of the groups --------------------------------------------------------------------------------------------------- */

/* Return the bytes of one sample of the axis, over all channels. */
static double width_of(const struct lw_dataset_info *info, int axis)
{
    double bytes = (double)lw_type_bytes(info->type);
    for (int d = 0; d < info->n_dims; d++)
        bytes *= d == axis ? 1 : (double)info->dims[d];
    return bytes;
}

static double bytes_of_file(const struct lw_reader_request *request, const char *word)
{
    struct lw_dataset_info info;
    if (describe(request, word, &info) != LW_OK)
        return 0;
    const int axis = lw_reader_axis(request, &info);
    const bool is_known = axis >= 0 && axis < info.n_dims;
    return width_of(&info, is_known ? axis : -1) * (is_known ? (double)(info.dims[axis] + info.n_missing) : 1);
}

/* ---- each file ------------------------------------------------------------------------------------------------------------- */

static int find_files(struct lw_comm *comm, const struct lw_reader_request *request, struct collector *c, double **bytes,
                      struct lw_error *err)
{
    struct lw_names names = {0};
    struct lw_lookers lookers;
    int rc = lw_names_find(comm, request->names, &names, err);
    for (const char *name = lw_names_next(&names, NULL); rc == LW_OK && name; name = lw_names_next(&names, name))
        rc = add_text(c, name, true, err);
    lw_names_release(&names);
    if (rc == LW_OK && bytes && !(*bytes = lw_alloc_array(c->out->n, sizeof **bytes, "the sizes of inputs", err)))
        rc = LW_ESYSTEM;
    rc = lw_comm_agree(comm, rc, err);
    if (rc || !bytes || (rc = lw_lookers_find(comm, &lookers, err)))
        return rc;
    int64_t f = 0;      /* looker i of n describes files i, i + n, ... */
    for (const char *name = lw_names_next(c->out, NULL); name; name = lw_names_next(c->out, name), f++)
        if (f % lookers.n == lookers.mine)
            (*bytes)[f] = bytes_of_file(request, name);
    lw_comm_collect(comm, *bytes, c->out->n, 0);
    lw_comm_broadcast(comm, *bytes, c->out->n * (int64_t)sizeof **bytes);
    return LW_OK;
}

/* ---- each stretch ------------------------------------------------------------------------------------------------------------ */

/* Return whether a part is the first of its piece. A piece that other pieces cut in two has several parts. */
static bool is_first_of_piece(const struct lw_sequence *sequence, int64_t part)
{
    const struct lw_file_part *const parts = sequence->parts;
    const int64_t begin = parts[part].first - parts[part].skip;
    for (int64_t p = part - 1; p >= 0 && parts[p].first >= begin; p--)
        if (parts[p].file == parts[part].file && parts[p].stretch == parts[part].stretch)
            return false;
    return true;
}

static int find_stretches(struct lw_comm *comm, const struct lw_reader_request *request, struct collector *c, double **bytes,
                          struct lw_error *err)
{
    struct lw_reader *reader;
    int rc = lw_reader_describe(comm, request, &reader, err);
    if (rc)
        return rc;
    const struct lw_sequence *const sequence = &reader->sequence;
    if (bytes && !(*bytes = lw_alloc_array(sequence->n_gaps + 1, sizeof **bytes, "the sizes of inputs", err)))
        rc = LW_ESYSTEM;
    for (int64_t p = 0; rc == LW_OK && p < sequence->n_parts; p++) {
        const struct lw_file_part *const part = &sequence->parts[p];
        const bool is_behind_gap = p == 0 || part->first != part[-1].first + part[-1].count;
        struct lw_dataset_info file;
        lw_infos_get(&reader->infos, part->file, &file);
        struct lw_name name = lw_name_of(file.file, file.path[0] || file.n_stretches <= 1 ? file.path : "/");
        const size_t used = strlen(name.text);
        if (file.n_stretches > 1)
            snprintf(name.text + used, sizeof name.text - used, "#%" PRId64, part->stretch);
        if (is_first_of_piece(sequence, p))
            rc = add_text(c, name.text, is_behind_gap, err);
        lw_source_squeeze(&file, request->least_dims, request->most_dims, NULL);
        if (rc == LW_OK && bytes)
            (*bytes)[c->out->n - 1] += width_of(&file, reader->axis) * (double)part->count;
    }
    lw_reader_close(reader);
    return lw_comm_agree(comm, rc, err);
}

int lw_stretches_find(struct lw_comm *comm, const struct lw_reader_request *request, enum lw_each each, struct lw_names *out,
                      double **bytes, struct lw_error *err)
{
    struct collector c = {.out = out};
    *out = (struct lw_names){0};
    if (bytes)
        *bytes = NULL;
    const int rc = (each == LW_EACH_FILE ? find_files : find_stretches)(comm, request, &c, bytes, err);
    if (rc) {
        lw_names_release(out);
        if (bytes) {
            lw_free(*bytes);
            *bytes = NULL;
        }
    }
    return rc;
}

/* ---- files beside each other ------------------------------------------------------------------------------------------------- */

enum { MOST_BESIDE = 64, TEXT_BYTES = MOST_BESIDE * 4 * LW_MAX_PATH };

/* The extent of a file in time. Plain data. */
struct extent {
    int64_t number;             /* index of the file in the list of names */
    bool is_known;
    struct lw_instant begin, end;
    int64_t count;
};

struct lw_beside {
    struct lw_comm *comm;
    struct lw_reader_request request;
    const char **names;         /* [n], words (options/words.h) */
    struct extent *order;       /* [n], sorted by begin; files with known times come first */
    int64_t n, n_known;

    /* Private to lw_beside_find: the file and its neighbours so far, which make one axis. */
    struct lw_dataset_info *infos;      /* [MOST_BESIDE + 2], the file, then its neighbours */
    int64_t n_infos;
    int axis;
    char *text, *end;           /* names of the neighbours, and the end of this text */
};

static struct extent extent_of(const struct lw_beside *beside, int64_t number)
{
    struct lw_dataset_info info;
    struct extent extent = {.number = number};
    if (describe(&beside->request, beside->names[number], &info) != LW_OK)
        return extent;
    const int axis = lw_reader_axis(&beside->request, &info);
    if (axis < 0 || axis >= info.n_dims || info.axis.scale == LW_TIME_UNKNOWN || info.axis.period.numerator == 0)
        return extent;
    extent.is_known = true;
    extent.count = info.dims[axis] + info.n_missing;
    extent.begin = info.axis.instant;
    extent.end = lw_instant_of_sample(extent.begin, info.axis.period, extent.count);
    return extent;
}

static int by_begin(const void *left, const void *right)
{
    const struct extent *const a = left, *const b = right;
    if (a->is_known != b->is_known)
        return a->is_known ? -1 : 1;
    const int begin = a->is_known ? lw_instant_compare(a->begin, b->begin) : 0;
    return begin ? begin : (a->number > b->number) - (a->number < b->number);
}

/* Find the extents of all files. Looker i of n describes files i, i + n, ... */
static int look(struct lw_beside *beside, struct lw_error *err)
{
    const int size = lw_comm_size(beside->comm);
    struct lw_lookers lookers;
    int rc = lw_lookers_find(beside->comm, &lookers, err);
    if (rc)
        return rc;
    const int64_t share = lw_divide_up(beside->n, lookers.n);
    LW_FREED struct extent *const mine = lw_alloc_array(share, sizeof *mine, "the times of files", err);
    LW_FREED struct extent *const all = lw_alloc_array(share * size, sizeof *all, "the times of files", err);
    rc = mine && all ? LW_OK : LW_ESYSTEM;
    if (rc == LW_OK && share * (int64_t)sizeof *mine > INT32_MAX)
        rc = lw_fail(err, LW_ECONFIG, "--each file: there are too many files for %d ranks: take more ranks, or give --isolated",
                     size);
    for (int64_t i = 0; rc == LW_OK && i < share; i++) {
        const int64_t f = i * lookers.n + lookers.mine;
        mine[i] = lookers.mine >= 0 && f < beside->n ? extent_of(beside, f) : (struct extent){.number = -1};
    }
    if ((rc = lw_comm_agree(beside->comm, rc, err)) == LW_OK) {
        lw_comm_gather_all(beside->comm, mine, (int)(share * (int64_t)sizeof *mine), all);
        for (int64_t i = 0; i < share * size; i++)
            if (all[i].number >= 0) {
                beside->order[all[i].number] = all[i];
                beside->n_known += all[i].is_known;
            }
        qsort(beside->order, (size_t)beside->n, sizeof *beside->order, by_begin);
    }
    return rc;
}

int lw_beside_create(struct lw_comm *comm, const struct lw_reader_request *request, const struct lw_names *files,
                     struct lw_beside **out, struct lw_error *err)
{
    struct lw_beside *const beside = *out = lw_alloc(sizeof *beside, "the times of files", err);
    int rc = beside ? LW_OK : LW_ESYSTEM;
    if (beside) {
        *beside = (struct lw_beside){.comm = comm, .request = *request, .n = files->n};
        if (!(beside->names = lw_alloc_array(files->n, sizeof *beside->names, "the names of files", err)) ||
            !(beside->order = lw_alloc_array(files->n, sizeof *beside->order, "the times of files", err)) ||
            !(beside->infos = lw_alloc_array(MOST_BESIDE + 2, sizeof *beside->infos, "the metadata of files", err)) ||
            !(beside->text = lw_alloc(TEXT_BYTES, "the names of files", err)))
            rc = LW_ESYSTEM;
        int64_t f = 0;
        for (const char *name = lw_names_next(files, NULL); rc == LW_OK && name; name = lw_names_next(files, name))
            beside->names[f++] = name;
    }
    rc = lw_comm_agree(comm, rc, err);
    return rc ? rc : look(beside, err);
}

void lw_beside_destroy(struct lw_beside *beside)
{
    if (!beside)
        return;
    lw_free(beside->names);
    lw_free(beside->order);
    lw_free(beside->infos);
    lw_free(beside->text);
    lw_free(beside);
}

/* Join the first n of beside->infos to one axis. Gaps within files are ignored. */
static bool join(const struct lw_beside *beside, int64_t n, struct lw_sequence *sequence)
{
    struct lw_piece pieces[MOST_BESIDE + 2];
    struct lw_infos infos = {0};
    struct lw_error ignored;
    int rc = lw_infos_begin(&infos, &beside->infos[0], &ignored);
    for (int64_t f = 0; f < n && rc == LW_OK; f++) {
        const struct lw_dataset_info *const info = &beside->infos[f];
        pieces[f] = (struct lw_piece){.file = f, .count = info->dims[beside->axis] + info->n_missing,
                                      .instant = info->axis.instant};
        rc = lw_infos_add(&infos, info, &ignored);
    }
    const struct lw_join how = {.infos = &infos, .pieces = pieces, .n_pieces = n, .axis = beside->axis};
    (void)(rc || (rc = lw_infos_index(&infos, n, 1, &ignored)) || (rc = lw_sequence_join(&how, sequence, &ignored)));
    lw_infos_release(&infos);
    return rc == LW_OK;
}

/* Take a file as a neighbour if it makes one axis without a gap with the files so far. @return  whether it was taken */
static bool take(struct lw_beside *beside, int64_t number)
{
    struct lw_sequence sequence;
    const char *const name = beside->names[number];
    if (beside->n_infos > MOST_BESIDE || beside->end + strlen(name) + 2 > beside->text + TEXT_BYTES ||
        describe(&beside->request, name, &beside->infos[beside->n_infos]) != LW_OK || !join(beside, beside->n_infos + 1, &sequence))
        return false;
    const bool is_one = sequence.n_gaps == 0;
    lw_sequence_release(&sequence);
    if (is_one) {
        beside->n_infos++;
        beside->end += sprintf(beside->end, "%s%s", beside->end > beside->text ? " " : "", name);
    }
    return is_one;
}

/* Take neighbours of the file at `at`, in steps of +1 or -1 in time. A file that covers the whole file ends the search. */
static void go(struct lw_beside *beside, int64_t at, int step, int64_t reach)
{
    const struct extent *const file = &beside->order[at];
    int64_t there = 0;
    for (int64_t k = at + step; k >= 0 && k < beside->n_known && there < reach; k += step) {
        const struct extent *const other = &beside->order[k];
        const bool holds = lw_instant_compare(other->begin, file->begin) <= 0 && lw_instant_compare(other->end, file->end) >= 0;
        if (holds || !take(beside, other->number))
            return;
        there += other->count;
    }
}

/* Rank 0 searches for neighbours and broadcasts their names. */
const char *lw_beside_find(struct lw_beside *beside, int64_t number, int64_t reach)
{
    int64_t at = 0;
    beside->text[0] = '\0';
    beside->end = beside->text;
    beside->n_infos = 1;
    while (at < beside->n_known && beside->order[at].number != number)
        at++;
    if (at < beside->n_known && reach > 0 && lw_comm_rank(beside->comm) == 0 &&
        describe(&beside->request, beside->names[number], &beside->infos[0]) == LW_OK) {
        beside->axis = lw_reader_axis(&beside->request, &beside->infos[0]);
        go(beside, at, -1, reach);
        go(beside, at, 1, reach);
    }
    lw_comm_broadcast(beside->comm, beside->text, TEXT_BYTES);
    return beside->text;
}
