/* test_collective.c - tests of collective writes through aggregators, on a pretended Lustre. The result has the same bytes as
 * without them; as many ranks write as the hints allow; no two ranks write one stripe; datasets begin with a stripe. On a file
 * system without stripes, and where a write has large gaps, each rank writes its own part, so that two ranks do write one stripe.
 *
 * The calls of pwrite are counted by taking its place. */
#include "io/write/writer.h"
#include "io_test.h"
#include "pretend.h"

#include <sys/syscall.h>

enum { STRIPE = 4 << 20, N_STRIPES = 16, CHANNELS = 3, LENGTH = 2500000 };

struct kind {
    int rounds;                 /* two rounds leave gaps of half a row, which are small; four leave larger ones */
    int64_t stripe;             /* pretended; 0: unknown */
    int asked, writers;         /* aggregators that MPI is asked for; 0: none. Ranks that write */
    bool shares;                /* two ranks write one stripe */
};

static bool is_counting;
static unsigned char wrote[N_STRIPES];      /* whether this rank wrote to a stripe */

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
    const int64_t end = (offset + (int64_t)bytes + STRIPE - 1) / STRIPE;
    for (int64_t s = offset / STRIPE; is_counting && s < end && s < N_STRIPES; s++)
        wrote[s] = 1;
    return syscall(SYS_pwrite64, fd, data, bytes, offset);
}

/* Write float32 [CHANNELS x LENGTH] in rounds of one slice a rank. Slices end between stripes. */
static void write_all(struct lw_comm *comm, struct lw_writer *writer, const struct kind *kind,
                      int64_t *most_writers, int64_t *n_writers)
{
    const int64_t size = lw_comm_size(comm), slice = LENGTH / kind->rounds / size;
    float *const data = malloc((size_t)(CHANNELS * slice) * sizeof *data);
    struct lw_error err = {0};
    bool writes = false;
    for (int64_t round = 0; round < kind->rounds; round++) {
        const int64_t first[2] = {0, (round * size + lw_comm_rank(comm)) * slice}, count[2] = {CHANNELS, slice};
        for (int64_t i = 0; i < CHANNELS * slice; i++)
            data[i] = (float)((i / slice) * LENGTH + first[1] + i % slice);
        memset(wrote, 0, sizeof wrote);
        is_counting = true;
        CHECK(lw_writer_write(writer, 0, first, count, data, &err) == LW_OK, "%s", err.message);
        is_counting = false;
        for (int s = 0; s < N_STRIPES; s++) {
            const int64_t writers = lw_comm_sum(comm, wrote[s]);
            *most_writers = writers > *most_writers ? writers : *most_writers;
            writes = writes || wrote[s];
        }
    }
    *n_writers = lw_comm_sum(comm, writes);
    free(data);
}

static void check_bytes(const char *file, int64_t length, int64_t stripe)
{
    float *const data = malloc(CHANNELS * LENGTH * sizeof *data);
    int64_t n_wrong = 0;
    const hid_t opened = H5Fopen(file, H5F_ACC_RDONLY, H5P_DEFAULT), dataset = H5Dopen2(opened, "/data", H5P_DEFAULT);
    CHECK(H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0, "%s is read", file);
    for (int64_t i = 0; i < CHANNELS * LENGTH; i++)
        n_wrong += i % LENGTH < length && data[i] != (float)i;
    CHECK(n_wrong == 0, "%d samples are wrong", (int)n_wrong);
    CHECK(H5Dget_offset(dataset) % (haddr_t)stripe == 0, "the dataset begins at %d", (int)H5Dget_offset(dataset));
    H5Dclose(dataset);
    H5Fclose(opened);
    free(data);
}

static void check(struct lw_comm *comm, const char *folder, struct kind kind)
{
    char file[300], way[40] = "collective";
    const struct lw_writer_dataset dataset = {.path = "/data", .n_dims = 2, .dims = {CHANNELS, LENGTH},
                                              .type = {.scalar = LW_FLOAT32}};
    struct lw_error err = {0};
    struct lw_writer *writer = NULL;
    int64_t most_writers = 0, n_writers = 0;
    snprintf(file, sizeof file, "%s/collective.h5", folder);
    const struct lw_writer_spec spec = {.file = file, .overwrite = true, .datasets = &dataset, .n_datasets = 1,
                                        .io = LW_IO_COLLECTIVE};
    /* Two pretended nodes, which ROMIO finds to be one: it gives that one node as many aggregators as each of two would have. */
    pretended = (struct lw_storage){.name = "Lustre", .is_striped = kind.asked > 0, .stripe_bytes = kind.stripe,
                                    .n_stripes = lw_comm_size(comm)};
    pretended_nodes = 2;
    CHECK(lw_writer_create(comm, &spec, &writer, &err) == LW_OK, "%s", err.message);
    if (!writer)
        return;
    if (kind.asked > 0)
        snprintf(way, sizeof way, "collective, aggregators: %d", kind.asked);
    CHECK(strcmp(lw_writer_way(writer), way) == 0, "written '%s', not '%s'", lw_writer_way(writer), way);
    write_all(comm, writer, &kind, &most_writers, &n_writers);
    CHECK(n_writers == kind.writers, "%d ranks have written, not %d", (int)n_writers, kind.writers);
    CHECK(kind.shares ? most_writers > 1 : most_writers == 1, "%d ranks have written one stripe", (int)most_writers);
    CHECK(lw_writer_finish(writer, NULL, 0, &err) == LW_OK, "%s", err.message);
    lw_writer_destroy(writer);
    const int64_t slice = LENGTH / kind.rounds / lw_comm_size(comm);
    if (lw_comm_rank(comm) == 0)
        check_bytes(file, slice * lw_comm_size(comm) * kind.rounds, kind.asked > 0 && kind.stripe > 0 ? STRIPE : 1 << 20);
    lw_comm_barrier(comm);
}

int main(int argc, char **argv)
{
    struct lw_comm *const comm = lw_comm_start(&argc, &argv);
    char folder[256], command[300];
    make_folder(comm, folder);
    const int size = lw_comm_size(comm);
    check(comm, folder, (struct kind){2, 0, 0, size, true});
    check(comm, folder, (struct kind){2, STRIPE, size, size / 2, false});
    check(comm, folder, (struct kind){4, STRIPE, size, size, true});
    check(comm, folder, (struct kind){2, 0, size, size / 2, size > 2});
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    CHECK(lw_comm_rank(comm) != 0 || system(command) == 0, "%s", command);
    return test_end(comm, "collective");
}
