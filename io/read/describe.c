#include "io/read/state.h"

#include "base/integers.h"
#include "base/log.h"
#include "base/memory.h"
#include "io/read/convert.h"
#include "io/shield.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

/* Check that this node sees the file that a looker has described: ranks may run on nodes that do not share its folder. */
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
        struct lw_dataset_info info;
        const int rc = lw_dataset_check_unchanged(lw_infos_get(&reader->infos, f, &info), "", err);
        if (rc)
            return rc;
    }
    return LW_OK;
}

/* ---- files ---------------------------------------------------------------------------------------------------------------- */

int lw_lookers_find(struct lw_comm *comm, struct lw_lookers *lookers, struct lw_error *err)
{
    const int size = lw_comm_size(comm);
    const char is_one = lw_shield_is_ready() || lw_comm_rank(comm) == 0;
    LW_FREED char *const all = lw_alloc((size_t)size, "the ranks that look at files", err);
    *lookers = (struct lw_lookers){.mine = -1};
    const int rc = lw_comm_agree(comm, all ? LW_OK : LW_ESYSTEM, err);
    if (rc == LW_OK)
        lw_comm_gather_all(comm, &is_one, sizeof is_one, all);
    for (int rank = 0; rc == LW_OK && rank < size; rank++) {
        if (rank == lw_comm_rank(comm) && is_one)
            lookers->mine = lookers->n;
        lookers->n += all[rank];
    }
    return rc;
}

/* Describe one file. A dataset that was never written may claim any dimensions, so its size may overflow. */
static int describe_one(const struct lw_reader *reader, const char *name, struct lw_dataset_info *info, struct lw_error *err)
{
    const int rc = lw_examine_dataset(name, &reader->request.hints, LW_USE_SAMPLES, info, err);
    if (rc)
        return rc;
    int64_t bytes = (int64_t)lw_type_bytes(info->type);
    for (int d = 0; d < info->n_dims; d++)
        if (__builtin_mul_overflow(bytes, info->dims[d], &bytes))
            return lw_fail(err, LW_EDATA, "%s has more bytes than 64 bits can count: its dimension %d has length %" PRId64,
                           lw_dataset_name(info).text, d, info->dims[d]);
    return LW_OK;
}

/* Describe this rank's share: looker i of n describes files i, i + n, ... */
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

/* Give the lookers' records to all ranks, by way of rank 0. */
static int share_infos(const struct lw_reader *reader, const struct lw_infos *mine, int64_t n, int64_t n_lookers,
                       struct lw_infos *all, struct lw_error *err)
{
    enum { PART = 1 << 20 };
    struct lw_comm *const comm = reader->comm;
    const bool is_first = lw_comm_rank(comm) == 0;
    LW_FREED char *const part = is_first ? lw_alloc(PART, "the files' metadata", err) : NULL;
    int rc = is_first && !part ? LW_ESYSTEM : lw_infos_begin(all, mine->first, err);
    if ((rc = lw_comm_agree(comm, rc, err)) == LW_OK)
        rc = lw_comm_agree(comm, lw_comm_bring(comm, mine->records, mine->bytes, part, PART, append, all, err), err);
    if (rc)
        return rc;
    int64_t bytes = all->bytes;
    lw_comm_broadcast(comm, &bytes, sizeof bytes);
    if ((rc = lw_comm_agree(comm, is_first ? LW_OK : lw_infos_append(all, NULL, bytes, err), err)))
        return rc;
    lw_comm_broadcast(comm, all->records, bytes);
    return lw_comm_agree(comm, lw_infos_index(all, n, n_lookers, err), err);
}

/* Rank 0 describes the first file before all others, because their records are differences from its description. */
static int describe_all(struct lw_reader *reader, const struct lw_names *names, struct lw_error *err)
{
    struct lw_comm *const comm = reader->comm;
    struct lw_lookers lookers;
    struct lw_infos mine = {0};
    struct lw_dataset_info info;
    int rc = lw_lookers_find(comm, &lookers, err);
    if (rc)
        return rc;
    rc = lw_comm_rank(comm) == 0 ? describe_one(reader, lw_names_next(names, NULL), &info, err) : LW_OK;
    if ((rc = lw_comm_agree(comm, rc, err)))
        return rc;
    lw_comm_broadcast(comm, &info, sizeof info);
    (void)((rc = lw_comm_agree(comm, lw_infos_begin(&mine, &info, err), err)) ||
           (rc = describe_share(reader, names, &lookers, &mine, err)) ||
           (rc = share_infos(reader, &mine, names->n, lookers.n, &reader->infos, err)));
    lw_infos_release(&mine);
    if (rc)
        return rc;
    reader->n_files = names->n;
    /* The ranks of a node see the same files, and share the checks. */
    for (int64_t f = lw_comm_node_rank(comm); rc == LW_OK && f < reader->n_files; f += lw_comm_node_size(comm))
        rc = check_same_file(lw_infos_get(&reader->infos, f, &info), err);
    return lw_comm_agree(comm, rc, err);
}

