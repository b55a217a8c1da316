#include "io/read/describe.h"

#include "base/integers.h"
#include "base/log.h"
#include "base/memory.h"
#include "io/axis.h"
#include "io/examine.h"
#include "io/read/convert.h"
#include "io/shield.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- one file -------------------------------------------------------------------------------------------------------------- */

/* A dataset that was never written may have any dimensions. */
static int check_bytes(const struct lw_dataset_info *info, struct lw_error *err)
{
    int64_t bytes = (int64_t)lw_type_bytes(info->type);
    for (int d = 0; d < info->n_dims; d++)
        if (__builtin_mul_overflow(bytes, info->dims[d], &bytes))
            return lw_fail(err, LW_EDATA, "%s has more bytes than 64 bits can count: its dimension %d has length %" PRId64,
                           lw_dataset_name(info).text, d, info->dims[d]);
    return LW_OK;
}

/* The other ranks may run on nodes that do not share this folder. */
static int check_same_file(const struct lw_dataset_info *info, struct lw_error *err)
{
    struct stat status;
    if (stat(info->file, &status) != 0)
        return lw_fail(err, LW_EIO, "cannot read '%s' here (%s): all ranks need it, on a file system that their nodes share",
                       info->file, strerror(errno));
    if (status.st_size != info->file_bytes)
        return lw_fail(err, LW_EIO, "'%s' has %" PRId64 " bytes here and %" PRId64 " for the rank that looked at it: ranks must "
                       "see one file", info->file, (int64_t)status.st_size, info->file_bytes);
    return LW_OK;
}

int lw_reader_check_unchanged(const struct lw_reader *reader, struct lw_error *err)
{
    for (int64_t f = lw_comm_rank(reader->comm); f < reader->n_files; f += lw_comm_size(reader->comm)) {
        struct lw_dataset_info room;
        const struct lw_dataset_info *const info = lw_infos_get(&reader->infos, f, &room);
        const int rc = lw_dataset_check_unchanged(info, "", err);
        if (rc)
            return rc;
    }
    return LW_OK;
}

/* ---- all files -------------------------------------------------------------------------------------------------------------- */

int lw_lookers_find(struct lw_comm *comm, struct lw_lookers *lookers, struct lw_error *err)
{
    const int size = lw_comm_size(comm);
    const char is_one = lw_shield_is_ready();
    char *const all = lw_alloc((size_t)size, "the ranks that look at files", err);
    *lookers = (struct lw_lookers){.mine = -1};
    const int rc = lw_comm_agree(comm, all ? LW_OK : LW_ESYSTEM, err);
    if (rc == LW_OK)
        lw_comm_gather_all(comm, &is_one, sizeof is_one, all);
    for (int rank = 0; rc == LW_OK && rank < size; rank++) {
        if (rank == lw_comm_rank(comm) && is_one)
            lookers->mine = lookers->n;
        lookers->n += all[rank];
    }
    lw_free(all);
    return rc;
}

static int describe_one(const struct lw_reader *reader, const char *name, struct lw_dataset_info *info, struct lw_error *err)
{
    const int rc = lw_examine_dataset(name, &reader->request.hints, LW_USE_SAMPLES, info, err);
    return rc ? rc : check_bytes(info, err);
}

/* By rank 0, for all: the others are compared with it. */
static int describe_first(const struct lw_reader *reader, const struct lw_names *names, struct lw_infos *mine, struct lw_error *err)
{
    struct lw_dataset_info first;
    int rc = lw_comm_rank(reader->comm) == 0 ? describe_one(reader, lw_names_next(names, NULL), &first, err) : LW_OK;
    if ((rc = lw_comm_agree(reader->comm, rc, err)))
        return rc;
    lw_comm_broadcast(reader->comm, &first, sizeof first);
    return lw_comm_agree(reader->comm, lw_infos_begin(mine, &first, err), err);
}

