/* pmpi.c - a library for LD_PRELOAD that counts what the program sends, through the profiling interface of MPI.
 *
 * The phases of a run come by MPI_Pcontrol. The program's communicators are the duplicates of MPI_COMM_WORLD and what is split from
 * these; all other communicators are of HDF5 and MPI's files, and are counted apart. Each rank has a clock (Lamport): a collective
 * of n ranks, and an agreement of the program, set it to the highest of theirs plus log2(n), rounded up; a message sets the
 * receiver's to at least the sender's plus one. Clocks travel beside the messages on communicators of this library.
 *
 * MPI_Finalize prints one line a phase on standard error, from rank 0:
 *
 *     pmpi PHASE agreements A collectives C bytes B messages M bytes B rows R bytes B chain L teams T files F spread S
 *
 * A, C, B: of each rank (`spread`: the ranks between which they differ); M, R: of all ranks; `rows`: of lw_comm_bring. */
#include <mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { START, ROUNDS, END, PHASES };
enum { OTHER, WORLD, NOTICES, TEAM };
enum { TAG_AGREE = 2, TAG_BRING = 17 };
enum { AGREEMENTS, COLLECTIVES, COLLECTIVE_BYTES, SAME, MESSAGES = SAME, MESSAGE_BYTES, ROWS, ROW_BYTES, TEAMS, FILES, COUNTS };

static int64_t counts[PHASES][COUNTS];
static int64_t begin_clock[PHASES + 1], clock_now, agreed;
static int phase, n_dups, key = MPI_KEYVAL_INVALID, agree_step;
static MPI_Comm beside[4];              /* duplicates of the world, and of the program's two: clocks travel there */

static int kind_of(MPI_Comm comm)
{
    int64_t *value = NULL;
    int found = 0;
    if (key != MPI_KEYVAL_INVALID)
        PMPI_Comm_get_attr(comm, key, &value, &found);
    return found ? (int)(intptr_t)value : OTHER;
}

static void name(MPI_Comm comm, int kind)
{
    if (key == MPI_KEYVAL_INVALID)
        PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    PMPI_Comm_set_attr(comm, key, (void *)(intptr_t)kind);
}

static int steps(int n)
{
    int s = 0;
    while ((int64_t)1 << s < n)
        s++;
    return s;
}

static int size_of(MPI_Comm comm)
{
    int n;
    PMPI_Comm_size(comm, &n);
    return n;
}

static int type_bytes(MPI_Datatype type)
{
    int bytes;
    PMPI_Type_size(type, &bytes);
    return bytes;
}

/* ---- collectives ---- */

static void collective(MPI_Comm comm, int count, MPI_Datatype type)
{
    const int kind = kind_of(comm);
    if (kind == OTHER) {
        counts[phase][FILES]++;
        return;
    }
    if (kind == TEAM)
        counts[phase][TEAMS]++;
    else {
        counts[phase][COLLECTIVES]++;
        counts[phase][COLLECTIVE_BYTES] += (int64_t)count * type_bytes(type);
    }
    PMPI_Allreduce(MPI_IN_PLACE, &clock_now, 1, MPI_INT64_T, MPI_MAX, comm);
    clock_now += steps(size_of(comm));
}

int MPI_Allreduce(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    collective(comm, n, type);
    return PMPI_Allreduce(from, to, n, type, op, comm);
}

int MPI_Bcast(void *data, int n, MPI_Datatype type, int root, MPI_Comm comm)
{
    collective(comm, n, type);
    return PMPI_Bcast(data, n, type, root, comm);
}

int MPI_Reduce(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm)
{
    collective(comm, n, type);
    return PMPI_Reduce(from, to, n, type, op, root, comm);
}

int MPI_Gather(const void *from, int n, MPI_Datatype type, void *to, int m, MPI_Datatype its, int root, MPI_Comm comm)
{
    collective(comm, n, type);
    return PMPI_Gather(from, n, type, to, m, its, root, comm);
}

int MPI_Allgather(const void *from, int n, MPI_Datatype type, void *to, int m, MPI_Datatype its, MPI_Comm comm)
{
    collective(comm, n, type);
    return PMPI_Allgather(from, n, type, to, m, its, comm);
}

int MPI_Barrier(MPI_Comm comm)
{
    collective(comm, 0, MPI_BYTE);
    return PMPI_Barrier(comm);
}

/* ---- communicators ---- */

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *out)
{
    const int rc = PMPI_Comm_dup(comm, out);
    if (comm == MPI_COMM_WORLD && n_dups < 2) {
        const int kind = n_dups++ == 0 ? WORLD : NOTICES;
        name(*out, kind);
        PMPI_Comm_dup(MPI_COMM_WORLD, &beside[kind]);
    }
    return rc;
}

int MPI_Comm_split(MPI_Comm comm, int color, int order, MPI_Comm *out)
{
    const int rc = PMPI_Comm_split(comm, color, order, out);
    if (kind_of(comm) == WORLD && *out != MPI_COMM_NULL)
        name(*out, TEAM);
    return rc;
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int order, MPI_Info info, MPI_Comm *out)
{
    const int rc = PMPI_Comm_split_type(comm, type, order, info, out);
    if (kind_of(comm) == WORLD && *out != MPI_COMM_NULL)
        name(*out, TEAM);
    return rc;
}

/* ---- messages ---- */

struct waiting {
    MPI_Request request;
    int kind, from, tag;
};
static struct waiting waiting[4096];
static int n_waiting;