int lw_names_find(struct lw_comm *comm, const char *names, struct lw_names *out, struct lw_error *err)
{
    const bool is_first = lw_comm_rank(comm) == 0;
    *out = (struct lw_names){0};
    int rc = lw_comm_agree(comm, is_first ? lw_names_expand(names, out, err) : LW_OK, err);
    if (rc)
        return rc;
    lw_comm_broadcast(comm, &out->n, sizeof out->n);
    lw_comm_broadcast(comm, &out->bytes, sizeof out->bytes);
    if (!is_first)
        out->memory = lw_alloc((size_t)out->bytes, "the names of files", err);
    if ((rc = lw_comm_agree(comm, out->memory ? LW_OK : LW_ESYSTEM, err)))
        lw_names_release(out);
    else
        lw_comm_broadcast(comm, out->memory, out->bytes);
    return rc;
}

/* Append the names of the files beside to the names of the files shown. */
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

/* ---- pieces (sequence.h) ---------------------------------------------- */

static int64_t count_pieces(const struct lw_dataset_info *info) { return lw_max64(1, info->n_stretches); }

/* Read the stretches of a file with several, and make each a piece. */
static int find_own(const struct lw_dataset_info *info, int64_t file, struct lw_piece *pieces, struct lw_error *err)
{
    const struct lw_format *format;
    LW_FREED struct lw_file_stretch *stretches = NULL;
    int rc = lw_formats_find(info->file, &info->hints, &format, err);
    if (rc || (rc = format->find_stretches(info, &stretches, err)))
        return rc;
    for (int64_t s = 0; s < info->n_stretches; s++)
        pieces[s] = (struct lw_piece){file, s, stretches[s].first, stretches[s].count, stretches[s].instant};
    return LW_OK;
}

/* Find the pieces of all files without gaps, and of this rank's share of the files with several pieces. */
static int find_share(const struct lw_reader *reader, const struct lw_infos *infos, struct lw_piece *pieces, struct lw_error *err)
{
    const int size = lw_comm_size(reader->comm), rank = lw_comm_rank(reader->comm);
    int64_t n_broken = 0;
    int rc = LW_OK;
    for (int64_t f = 0; f < reader->n_files && rc == LW_OK; f++) {
        struct lw_dataset_info info, shown;
        lw_infos_get(&reader->infos, f, &info);
        if (count_pieces(&info) == 1)
            *pieces = (struct lw_piece){f, 0, 0, lw_infos_get(infos, f, &shown)->dims[reader->axis], info.axis.instant};
        else if (n_broken++ % size == rank)
            rc = find_own(&info, f, pieces, err);
        pieces += count_pieces(&info);
    }
    return rc;
}

/* Give all ranks the pieces of files with several, each of which one rank has read. @param most  most pieces of a file */
static int share_pieces(const struct lw_reader *reader, int64_t most, struct lw_piece *pieces, struct lw_error *err)
{
    const int size = lw_comm_size(reader->comm);
    int64_t n_broken = 0;
    struct lw_dataset_info info;
    const bool is_too_much = most > INT32_MAX / (int64_t)sizeof *pieces;
    LW_FREED struct lw_piece *const all =
        is_too_much ? NULL : lw_alloc_array(most * size, sizeof *all, "the stretches of files", err);
    int rc = is_too_much ? lw_fail(err, LW_EDATA, "a file has %" PRId64 " gaps, too many to read", most - 1)
             : all       ? LW_OK
                         : LW_ESYSTEM;
    rc = lw_comm_agree(reader->comm, rc, err);
    for (int64_t f = 0, n; f < reader->n_files && rc == LW_OK; pieces += n, f++) {
        n = count_pieces(lw_infos_get(&reader->infos, f, &info));
        if (n == 1)
            continue;
        lw_comm_gather_all(reader->comm, pieces, (int)(n * (int64_t)sizeof *pieces), all);
        memcpy(pieces, all + n_broken++ % size * n, (size_t)n * sizeof *pieces);
    }
    return rc;
}