/* Each looker describes every n-th file. */
static int describe_share(const struct lw_reader *reader, const struct lw_names *names, const struct lw_lookers *lookers,
                          struct lw_infos *mine, struct lw_error *err)
{
    struct lw_dataset_info info;
    int rc = LW_OK;
    int64_t f = 0;
    for (const char *name = lw_names_next(names, NULL); rc == LW_OK && name; name = lw_names_next(names, name), f++)
        if (f == 0 && lookers->mine == 0)
            rc = lw_infos_add(mine, mine->first, err);
        else if (f % lookers->n == lookers->mine && (rc = describe_one(reader, name, &info, err)) == LW_OK)
            rc = lw_infos_add(mine, &info, err);
    return lw_comm_agree(reader->comm, rc, err);
}

static int append(void *context, const void *records, int64_t bytes, struct lw_error *err)
{
    return lw_infos_append(context, records, bytes, err);
}

/* What the lookers have found, to all ranks: by way of rank 0. */
static int share_infos(const struct lw_reader *reader, const struct lw_infos *mine, int64_t n, int64_t n_lookers,
                       struct lw_infos *all, struct lw_error *err)
{
    enum { PART = 1 << 20 };
    struct lw_comm *const comm = reader->comm;
    const bool is_first = lw_comm_rank(comm) == 0;
    char *const part = is_first ? lw_alloc(PART, "the files' metadata", err) : NULL;
    int rc = is_first && !part ? LW_ESYSTEM : lw_infos_begin(all, mine->first, err);
    if ((rc = lw_comm_agree(comm, rc, err)) == LW_OK)
        rc = lw_comm_agree(comm, lw_comm_bring(comm, mine->records, mine->bytes, part, PART, append, all, err), err);
    lw_free(part);
    if (rc)
        return rc;
    int64_t bytes = all->bytes;
    lw_comm_broadcast(comm, &bytes, sizeof bytes);
    if ((rc = lw_comm_agree(comm, is_first ? LW_OK : lw_infos_append(all, NULL, bytes, err), err)))
        return rc;
    lw_comm_broadcast(comm, all->records, bytes);
    return lw_comm_agree(comm, lw_infos_index(all, n, n_lookers, err), err);
}

static int describe_all(struct lw_reader *reader, const struct lw_names *names, struct lw_error *err)
{
    struct lw_lookers lookers;
    struct lw_infos mine = {0}, *const all = &reader->infos;
    struct lw_dataset_info info;
    int rc;
    if ((rc = lw_lookers_find(reader->comm, &lookers, err)) == LW_OK && (rc = describe_first(reader, names, &mine, err)) == LW_OK &&
        (rc = describe_share(reader, names, &lookers, &mine, err)) == LW_OK)
        rc = share_infos(reader, &mine, names->n, lookers.n, all, err);
    lw_infos_release(&mine);
    if (rc)
        return rc;
    reader->n_files = names->n;
    for (int64_t f = 0; rc == LW_OK && f < reader->n_files; f++)
        rc = check_same_file(lw_infos_get(all, f, &info), err);
    return lw_comm_agree(reader->comm, rc, err);
}

/* From rank 0, which has looked for them. */
static int share_names(struct lw_comm *comm, struct lw_names *names, struct lw_error *err)
{
    lw_comm_broadcast(comm, &names->n, sizeof names->n);
    lw_comm_broadcast(comm, &names->bytes, sizeof names->bytes);
    if (lw_comm_rank(comm) != 0)
        names->memory = lw_alloc((size_t)names->bytes, "the names of files", err);
    const int rc = lw_comm_agree(comm, names->memory ? LW_OK : LW_ESYSTEM, err);
    if (rc == LW_OK)
        lw_comm_broadcast(comm, names->memory, names->bytes);
    return rc;
}

int lw_names_find(struct lw_comm *comm, const char *names, struct lw_names *out, struct lw_error *err)
{
    *out = (struct lw_names){0};
    int rc = lw_comm_agree(comm, lw_comm_rank(comm) == 0 ? lw_names_expand(names, out, err) : LW_OK, err);
    if (rc == LW_OK && (rc = share_names(comm, out, err)))
        lw_names_release(out);
    return rc;
}