static void sent(MPI_Comm comm, int n, MPI_Datatype type, int to, int tag)
{
    const int kind = kind_of(comm);
    if (kind == OTHER || to == MPI_PROC_NULL) {
        counts[phase][FILES] += to != MPI_PROC_NULL;
        return;
    }
    const int64_t bytes = (int64_t)n * type_bytes(type);
    const int64_t told = kind == NOTICES && tag == TAG_AGREE ? agreed : clock_now;
    if (kind == NOTICES && tag == TAG_AGREE)
        ;                               /* counted when it ends */
    else if (tag == TAG_BRING) {
        counts[phase][ROWS]++;
        counts[phase][ROW_BYTES] += bytes;
    } else {
        counts[phase][MESSAGES]++;
        counts[phase][MESSAGE_BYTES] += bytes;
    }
    PMPI_Send(&told, 1, MPI_INT64_T, to, tag, beside[kind]);
}

static void received(int kind, int from, int tag)
{
    int64_t theirs;
    if (kind == OTHER || from == MPI_PROC_NULL)
        return;
    PMPI_Recv(&theirs, 1, MPI_INT64_T, from, tag, beside[kind], MPI_STATUS_IGNORE);
    if (kind == NOTICES && tag == TAG_AGREE) {
        agreed = theirs > agreed ? theirs : agreed;
        if (--agree_step == 0) {        /* every rank knows the highest clock now */
            const int n = steps(size_of(beside[NOTICES]));
            clock_now = agreed + n;
            counts[phase][AGREEMENTS]++;
        }
    } else
        clock_now = theirs + 1 > clock_now ? theirs + 1 : clock_now;
}

int MPI_Isend(const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    sent(comm, n, type, to, tag);
    return PMPI_Isend(data, n, type, to, tag, comm, request);
}

int MPI_Irecv(void *data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request)
{
    const int kind = kind_of(comm), rc = PMPI_Irecv(data, n, type, from, tag, comm, request);
    if (kind == NOTICES && tag == TAG_AGREE && agree_step == 0) {
        agree_step = steps(size_of(comm));
        agreed = clock_now;
    }
    if (kind != OTHER && n_waiting < (int)(sizeof waiting / sizeof *waiting))
        waiting[n_waiting++] = (struct waiting){*request, kind, from, tag};
    return rc;
}

/* Take the clocks of the requests that have ended, in the order of their posting. */
static void ended(const MPI_Request *requests, int n)
{
    int left = 0;
    for (int i = 0; i < n_waiting; i++) {
        int is_it = 0;
        for (int r = 0; r < n; r++)
            is_it = is_it || requests[r] == waiting[i].request;
        if (is_it)
            received(waiting[i].kind, waiting[i].from, waiting[i].tag);
        else
            waiting[left++] = waiting[i];
    }
    n_waiting = left;
}

int MPI_Waitall(int n, MPI_Request *requests, MPI_Status *statuses)
{
    MPI_Request copy[n + 1];
    memcpy(copy, requests, (size_t)n * sizeof *copy);
    const int rc = PMPI_Waitall(n, requests, statuses);
    ended(copy, n);
    return rc;
}

int MPI_Testall(int n, MPI_Request *requests, int *is_done, MPI_Status *statuses)
{
    MPI_Request copy[n + 1];
    memcpy(copy, requests, (size_t)n * sizeof *copy);
    const int rc = PMPI_Testall(n, requests, is_done, statuses);
    if (*is_done)
        ended(copy, n);
    return rc;
}

int MPI_Send(const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    sent(comm, n, type, to, tag);
    return PMPI_Send(data, n, type, to, tag, comm);
}

int MPI_Recv(void *data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status)
{
    const int rc = PMPI_Recv(data, n, type, from, tag, comm, status);
    received(kind_of(comm), from, tag);
    return rc;
}

int MPI_Sendrecv(const void *data, int n, MPI_Datatype type, int to, int tag, void *into, int m, MPI_Datatype its, int from,
                 int its_tag, MPI_Comm comm, MPI_Status *status)
{
    sent(comm, n, type, to, tag);
    const int rc = PMPI_Sendrecv(data, n, type, to, tag, into, m, its, from, its_tag, comm, status);
    received(kind_of(comm), from, its_tag);
    return rc;
}

/* ---- phases and the end ---- */

int MPI_Pcontrol(const int level, ...)
{
    if (level > 0 && level < PHASES) {
        int64_t highest = clock_now;
        PMPI_Allreduce(MPI_IN_PLACE, &highest, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
        clock_now = highest;
        phase = level;
        begin_clock[phase] = highest;
    }
    return MPI_SUCCESS;
}

int MPI_Finalize(void)
{
    static const char *const names[] = {"start", "rounds", "end"};
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Allreduce(MPI_IN_PLACE, &clock_now, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    for (int p = phase + 1; p <= PHASES; p++)
        begin_clock[p] = clock_now;
    for (int p = 0; p < PHASES; p++) {
        int64_t least[COUNTS], most[COUNTS], sums[COUNTS], spread = 0;
        PMPI_Allreduce(counts[p], least, COUNTS, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
        PMPI_Allreduce(counts[p], most, COUNTS, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
        PMPI_Allreduce(counts[p], sums, COUNTS, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        for (int c = 0; c < SAME; c++)
            spread += most[c] - least[c];
        if (rank == 0)
            fprintf(stderr, "pmpi %s agreements %lld collectives %lld bytes %lld messages %lld bytes %lld rows %lld bytes %lld "
                    "chain %lld teams %lld files %lld spread %lld\n", names[p], (long long)most[AGREEMENTS],
                    (long long)most[COLLECTIVES], (long long)most[COLLECTIVE_BYTES], (long long)sums[MESSAGES],
                    (long long)sums[MESSAGE_BYTES], (long long)sums[ROWS], (long long)sums[ROW_BYTES],
                    (long long)(begin_clock[p + 1] - begin_clock[p]), (long long)most[TEAMS], (long long)most[FILES],
                    (long long)spread);
    }
    return PMPI_Finalize();
}