/* Find the pieces of the reader's files, in the order of files and samples. The ranks share the files with several pieces.
 * Collective. @param infos  descriptions as the reader shows them @param out  to be released with lw_free */
static int find_pieces(const struct lw_reader *reader, const struct lw_infos *infos, struct lw_piece **out, int64_t *n,
                       struct lw_error *err)
{
    struct lw_dataset_info info;
    int64_t most = 1;           /* most pieces of a file */
    *n = 0;
    for (int64_t f = 0; f < reader->n_files; f++) {
        const int64_t its = count_pieces(lw_infos_get(&reader->infos, f, &info));
        most = lw_max64(most, its);
        *n += its;
    }
    struct lw_piece *const pieces = lw_alloc_array(*n, sizeof *pieces, "the stretches of files", err);
    int rc = pieces ? find_share(reader, infos, pieces, err) : LW_ESYSTEM;
    if ((rc = lw_comm_agree(reader->comm, rc, err)) == LW_OK && *n > reader->n_files)
        rc = share_pieces(reader, most, pieces, err);
    if (rc)
        lw_free(pieces);
    else
        *out = pieces;
    return rc;
}

/* ---- the axis ------------------------------------------------------------------------------------------------------------- */

int lw_reader_axis(const struct lw_reader_request *request, const struct lw_dataset_info *info)
{
    const int wanted = request->join;
    return wanted == LW_JOIN_ROWS ? info->n_dims - 2 : wanted >= 0 ? wanted : info->n_dims == 1 ? 0 : info->metadata_axis;
}

/* A view of a single file without gaps may take any dimension as its axis; until a view is selected, dimension 0 stands in. */
static int find_axis(const struct lw_reader *reader, const struct lw_dataset_info *info, int *axis, struct lw_error *err)
{
    *axis = lw_reader_axis(&reader->request, info);
    if (reader->n_files == 1 && info->n_stretches <= 1)
        *axis = 0;
    if (*axis < 0)
        return lw_fail(err, LW_EUSAGE, "%" PRId64 " files are to be joined in time, but the metadata of '%.300s' do not name "
                       "the time among its %d dimensions: give --axis", reader->n_files, info->file, info->n_dims);
    if (*axis >= info->n_dims)
        return lw_fail(err, LW_EUSAGE, "--axis %d: '%.300s' has %d dimension%s", *axis, info->file, info->n_dims,
                       info->n_dims == 1 ? "" : "s");
    return LW_OK;
}

/* Make the descriptions for joining: without surplus dimensions. Gaps lie in time, so only an axis that is time may have any. */
static int squeeze(struct lw_reader *reader, struct lw_infos *squeezed, struct lw_error *err)
{
    struct lw_dataset_info info;
    int rc = LW_OK;
    for (int64_t f = 0; rc == LW_OK && f < reader->n_files; f++) {
        lw_infos_get(&reader->infos, f, &info);
        lw_source_squeeze(&info, reader->request.least_dims, reader->request.most_dims, NULL);
        (void)(f > 0 || (rc = lw_infos_begin(squeezed, &info, err)) || (rc = find_axis(reader, &info, &reader->axis, err)));
        if (rc == LW_OK && info.n_stretches > 1 && reader->axis != info.metadata_axis)
            rc = lw_fail(err, LW_EDATA,
                         "'%.300s' has gaps in time, and time is not the axis here: name one of its %" PRId64 " stretches without "
                         "gaps, as in %.300s#0",
                         info.file, info.n_stretches, lw_name_of(info.file, info.path[0] ? info.path : "/").text);
        if (rc == LW_OK)
            rc = lw_infos_add(squeezed, &info, err);
    }
    return rc ? rc : lw_infos_index(squeezed, reader->n_files, 1, err);
}

/* Find where the shown files lie on the axis, and how many samples lie beside them up to the next gaps. */
static int show(struct lw_reader *reader, const struct lw_infos *infos, struct lw_error *err)
{
    const int axis = reader->axis;
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
        return lw_fail(err, LW_EDATA, "--beside: those files already have every sample of %.600s", lw_infos_file(infos, 0));
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
    return LW_OK;
}

static int join(struct lw_reader *reader, struct lw_error *err)
{
    struct lw_infos squeezed = {0};
    LW_FREED struct lw_piece *pieces = NULL;
    struct lw_join how = {.infos = &squeezed, .last_stands = reader->request.overlap == LW_OVERLAP_LAST};
    int rc = lw_comm_agree(reader->comm, squeeze(reader, &squeezed, err), err);
    if (rc == LW_OK && (rc = find_pieces(reader, &squeezed, &pieces, &how.n_pieces, err)) == LW_OK) {
        how.pieces = pieces;
        how.axis = reader->axis;
        if ((rc = lw_sequence_join(&how, &reader->sequence, err)) == LW_OK)
            rc = show(reader, &squeezed, err);
    }
    lw_infos_release(&squeezed);
    return rc;
}