/* The files beside behind those that are shown. */
static int add_beside(const struct lw_reader *reader, struct lw_names *names, struct lw_error *err)
{
    struct lw_names more;
    int rc = lw_names_find(reader->comm, reader->request.beside, &more, err);
    char *const memory = rc ? NULL : lw_alloc((size_t)(names->bytes + more.bytes), "the names of files", err);
    rc = lw_comm_agree(reader->comm, rc ? rc : memory ? LW_OK : LW_ESYSTEM, err);
    if (rc == LW_OK) {
        memcpy(memory, names->memory, (size_t)names->bytes);
        memcpy(memory + names->bytes, more.memory, (size_t)more.bytes);
        lw_free(names->memory);
        *names = (struct lw_names){.memory = memory, .bytes = names->bytes + more.bytes, .n = names->n + more.n};
    }
    lw_names_release(&more);
    return rc;
}

static int describe_files(struct lw_reader *reader, struct lw_error *err)
{
    struct lw_names names;
    int rc = lw_names_find(reader->comm, reader->request.names, &names, err);
    reader->n_shown = names.n;
    if (rc == LW_OK && reader->request.beside)
        rc = add_beside(reader, &names, err);
    if (rc == LW_OK)
        rc = describe_all(reader, &names, err);
    reader->request.names = reader->request.beside = NULL;
    lw_names_release(&names);
    return rc;
}

/* ---- the axis
 * ------------------------------------------------------------------------------------------------------------------ */

int lw_reader_axis(const struct lw_reader_request *request, const struct lw_dataset_info *info)
{
    const int wanted = request->join;
    return wanted == LW_JOIN_ROWS ? info->n_dims - 2 : wanted >= 0 ? wanted : info->n_dims == 1 ? 0 : info->metadata_axis;
}

/* A single file that is whole any view may take along any of its dimensions: the first stands for it. */
static int find_axis(const struct lw_reader *reader, const struct lw_dataset_info *info, int *axis, struct lw_error *err)
{
    *axis = lw_reader_axis(&reader->request, info);
    if (reader->n_files == 1 && info->n_stretches <= 1)
        *axis = 0;
    if (*axis < 0)
        return lw_fail(err, LW_EUSAGE, "%" PRId64 " files are to be one axis, and the metadata of '%.300s' do not say which of "
                       "its %d dimensions is time: give --axis", reader->n_files, info->file, info->n_dims);
    if (*axis >= info->n_dims)
        return lw_fail(err, LW_EUSAGE, "--axis %d: '%.300s' has %d dimension%s", *axis, info->file, info->n_dims,
                       info->n_dims == 1 ? "" : "s");
    return LW_OK;
}

/* Gaps lie in time, and only an axis may have any. */
static int check_stretches(const struct lw_dataset_info *info, int axis, struct lw_error *err)
{
    if (info->n_stretches <= 1 || axis == info->metadata_axis)
        return LW_OK;
    return lw_fail(err, LW_EDATA,
                   "'%.300s' has gaps in time, and time is not the axis here: name one of its %" PRId64 " stretches without "
                   "gaps, as in %.300s#0",
                   info->file, info->n_stretches, lw_name_of(info->file, info->path[0] ? info->path : "/").text);
}

/* The files as they are joined: without dimensions that are too many. */
static int squeeze(const struct lw_reader *reader, struct lw_infos *squeezed, int *axis, struct lw_error *err)
{
    struct lw_dataset_info info;
    int rc = LW_OK;
    for (int64_t f = 0; rc == LW_OK && f < reader->n_files; f++) {
        lw_infos_get(&reader->infos, f, &info);
        lw_source_squeeze(&info, reader->request.least_dims, reader->request.most_dims, NULL);
        (void)(f > 0 || (rc = lw_infos_begin(squeezed, &info, err)) || (rc = find_axis(reader, &info, axis, err)));
        (void)(rc || (rc = check_stretches(&info, *axis, err)) || (rc = lw_infos_add(squeezed, &info, err)));
    }
    return rc ? rc : lw_infos_index(squeezed, reader->n_files, 1, err);
}

