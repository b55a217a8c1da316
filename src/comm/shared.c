#include "comm/shared.h"

#include "base/integers.h"
#include "base/memory.h"
#include "comm/raw.h"

#include <sys/statvfs.h>

/* Memory of one rank, or the window of a node's ranks. */
struct window {
    MPI_Win win;                /* MPI_WIN_NULL: the memory is this rank's own */
};

/* Return whether /dev/shm has room for a window, and as much again for other programs. */
static bool has_room(int64_t bytes)
{
    struct statvfs shm;
    return statvfs("/dev/shm", &shm) == 0 && (double)shm.f_bavail * (double)shm.f_frsize > 2.0 * (double)bytes;
}

/* Open the window that the ranks of this node share. The lowest rank's memory is all of it. */
static void open_window(struct lw_shared *shared, struct window *window, int64_t bytes)
{
    MPI_Comm node;
    MPI_Aint found;
    int unit, rank;
    MPI_Comm_split_type(lw_comm_mpi(shared->comm), MPI_COMM_TYPE_SHARED, lw_comm_rank(shared->comm), MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &rank);
    shared->owner = lw_comm_rank(shared->comm);
    MPI_Bcast(&shared->owner, 1, MPI_INT, 0, node);
    MPI_Win_allocate_shared(rank == 0 ? (MPI_Aint)bytes : 0, 1, MPI_INFO_NULL, node, &shared->data, &window->win);
    MPI_Win_shared_query(window->win, 0, &found, &unit, &shared->data);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window->win);        /* one epoch from here to the end */
    MPI_Comm_free(&node);
}

int lw_shared_create(struct lw_comm *comm, int64_t rows, int64_t row_bytes, const char *what, struct lw_shared *out,
                     struct lw_error *err)
{
    const int64_t bytes = rows * row_bytes;
    struct window *const window = lw_alloc(sizeof *window, what, err);
    int rc = lw_comm_agree(comm, window ? LW_OK : LW_ESYSTEM, err);
    if (rc) {
        lw_free(window);
        return rc;
    }
    *window = (struct window){MPI_WIN_NULL};
    *out = (struct lw_shared){.comm = comm, .rows = rows, .row_bytes = row_bytes, .window = window, .owner = lw_comm_rank(comm)};
    const bool has_neighbours = lw_comm_max(comm, lw_comm_node_size(comm)) > 1;
    if (has_neighbours && lw_comm_min(comm, has_room(bytes)))
        open_window(out, window, bytes);
    else
        out->data = lw_alloc((size_t)bytes, what, err);
    if ((rc = lw_comm_agree(comm, out->data ? LW_OK : LW_ESYSTEM, err)))
        lw_shared_destroy(out);
    return rc;
}

void lw_shared_destroy(struct lw_shared *shared)
{
    struct window *const window = shared->window;
    if (!window)
        return;
    if (window->win != MPI_WIN_NULL) {
        MPI_Win_unlock_all(window->win);
        MPI_Win_free(&window->win);
    } else {
        lw_free(shared->data);
    }
    lw_free(window);
    *shared = (struct lw_shared){0};
}

static int64_t begin_of(const struct lw_shared *shared, int64_t rank)
{
    const int64_t size = lw_comm_size(shared->comm);
    return shared->rows / size * rank + lw_min64(rank, shared->rows % size);
}

void lw_shared_part(const struct lw_shared *shared, int64_t *begin, int64_t *end)
{
    *begin = begin_of(shared, lw_comm_rank(shared->comm));
    *end = begin_of(shared, lw_comm_rank(shared->comm) + 1);
}

/* Send the parts of all ranks to the ranks that own memory, from the owner of the memory in which a part was filled. */
static void spread(const struct lw_shared *shared, const int *owners, MPI_Comm among)
{
    const int size = lw_comm_size(shared->comm);
    for (int rank = 0; rank < size; rank++) {
        char *const part = (char *)shared->data + begin_of(shared, rank) * shared->row_bytes;
        const int64_t bytes = (begin_of(shared, rank + 1) - begin_of(shared, rank)) * shared->row_bytes;
        int root = 0;           /* number of the part's owner among the owners */
        for (int r = 0; r < owners[rank]; r++)
            root += owners[r] == r;
        for (int64_t at = 0; at < bytes; at += LW_MESSAGE_BYTES)
            MPI_Bcast(part + at, (int)lw_min64(LW_MESSAGE_BYTES, bytes - at), MPI_BYTE, root, among);
    }
}

void lw_shared_complete(struct lw_shared *shared)
{
    const struct window *const window = shared->window;
    const int rank = lw_comm_rank(shared->comm), size = lw_comm_size(shared->comm);
    int owners[size], n_owners = 0;
    lw_comm_gather_all(shared->comm, &shared->owner, sizeof shared->owner, owners);
    for (int r = 0; r < size; r++)
        n_owners += owners[r] == r;
    if (window->win != MPI_WIN_NULL)
        MPI_Win_sync(window->win);
    lw_comm_barrier(shared->comm);
    if (n_owners > 1) {
        MPI_Comm among;
        MPI_Comm_split(lw_comm_mpi(shared->comm), owners[rank] == rank ? 0 : MPI_UNDEFINED, rank, &among);
        if (among != MPI_COMM_NULL) {
            spread(shared, owners, among);
            MPI_Comm_free(&among);
        }
        lw_comm_barrier(shared->comm);
    }
    if (window->win != MPI_WIN_NULL)
        MPI_Win_sync(window->win);
}
