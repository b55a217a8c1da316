#include "io/read/stretches.h"

#include "base/memory.h"
#include "io/examine.h"
#include "io/read/describe.h"
#include "options/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Texts under collection: the last one grows. */
struct collector {
    struct lw_names *out;
    size_t room;                /* of out->memory */
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

/* ---- how large they are ---------------------------------------------------------------------------------------------------- */

static int open_bytes(int64_t n, double **bytes, struct lw_error *err)
{
    *bytes = lw_alloc_array(n, sizeof **bytes, "the sizes of inputs", err);
    for (int64_t i = 0; *bytes && i < n; i++)
        (*bytes)[i] = 0;
    return *bytes ? LW_OK : LW_ESYSTEM;
}

/* Bytes of one sample of the axis. */
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
    struct lw_error ignored;
    char name[2 * LW_MAX_PATH + 2];
    if (!lw_words_take(word, name, sizeof name) ||
        lw_examine_dataset(name, &request->hints, LW_USE_SAMPLES, &info, &ignored) != LW_OK)
        return 0;
    lw_source_squeeze(&info, request->least_dims, request->most_dims, NULL);
    const int axis = lw_reader_axis(request, &info);
    const bool is_known = axis >= 0 && axis < info.n_dims;
    return width_of(&info, is_known ? axis : -1) * (is_known ? (double)(info.dims[axis] + info.n_missing) : 1);
}

/* Each looker looks at every n-th file. */
static int measure_files(struct lw_comm *comm, const struct lw_reader_request *request, const struct lw_names *names, double *bytes,
                         struct lw_error *err)
{
    struct lw_lookers lookers;
    const int rc = lw_lookers_find(comm, &lookers, err);
    if (rc)
        return rc;
    int64_t f = 0;
    for (const char *name = lw_names_next(names, NULL); name; name = lw_names_next(names, name), f++)
        if (f % lookers.n == lookers.mine)
            bytes[f] = bytes_of_file(request, name);
    lw_comm_collect(comm, bytes, names->n, 0);
    lw_comm_broadcast(comm, bytes, names->n * (int64_t)sizeof *bytes);
    return LW_OK;
}

/* ---- each file ------------------------------------------------------------------------------------------------------------- */

static int find_files(struct lw_comm *comm, const struct lw_reader_request *request, struct collector *c, double **bytes,
                      struct lw_error *err)
{
    struct lw_names names = {0};
    int rc = lw_names_find(comm, request->names, &names, err);
    for (const char *name = lw_names_next(&names, NULL); rc == LW_OK && name; name = lw_names_next(&names, name))
        rc = add_text(c, name, true, err);
    lw_names_release(&names);
    if (rc == LW_OK && bytes)
        rc = open_bytes(c->out->n, bytes, err);
    rc = lw_comm_agree(comm, rc, err);
    return rc || !bytes ? rc : measure_files(comm, request, c->out, *bytes, err);
}

/* ---- each stretch ------------------------------------------------------------------------------------------------------------ */

static bool begins_behind_gap(const struct lw_sequence *sequence, int64_t part)
{
    return part == 0 || sequence->parts[part].first != sequence->parts[part - 1].first + sequence->parts[part - 1].count;
}

/* A piece that others cut in two has several parts. */
static bool is_first_of_piece(const struct lw_sequence *sequence, int64_t part)
{
    const struct lw_file_part *const parts = sequence->parts;
    const int64_t begin = parts[part].first - parts[part].skip;
    for (int64_t p = part - 1; p >= 0 && parts[p].first >= begin; p--)
        if (parts[p].file == parts[part].file && parts[p].stretch == parts[part].stretch)
            return false;
    return true;
}

/* Of a file with several stretches, with the number of one. */
static struct lw_name name_piece(const struct lw_dataset_info *file, int64_t stretch)
{
    struct lw_name name = lw_name_of(file->file, file->path[0] || file->n_stretches <= 1 ? file->path : "/");
    const size_t used = strlen(name.text);
    if (file->n_stretches > 1)
        snprintf(name.text + used, sizeof name.text - used, "#%" PRId64, stretch);
    return name;
}

static int find_stretches(struct lw_comm *comm, const struct lw_reader_request *request, struct collector *c, double **bytes,
                          struct lw_error *err)
{
    struct lw_reader *reader;
    int rc = lw_reader_describe(comm, request, &reader, err);
    if (rc)
        return rc;
    if (bytes)
        rc = open_bytes(reader->sequence.n_gaps + 1, bytes, err);
    for (int64_t p = 0; rc == LW_OK && p < reader->sequence.n_parts; p++) {
        struct lw_dataset_info file;
        lw_infos_get(&reader->infos, reader->sequence.parts[p].file, &file);
        if (is_first_of_piece(&reader->sequence, p))
            rc = add_text(c, name_piece(&file, reader->sequence.parts[p].stretch).text, begins_behind_gap(&reader->sequence, p),
                          err);
        lw_source_squeeze(&file, request->least_dims, request->most_dims, NULL);
        if (rc == LW_OK && bytes)
            (*bytes)[c->out->n - 1] += width_of(&file, reader->axis) * (double)reader->sequence.parts[p].count;
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