/* ---- gaps ----------------------------------------------------------------------------------------------------------------- */

/* Write "250 samples (0.5 s) from sample 1000 on, 2023-09-22T18:29:26.158 to ...", by the times of the part behind the gap. */
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

static void log_sequence(const struct lw_reader *reader)
{
    enum { MOST_SHOWN = 10 };
    const struct lw_sequence *const sequence = &reader->sequence;
    const int64_t left = sequence->n_gaps - lw_min64(sequence->n_gaps, MOST_SHOWN);
    char text[256];
    lw_log_info("%" PRId64 " file%s one axis of %" PRId64 " samples, %s, with %" PRId64 " gap%s", reader->n_shown,
                reader->n_shown == 1 ? " is" : "s are", reader->info.dims[reader->axis],
                reader->info.axis.scale == LW_TIME_UNKNOWN ? "in the order of their names" : "by their start times",
                sequence->n_gaps, sequence->n_gaps == 1 ? "" : "s");
    for (int64_t g = 0; g < sequence->n_gaps - left; g++) {
        describe_gap(reader, g, text, sizeof text);
        lw_log_warn("a gap of %s", text);
    }
    if (left > 0)
        lw_log_warn("and %" PRId64 " more gaps", left);
    if (sequence->n_overlaps > 0)
        lw_log_info("%" PRId64 " file%s with samples that an earlier one has%s: those of the %s one stand%s", sequence->n_overlaps,
                    sequence->n_overlaps == 1 ? " begins" : "s begin",
                    reader->request.overlap == LW_OVERLAP_ERROR ? ", and they are the same" : "",
                    reader->request.overlap == LW_OVERLAP_LAST ? "later" : "earlier",
                    sequence->n_left_out > 0 ? "; files without samples of their own are left out" : "");
}

/* ---- all of it ------------------------------------------------------------------------------------------------------------ */

/* Complete the description of all files together, and choose the type of the samples that are shown. */
static void describe_joined(struct lw_reader *reader)
{
    struct lw_dataset_info *const info = &reader->info;
    struct lw_type *const type = &info->type;
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
    const bool has_none = reader->sequence.n_gaps > 0 && reader->request.gaps != LW_GAPS_ZERO && lw_scalar_is_integer(type->scalar);
    reader->converts = is_packed || has_none || type->scalar == LW_FLOAT16;
    if (is_packed)
        *type = (struct lw_type){.scalar = lw_computed_scalar(reader->request.precision),
                                 .is_complex = type->is_complex};
    else if (reader->converts)
        *type = lw_convert_type(*type);
}

int lw_describe(struct lw_reader *reader, struct lw_error *err)
{
    struct lw_names names;
    char text[256];
    int rc = lw_names_find(reader->comm, reader->request.names, &names, err);
    reader->n_shown = names.n;
    if (rc == LW_OK && reader->request.beside)
        rc = add_beside(reader, &names, err);
    if (rc == LW_OK)
        rc = describe_all(reader, &names, err);
    reader->request.names = reader->request.beside = NULL;
    lw_names_release(&names);
    if (rc)
        return rc;
    rc = join(reader, err);
    if (rc == LW_OK && reader->sequence.n_gaps > 0 && reader->request.gaps == LW_GAPS_ERROR) {
        describe_gap(reader, 0, text, sizeof text);
        rc = lw_fail(err, LW_EDATA, "the files leave %" PRId64 " gap%s, the first of %s: choose --gaps split "
                     "or zero", reader->sequence.n_gaps, reader->sequence.n_gaps == 1 ? "" : "s", text);
    }
    if (rc == LW_OK && reader->request.overlap == LW_OVERLAP_ERROR)
        rc = lw_overlaps_compare(reader, err);
    if ((rc = lw_comm_agree(reader->comm, rc, err)))
        return rc;
    describe_joined(reader);
    if (reader->n_shown < reader->n_files)
        lw_log_info("%" PRId64 " samples before and %" PRId64 " behind can be read from files beside", reader->info.before,
                    reader->info.after);
    if ((reader->n_shown > 1 || reader->infos.first->n_stretches > 1) && lw_comm_rank(reader->comm) == 0)
        log_sequence(reader);
    return LW_OK;
}