/* From where to where the files that are shown lie on the axis, and what is beside them up to the next gaps. */
static int show(struct lw_reader *reader, const struct lw_infos *infos, int axis, struct lw_error *err)
{
    struct lw_dataset_info info;
    const struct lw_sequence *const sequence = &reader->sequence;
    const struct lw_file_part *first = NULL;
    int64_t begin = 0, end = 0, low = 0, high = sequence->length;
    for (int64_t p = 0; p < sequence->n_parts; p++) {
        const struct lw_file_part *const part = &sequence->parts[p];
        if (part->file >= reader->n_shown)
            continue;
        lw_infos_get(infos, part->file, &info);
        first = first ? first : part;
        begin = first->first - (first->stretch == 0 ? first->skip : 0);
        end = lw_max64(end, info.n_stretches > 1 ? part->first + part->count : part->first - part->skip + info.dims[axis]);
    }
    if (!first)
        return lw_fail(err, LW_EDATA, "--beside: %.600s has no sample that those files do not have, too", lw_infos_file(infos, 0));
    for (int64_t g = 0; g < sequence->n_gaps; g++) {
        const struct lw_gap *const gap = &sequence->gaps[g];
        low = gap->first + gap->count <= begin ? gap->first + gap->count : low;
        high = gap->first >= end ? lw_min64(high, gap->first) : high;
    }
    lw_infos_get(infos, first->file, &reader->info);
    reader->info.dims[axis] = end - begin;
    reader->info.before = begin - low;
    reader->info.after = high - end;
    reader->lead = begin;
    reader->axis = axis;
    return LW_OK;
}

static int join(struct lw_reader *reader, int *axis, struct lw_error *err)
{
    struct lw_infos squeezed = {0};
    struct lw_piece *pieces = NULL;
    struct lw_join how = {.infos = &squeezed, .last_stands = reader->request.overlap == LW_OVERLAP_LAST};
    int rc = lw_comm_agree(reader->comm, squeeze(reader, &squeezed, axis, err), err);
    if (rc == LW_OK && (rc = lw_pieces_find(reader, &squeezed, *axis, &pieces, &how.n_pieces, err)) == LW_OK) {
        how.pieces = pieces;
        how.axis = *axis;
        if ((rc = lw_sequence_join(&how, &reader->sequence, err)) == LW_OK)
            rc = show(reader, &squeezed, *axis, err);
    }
    lw_free(pieces);
    lw_infos_release(&squeezed);
    return rc;
}

/* ---- gaps
 * ------------------------------------------------------------------------------------------------------------------------ */

/* "250 samples (0.5 s) from sample 1000 on, 2023-09-22T18:29:26.158 to ...": as the part behind it tells. */
static void describe_gap(const struct lw_reader *reader, int64_t g, char *text, size_t size)
{
    const struct lw_gap *const gap = &reader->sequence.gaps[g];
    const struct lw_file_part *const next = &reader->sequence.parts[lw_sequence_find(&reader->sequence, gap->first)];
    struct lw_dataset_info info;
    struct lw_axis_metadata behind = lw_infos_get(&reader->infos, next->file, &info)->axis;
    char from[LW_INSTANT_TEXT], to[LW_INSTANT_TEXT];
    behind.instant = next->instant;
    snprintf(text, size, "%" PRId64 " sample%s (%.9g s) from sample %" PRId64 " on, %s to %s", gap->count,
             gap->count == 1 ? "" : "s", (double)gap->count * lw_period_seconds(behind.period), gap->first - reader->lead,
             lw_sampling_time_text(&behind, -gap->count, from), lw_sampling_time_text(&behind, 0, to));
}

