#include "io/stretches.h"

#include "base/memory.h"
#include "base/words.h"
#include "io/read/describe.h"

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

/* ---- each file ------------------------------------------------------------------------------------------------------------- */

static int find_files(struct lw_comm *comm, const struct lw_reader_request *request, struct collector *c, struct lw_error *err)
{
    struct lw_names names = {0};
    int rc = lw_names_find(comm, request->names, &names, err);
    for (const char *name = lw_names_next(&names, NULL); rc == LW_OK && name; name = lw_names_next(&names, name))
        rc = add_text(c, name, true, err);
    lw_names_release(&names);
    return lw_comm_agree(comm, rc, err);
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

static int find_stretches(struct lw_comm *comm, const struct lw_reader_request *request, struct collector *c, struct lw_error *err)
{
    struct lw_reader reader = {.comm = comm, .request = *request};
    int rc = lw_reader_describe(&reader, err);
    for (int64_t p = 0; rc == LW_OK && p < reader.sequence.n_parts; p++) {
        struct lw_dataset_info file;
        lw_infos_get(&reader.infos, reader.sequence.parts[p].file, &file);
        if (is_first_of_piece(&reader.sequence, p))
            rc = add_text(c, name_piece(&file, reader.sequence.parts[p].stretch).text, begins_behind_gap(&reader.sequence, p), err);
    }
    lw_reader_forget(&reader);
    return lw_comm_agree(comm, rc, err);
}

int lw_stretches_find(struct lw_comm *comm, const struct lw_reader_request *request, enum lw_each each, struct lw_names *out,
                      struct lw_error *err)
{
    struct collector c = {.out = out};
    *out = (struct lw_names){0};
    const int rc = (each == LW_EACH_FILE ? find_files : find_stretches)(comm, request, &c, err);
    if (rc)
        lw_names_release(out);
    return rc;
}
