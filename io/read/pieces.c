/* pieces.c - what files hold without a gap: each file, or each of the stretches that it is made of. */
#include "io/read/describe.h"

#include "base/integers.h"
#include "base/memory.h"

#include <inttypes.h>
#include <string.h>

static bool is_whole(const struct lw_dataset_info *info) { return info->n_stretches <= 1; }

static int64_t count_pieces(const struct lw_dataset_info *info) { return is_whole(info) ? 1 : info->n_stretches; }

/* Of a file with several, which this rank looks at. */
static int find_own(const struct lw_dataset_info *info, int64_t file, struct lw_piece *pieces, struct lw_error *err)
{
    const struct lw_format *format;
    struct lw_file_stretch *stretches = NULL;
    int rc = lw_formats_find(info->file, &info->hints, &format, err);
    if (rc || (rc = format->find_stretches(info, &stretches, err)))
        return rc;
    for (int64_t s = 0; s < info->n_stretches; s++)
        pieces[s] = (struct lw_piece){file, s, stretches[s].first, stretches[s].count, stretches[s].instant};
    lw_free(stretches);
    return LW_OK;
}

/* Pieces of files that are whole, and those of every size-th of the others. */
static int find_share(const struct lw_reader *reader, const struct lw_infos *infos, int axis, struct lw_piece *pieces,
                      struct lw_error *err)
{
    const int size = lw_comm_size(reader->comm), rank = lw_comm_rank(reader->comm);
    int64_t n_broken = 0;
    int rc = LW_OK;
    for (int64_t f = 0; f < reader->n_files && rc == LW_OK; f++) {
        struct lw_dataset_info info, shown;
        lw_infos_get(&reader->infos, f, &info);
        if (is_whole(&info))
            *pieces = (struct lw_piece){f, 0, 0, lw_infos_get(infos, f, &shown)->dims[axis], info.axis.instant};
        else if (n_broken++ % size == rank)
            rc = find_own(&info, f, pieces, err);
        pieces += count_pieces(&info);
    }
    return rc;
}

/* One rank has looked at each file with several pieces: the others' are all zero. */
static int share_pieces(const struct lw_reader *reader, struct lw_piece *pieces, struct lw_error *err)
{
    const int size = lw_comm_size(reader->comm);
    int64_t most = 1, n_broken = 0;
    struct lw_dataset_info info;
    for (int64_t f = 0; f < reader->n_files; f++)
        most = lw_max64(most, count_pieces(lw_infos_get(&reader->infos, f, &info)));
    const bool is_too_much = most > INT32_MAX / (int64_t)sizeof *pieces;
    struct lw_piece *const all = is_too_much ? NULL : lw_alloc_array(most * size, sizeof *all, "the stretches of files", err);
    int rc = is_too_much ? lw_fail(err, LW_EDATA, "a file with %" PRId64 " gaps has more than can be read", most - 1)
             : all       ? LW_OK
                         : LW_ESYSTEM;
    rc = lw_comm_agree(reader->comm, rc, err);
    for (int64_t f = 0, n; f < reader->n_files && rc == LW_OK; pieces += n, f++) {
        n = count_pieces(lw_infos_get(&reader->infos, f, &info));
        if (is_whole(&info))
            continue;
        lw_comm_gather_all(reader->comm, pieces, (int)(n * (int64_t)sizeof *pieces), all);
        memcpy(pieces, all + n_broken++ % size * n, (size_t)n * sizeof *pieces);
    }
    lw_free(all);
    return rc;
}

int lw_pieces_find(const struct lw_reader *reader, const struct lw_infos *infos, int axis, struct lw_piece **out, int64_t *n,
                   struct lw_error *err)
{
    struct lw_dataset_info info;
    *n = 0;
    for (int64_t f = 0; f < reader->n_files; f++)
        *n += count_pieces(lw_infos_get(&reader->infos, f, &info));
    struct lw_piece *const pieces = lw_alloc_array(*n, sizeof *pieces, "the stretches of files", err);
    int rc = pieces ? find_share(reader, infos, axis, pieces, err) : LW_ESYSTEM;
    if ((rc = lw_comm_agree(reader->comm, rc, err)) == LW_OK && *n > reader->n_files)
        rc = share_pieces(reader, pieces, err);
    if (rc)
        lw_free(pieces);
    else
        *out = pieces;
    return rc;
}