static void log_sequence(const struct lw_reader *reader, int axis)
{
    enum { MOST_SHOWN = 10 };
    const struct lw_sequence *const sequence = &reader->sequence;
    const int64_t left = sequence->n_gaps - lw_min64(sequence->n_gaps, MOST_SHOWN);
    char text[256];
    lw_log_info("%" PRId64 " file%s one axis of %" PRId64 " samples, %s, with %" PRId64 " gap%s", reader->n_shown,
                reader->n_shown == 1 ? " is" : "s are", reader->info.dims[axis],
                reader->info.axis.scale == LW_TIME_UNKNOWN ? "in the order of their names" : "by their start times",
                sequence->n_gaps, sequence->n_gaps == 1 ? "" : "s");
    for (int64_t g = 0; g < sequence->n_gaps - left; g++) {
        describe_gap(reader, g, text, sizeof text);
        lw_log_warn("a gap of %s", text);
    }
    if (left > 0)
        lw_log_warn("and %" PRId64 " gaps more", left);
    if (sequence->n_overlaps > 0)
        lw_log_info("%" PRId64 " file%s with samples that an earlier one has%s: those of the %s one stand%s", sequence->n_overlaps,
                    sequence->n_overlaps == 1 ? " begins" : "s begin",
                    reader->request.overlap == LW_OVERLAP_ERROR ? ", and they are the same" : "",
                    reader->request.overlap == LW_OVERLAP_LAST ? "later" : "earlier",
                    sequence->n_left_out > 0 ? "; files without any other are left out" : "");
}

static int check_gaps(const struct lw_reader *reader, struct lw_error *err)
{
    char text[256];
    if (reader->sequence.n_gaps == 0 || reader->request.gaps != LW_GAPS_ERROR)
        return LW_OK;
    describe_gap(reader, 0, text, sizeof text);
    return lw_fail(err, LW_EDATA, "the files leave %" PRId64 " gap%s, the first of %s: --gaps split, nan or zero says what "
                   "becomes of them", reader->sequence.n_gaps, reader->sequence.n_gaps == 1 ? "" : "s", text);
}

/* ---- all of it
 * ------------------------------------------------------------------------------------------------------------------- */

/* The type that samples are shown in, where it is not that they are stored in. @param is_packed  whether those of any file are */
static void choose_type(struct lw_reader *reader, bool is_packed)
{
    struct lw_type *const type = &reader->info.type;
    const bool has_none = reader->sequence.n_gaps > 0 && reader->request.gaps != LW_GAPS_ZERO && lw_scalar_is_integer(type->scalar);
    reader->converts = is_packed || has_none || type->scalar == LW_FLOAT16;
    if (is_packed)
        *type = (struct lw_type){.scalar = reader->request.precision == LW_SINGLE ? LW_FLOAT32 : LW_FLOAT64,
                                 .is_complex = type->is_complex};
    else if (reader->converts)
        *type = lw_convert_type(*type);
}

static void describe_joined(struct lw_reader *reader)
{
    struct lw_dataset_info *const info = &reader->info;
    bool is_packed = false;
    info->n_stretches = 1;
    info->n_missing = 0;
    info->n_files = reader->n_shown;
    info->file_bytes = 0;
    for (int64_t f = 0; f < reader->n_files; f++) {
        struct lw_dataset_info file;
        lw_infos_get(&reader->infos, f, &file);
        is_packed = is_packed || file.packing.is_on;
        if (f >= reader->n_shown)
            continue;
        info->file_bytes += file.file_bytes;
        info->modified_ns = lw_max64(info->modified_ns, file.modified_ns);
    }
    choose_type(reader, is_packed);
}

int lw_describe(struct lw_reader *reader, struct lw_error *err)
{
    int axis = 0, rc = describe_files(reader, err);
    if (rc)
        return rc;
    if ((rc = join(reader, &axis, err)) == LW_OK)
        rc = check_gaps(reader, err);
    if (rc == LW_OK && reader->request.overlap == LW_OVERLAP_ERROR)
        rc = lw_overlaps_compare(reader, axis, err);
    if ((rc = lw_comm_agree(reader->comm, rc, err)))
        return rc;
    describe_joined(reader);
    if (reader->n_shown < reader->n_files)
        lw_log_info("%" PRId64 " samples before and %" PRId64 " behind can be read from files beside", reader->info.before,
                    reader->info.after);
    if ((reader->n_shown > 1 || reader->infos.first->n_stretches > 1) && lw_comm_rank(reader->comm) == 0)
        log_sequence(reader, axis);
    return LW_OK;
}
