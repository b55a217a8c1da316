/* codecs_damage.c - decodes stored chunks as they are, cut and damaged; the worst allowed result is an error.
 *
 *   codecs_damage FILE:/path ...
 *
 * The first and the last chunk of each dataset are decoded whole, cut behind every byte, and with random bytes changed. Each
 * dataset gives a line: its name; "good" or "bad" for whether the whole chunks decode; how many cut chunks decoded; and how many
 * changed chunks gave different samples. The memory that a filter reads first ends with the chunk's last byte, so that reading
 * beyond it crashes. */
#include "base/integers.h"
#include "io/bytes/decode.h"
#include "io/hdf5/library.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { N_CHANGES = 600, MOST_DIMS = 8, FRONT = 20 };

/* ---- memory with an end ----------------------------------------------------------------------------------------------- */

struct guarded {
    char *all, *end;            /* memory from `end` on cannot be read */
    size_t bytes;
};

static struct guarded guard(int64_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), all = ((size_t)bytes / page + 2) * page;
    char *const memory = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory + all - page, page, PROT_NONE) != 0)
        abort();
    return (struct guarded){memory, memory + all - page, all};
}

/* ---- one chunk -------------------------------------------------------------------------------------------------------- */

struct subject {
    struct lw_filters filters;
    struct lw_decoder *decoder;
    struct lw_filter_tools *tools;
    struct guarded from, to;
    char *stored;
    int64_t bytes;
    uint32_t skipped;
    bool is_good;
    int n_cut, n_changed;       /* cut chunks that decoded; changed chunks that decoded to different samples */
};

/* Decode a chunk. NULL: an error. */
static const char *decode(struct subject *s, const char *stored, int64_t bytes)
{
    const char *out;
    struct lw_error err;
    memcpy(lw_decoder_stored(s->decoder), stored, (size_t)bytes);
    return lw_decoder_decode(s->decoder, bytes, s->skipped, &out, &err) == LW_OK ? out : NULL;
}

/* Undo the last filter alone. For long blocks of bitshuffle the output needs as much room as the decoder may need. */
static void undo_last(struct subject *s, const char *stored, int64_t bytes)
{
    const struct lw_filter *const filter = &s->filters.filter[s->filters.n - 1];
    const int64_t room = lw_decoder_room(&s->filters);
    const bool is_long = filter->kind == LW_FILTER_BITSHUFFLE_BLOCKS && filter->block_bytes > 4096;
    struct lw_filtered data = {.data = s->from.end - (is_long ? room : bytes), .spare = s->to.end - room, .bytes = bytes,
                               .room = room};
    struct lw_error err;
    memcpy(data.data, stored, (size_t)bytes);
    lw_filter_claim(filter, data.data, bytes);
    lw_filter_undo(filter, s->tools, &data, &err);
}

/* Change some bytes anywhere, or one of the first bytes, which hold lengths. */
static void change(char *data, int64_t bytes)
{
    const int n = 1 + rand() % 4;
    if (rand() % 2 == 0)
        data[rand() % lw_min64(FRONT, bytes)] = (char)(rand() % 3 - 1);
    else
        for (int i = 0; i < n; i++)
            data[rand() % bytes] ^= (char)(1 + rand() % 255);
}

static void damage_chunk(struct subject *s)
{
    const size_t samples_bytes = (size_t)s->filters.chunk_bytes;
    char *const changed = malloc((size_t)s->bytes), *const samples = malloc(samples_bytes);
    const char *out = decode(s, s->stored, s->bytes);
    s->is_good = s->is_good && out;
    if (out)
        memcpy(samples, out, samples_bytes);
    for (int64_t cut = 0; cut < s->bytes; cut++) {
        s->n_cut += decode(s, s->stored, cut) != NULL;
        undo_last(s, s->stored, cut);
    }
    for (int i = 0; i < N_CHANGES; i++) {
        memcpy(changed, s->stored, (size_t)s->bytes);
        change(changed, s->bytes);
        out = decode(s, changed, s->bytes);
        s->n_changed += out && memcmp(out, samples, samples_bytes) != 0;
        undo_last(s, changed, s->bytes);
    }
    free(changed);
    free(samples);
}

static bool read_chunk(struct subject *s, hid_t dataset, hsize_t number)
{
    hsize_t at[MOST_DIMS], size;
    const hid_t space = H5Dget_space(dataset);
    const bool is_there = H5Dget_chunk_info(dataset, space, number, at, &s->skipped, NULL, &size) >= 0;
    H5Sclose(space);
    s->bytes = (int64_t)size;
    if (!is_there || s->bytes > lw_decoder_room(&s->filters) || !(s->stored = malloc(size)))
        return false;
    return H5Dread_chunk(dataset, H5P_DEFAULT, at, &s->skipped, s->stored) >= 0;
}

static void damage_chunks(struct subject *s, hid_t dataset)
{
    hsize_t n = 0;
    const hid_t space = H5Dget_space(dataset);
    H5Dget_num_chunks(dataset, space, &n);
    H5Sclose(space);
    s->is_good = n > 0;
    for (hsize_t i = 0; i < n; i += n > 1 ? n - 1 : 1) {
        if (read_chunk(s, dataset, i))
            damage_chunk(s);
        else
            s->is_good = false;
        free(s->stored);
        s->stored = NULL;
    }
}

/* ---- one dataset ------------------------------------------------------------------------------------------------------ */

static int64_t chunk_bytes(hid_t dataset, hid_t creation)
{
    hsize_t chunk[MOST_DIMS];
    const hid_t type = H5Dget_type(dataset);
    int64_t bytes = (int64_t)H5Tget_size(type);
    H5Tclose(type);
    const int n_dims = H5Pget_chunk(creation, MOST_DIMS, chunk);
    for (int d = 0; d < n_dims; d++)
        bytes *= (int64_t)chunk[d];
    return bytes;
}

static void damage(hid_t dataset, const char *name)
{
    struct subject s = {0};
    struct lw_error err;
    const hid_t creation = H5Dget_create_plist(dataset);
    s.filters.chunk_bytes = chunk_bytes(dataset, creation);
    if (lw_hdf5_filters_take(creation, &s.filters) && lw_decoder_create(&s.filters, &s.decoder, &err) == LW_OK &&
        lw_filter_tools_create(s.filters.filter, s.filters.n, &s.tools, &err) == LW_OK) {
        s.from = guard(lw_decoder_room(&s.filters));
        s.to = guard(lw_decoder_room(&s.filters));
        damage_chunks(&s, dataset);
        munmap(s.from.all, s.from.bytes);
        munmap(s.to.all, s.to.bytes);
    }
    printf("%s|%s|%d|%d\n", name, s.is_good ? "good" : "bad", s.n_cut, s.n_changed);
    lw_filter_tools_destroy(s.tools);
    lw_decoder_destroy(s.decoder);
    H5Pclose(creation);
}

int main(int argc, char **argv)
{
    int rc = argc < 2;
    lw_hdf5_start();
    for (int i = 1; i < argc; i++) {
        char *const path = strstr(argv[i], ":/");
        const hid_t file = path ? H5Fopen((*path = '\0', argv[i]), H5F_ACC_RDONLY, H5P_DEFAULT) : -1;
        const hid_t dataset = file >= 0 ? H5Dopen2(file, path + 1, H5P_DEFAULT) : -1;
        if (dataset >= 0) {
            damage(dataset, path + 1);
            H5Dclose(dataset);
        } else {
            rc = 1;
        }
        H5Fclose(file);
    }
    return rc;
}
