#include "base/leave.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/pool.h"
#include "comm/raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct lw_comm {
    MPI_Comm world;             /* a duplicate of MPI_COMM_WORLD */
    MPI_Comm notices;           /* a second duplicate, for messages that may come at any time */
    bool is_model;              /* one process stands for all ranks; `world` and `notices` are MPI_COMM_NULL */
    bool has_told;              /* this rank has asked all others to leave their work */
    int rank, size;
    int node_rank, node_size;
    char host[64];
    char library[128];
    enum lw_phase phase;
    struct lw_traffic traffic[LW_PHASES];
};

void lw_comm_count_collective(struct lw_comm *comm, int64_t bytes)
{
    comm->traffic[comm->phase].collectives++;
    comm->traffic[comm->phase].collective_bytes += bytes;
}

void lw_comm_count_message(struct lw_comm *comm, int64_t bytes)
{
    comm->traffic[comm->phase].messages++;
    comm->traffic[comm->phase].message_bytes += bytes;
}

void lw_comm_begin_phase(struct lw_comm *comm, enum lw_phase phase)
{
    comm->phase = phase;
    MPI_Pcontrol((int)phase);
}

const struct lw_traffic *lw_comm_traffic(const struct lw_comm *comm, enum lw_phase phase) { return &comm->traffic[phase]; }

/* Shorten "Open MPI v4.1.4, package: ..." to "Open MPI 4.1.4". */
static void library_name(char *text, size_t size)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
    version[strcspn(version, ",\n")] = '\0';
    char *const v = strstr(version, " v");
    if (v && v[2] >= '0' && v[2] <= '9')
        memmove(v + 1, v + 2, strlen(v + 2) + 1);
    snprintf(text, size, "%.*s", (int)size - 1, version);
}

/* Return whether no launcher started this process, which then is the only rank. */
static bool is_alone(void) { return !getenv("OMPI_COMM_WORLD_SIZE") && !getenv("PMIX_RANK") && !getenv("PMI_RANK"); }

/* Return whether all ranks are on this node. MPI has not started yet, so that only the launcher's variables can tell. */
static bool is_one_node(void)
{
    const char *const all = getenv("OMPI_COMM_WORLD_SIZE"), *const here = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    const char *const nodes = getenv("SLURM_STEP_NUM_NODES");
    if (all)
        return here && strcmp(all, here) == 0;
    return is_alone() || (nodes && strcmp(nodes, "1") == 0);
}

/* Set the MPI library up. Variables that the user has set stay. Open MPI ignores names that its version does not know. */
static void set_up_library(void)
{
    /* ROMIO (two names, for Open MPI 4 and 5) accesses files: its collective open fails on all ranks if it fails on one. Open MPI's
     * own OMPIO would then wait for ever. The next three settings matter only where there is no ROMIO. */
    setenv("OMPI_MCA_io_romio321_priority", "100", 0);
    setenv("OMPI_MCA_io_romio341_priority", "100", 0);
    /* Open MPI 4.1.1-4.1.4 reads irregular selections wrongly with data sieving (open-mpi/ompi#10546). */
    setenv("OMPI_MCA_fbtl_posix_read_datasieving", "0", 0);
    /* Each rank transfers its own part in collective file calls. From 3 ranks on, Open MPI would pass the parts through
     * aggregators; parts are large here, so that this costs 40 to 90 MiB a rank and half the speed. */
    setenv("OMPI_MCA_fcoll", "individual", 0);
    /* lapwing uses no shared file pointers. Other components of Open MPI guard them by a semaphore of the whole machine that has
     * the file's name. If a killed run leaves the semaphore behind, every later run with that file name hangs. */
    setenv("OMPI_MCA_sharedfp", "individual", 0);
    /* The component ob1 connects ranks of one node by shared memory. The other components first search for libraries and devices
     * of fast networks, which takes most of MPI's start: measured, 0.2 of 0.23 s. */
    if (is_one_node())
        setenv("OMPI_MCA_pml", "ob1", 0);
    /* hwloc, which Open MPI uses, would start the drivers of all GPUs only to learn their names. That takes 0.15 s of MPI's start,
     * and most of it again when lapwing starts the driver itself. */
    setenv("HWLOC_COMPONENTS", "-cuda,-nvml,-opencl,-gl,-rsmi,-levelzero", 0);
    /* Open MPI without mpirun would start a daemon for processes that the program might start later: another 0.07 s. */
    setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
    if (!is_alone())
        return;
    /* All processes without a launcher share one folder in /tmp, and the first to end deletes it. A process that is just making its
     * own folder there then fails. A single rank needs no such folder. */
    setenv("OMPI_MCA_orte_create_session_dirs", "0", 0);
    /* Processes that srun starts without PMIx (--mpi=none) would end inside MPI's start with code 1. Without the step's variables
     * each starts as a single rank; lw_comm_joined then refuses to go on if there are several. */
    unsetenv("SLURM_STEP_ID");
    unsetenv("SLURM_STEPID");
}

static bool is_starting;

/* Exit handler: an Open MPI that cannot start ends the process with its own code; this handler puts ours in its place. */
static void exit_with_our_code(int status, void *context)
{
    (void)context;
    if (is_starting && status != 0)
        _exit(LW_ESYSTEM);
}

/* MPI's error handler: end all ranks with lapwing's documented code instead of MPI's own. */
static void end_all(MPI_Comm *mpi_comm, int *code, ...)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length, rank = 0;
    MPI_Error_string(*code, text, &length);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "lapwing: rank %d: MPI failed (%s): check the network and the other ranks\n", rank, text);
    fflush(stderr);
    MPI_Abort(*mpi_comm, LW_ESYSTEM);
}

/* Functions of the leak sanitizer; NULL in programs that are built without it. */
__attribute__((weak)) void __lsan_disable(void);
__attribute__((weak)) void __lsan_enable(void);
__attribute__((weak)) void __lsan_do_leak_check(void);

static void start_library(int *argc, char ***argv)
{
    int provided = MPI_THREAD_SINGLE;
    set_up_library();
    on_exit(exit_with_our_code, NULL);
    is_starting = true;
    if (__lsan_disable)     /* memory that MPI never releases does not count as lapwing's leak */
        __lsan_disable();
    const int rc = MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
    if (__lsan_enable)
        __lsan_enable();
    if (rc != MPI_SUCCESS || provided < MPI_THREAD_FUNNELED) {
        fprintf(stderr, "lapwing: MPI does not start with thread support (MPI_THREAD_FUNNELED): check the MPI installation\n");
        exit(LW_ESYSTEM);
    }
    is_starting = false;
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(end_all, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Errhandler_free(&handler);
}

/* ---- leaving the work when the run is interrupted ------------------------------------------------------------------- */

enum { LEAVE_TAG = 1, AGREE_TAG = 2, LEAVE_BYTES = 64 };

static MPI_Comm notices = MPI_COMM_NULL;        /* `notices` of the only struct lw_comm, for look_for_notices */

/* Take a request of another rank to leave the work. Later requests are left unreceived: they change nothing. */
static void look_for_notices(void)
{
    static char why[LEAVE_BYTES];
    int is_there;
    MPI_Iprobe(MPI_ANY_SOURCE, LEAVE_TAG, notices, &is_there, MPI_STATUS_IGNORE);
    if (!is_there || lw_leave_is_asked())
        return;
    MPI_Recv(why, LEAVE_BYTES, MPI_CHAR, MPI_ANY_SOURCE, LEAVE_TAG, notices, MPI_STATUS_IGNORE);
    lw_leave_ask(why);
}

/* Wait for two requests. If this rank is interrupted meanwhile, it asks all other ranks to leave their work, too. The loop does not
 * yield the core. MPI yields if it is set up to (mpi_yield_when_idle); yielding twice would take twice as long on shared cores. */
static void wait_for_both(struct lw_comm *comm, MPI_Request requests[2])
{
    int is_done;
    MPI_Testall(2, requests, &is_done, MPI_STATUSES_IGNORE);
    while (!is_done) {
        if (lw_leave_is_asked() && !comm->has_told) {
            char why[LEAVE_BYTES];      /* short enough for MPI_Send to return before it is received */
            snprintf(why, sizeof why, "%s", lw_leave_reason());
            for (int rank = 0; rank < comm->size; rank++)
                if (rank != comm->rank)
                    MPI_Send(why, LEAVE_BYTES, MPI_CHAR, rank, LEAVE_TAG, comm->notices);
            comm->has_told = true;
        }
        MPI_Testall(2, requests, &is_done, MPI_STATUSES_IGNORE);
    }
}

/* The least number of all ranks. Each exchange doubles the ranks whose numbers this rank has seen. MPI_Iallreduce makes twice as
 * many exchanges one after the other, which costs time where ranks share cores. */
static int least_of_all(struct lw_comm *comm, int least)
{
    const int size = comm->size;
    for (int64_t step = 1; step < size; step *= 2) {
        const int mine = least, to = (int)((comm->rank + step) % size), from = (int)((comm->rank - step + size) % size);
        int theirs;
        MPI_Request requests[2];
        MPI_Irecv(&theirs, 1, MPI_INT, from, AGREE_TAG, comm->notices, &requests[0]);
        MPI_Isend(&mine, 1, MPI_INT, to, AGREE_TAG, comm->notices, &requests[1]);
        wait_for_both(comm, requests);
        least = theirs < least ? theirs : least;
    }
    return least;
}

/* ---- start and end ----------------------------------------------------------------------------------------------- */

struct lw_comm *lw_comm_start(int *argc, char ***argv)
{
    start_library(argc, argv);
    struct lw_error err = {0};
    struct lw_comm *const comm = lw_alloc(sizeof *comm, "the communicator", &err);
    if (!comm) {
        fprintf(stderr, "lapwing: %s\n", err.message);
        fflush(stderr);
        MPI_Abort(MPI_COMM_WORLD, LW_ESYSTEM);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &comm->world);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm->notices);
    MPI_Comm_rank(comm->world, &comm->rank);
    MPI_Comm_size(comm->world, &comm->size);
    MPI_Comm node;
    MPI_Comm_split_type(comm->world, MPI_COMM_TYPE_SHARED, comm->rank, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &comm->node_rank);
    MPI_Comm_size(node, &comm->node_size);
    MPI_Comm_free(&node);
    gethostname(comm->host, sizeof comm->host - 1);
    library_name(comm->library, sizeof comm->library);
    notices = comm->notices;
    lw_pool_meanwhile(comm->size > 1 ? look_for_notices : NULL);
    return comm;
}

static int number_of(const char *variable)
{
    const char *const text = getenv(variable);
    return text ? atoi(text) : 0;
}

/* Processes inherit the variables of outer launchers, too: those of Slurm, say, within an mpirun in a step of Slurm. So the ranks
 * are complete if their number is that of any launcher, even if an outer launcher started more. */
int lw_comm_joined(const struct lw_comm *comm, int *rank, struct lw_error *err)
{
    static const struct launcher {
        const char *size, *rank;
    } launchers[] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"}, {"PMI_SIZE", "PMI_RANK"},
                     {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}};      /* inner launchers come first */
    const struct launcher *its = NULL;
    *rank = comm->rank;
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        if (comm->size > 1 && number_of(launchers[i].size) == comm->size)
            return LW_OK;
        if (!its && number_of(launchers[i].size) > 0)
            its = &launchers[i];
    }
    if (!its || number_of(its->size) <= comm->size)
        return LW_OK;
    *rank = number_of(its->rank);
    return lw_fail(err, LW_ESYSTEM, "MPI joins only %d of the %d processes that were started (%s): start them with a launcher that "
                   "%s supports, such as its own mpirun or 'srun --mpi=pmix'; if the processes are independent runs, "
                   "unset %s", comm->size, number_of(its->size), its->size, comm->library, its->size);
}

void lw_comm_stop(struct lw_comm *comm)
{
    lw_pool_meanwhile(NULL);
    MPI_Comm_free(&comm->notices);
    MPI_Comm_free(&comm->world);
    lw_free(comm);
    if (__lsan_do_leak_check)       /* check now: once MPI's libraries are unloaded, their leaks look like ours */
        __lsan_do_leak_check();
    MPI_Finalize();
}

int lw_comm_model(const struct lw_comm *real, int n_ranks, int ranks_per_node, struct lw_comm **out, struct lw_error *err)
{
    struct lw_comm *const comm = *out = lw_alloc(sizeof *comm, "a communicator", err);
    if (!comm)
        return LW_ESYSTEM;
    *comm = *real;
    comm->world = comm->notices = MPI_COMM_NULL;
    comm->is_model = true;
    comm->rank = comm->node_rank = 0;
    comm->size = n_ranks;
    comm->node_size = ranks_per_node;
    return LW_OK;
}

void lw_comm_forget(struct lw_comm *model) { lw_free(model); }

MPI_Comm lw_comm_mpi(const struct lw_comm *comm) { return comm->world; }
int lw_comm_rank(const struct lw_comm *comm) { return comm->rank; }
int lw_comm_size(const struct lw_comm *comm) { return comm->size; }
int lw_comm_node_rank(const struct lw_comm *comm) { return comm->node_rank; }
int lw_comm_node_size(const struct lw_comm *comm) { return comm->node_size; }
const char *lw_comm_host(const struct lw_comm *comm) { return comm->host; }
const char *lw_comm_library(const struct lw_comm *comm) { return comm->library; }

int64_t lw_comm_nodes(struct lw_comm *comm)
{
    return comm->is_model ? (comm->size + comm->node_size - 1) / comm->node_size : lw_comm_sum(comm, comm->node_rank == 0);
}

int lw_comm_agree(struct lw_comm *comm, int code, struct lw_error *err)
{
    const int failed = code == LW_OK ? comm->size : comm->rank;
    const int first = comm->is_model ? failed : least_of_all(comm, failed);
    comm->traffic[comm->phase].agreements++;
    if (first == comm->size)
        return LW_OK;
    if (first == comm->rank)
        err->code = code;
    if (first == comm->rank && err->rank < 0) {     /* an error of an earlier agreement keeps its rank and host */
        err->rank = comm->rank;
        memcpy(err->host, comm->host, sizeof err->host);
    }
    if (!comm->is_model)
        MPI_Bcast(err, (int)sizeof *err, MPI_BYTE, first, comm->world);
    lw_comm_count_collective(comm, sizeof *err);
    return err->code;
}

/* Fail with two texts that differ: whole if is_whole, else from the first word that differs. */
static int fail_differing(const struct lw_comm *comm, const char *what, const char *theirs, const char *mine, bool is_whole,
                          struct lw_error *err)
{
    size_t at = 0;
    while (theirs[at] && theirs[at] == mine[at])
        at++;
    while (at > 0 && (is_whole || theirs[at - 1] != ' '))
        at--;
    return lw_fail(err, LW_ECONFIG, "%s differs: rank 0 has '%.200s', rank %d has '%.200s'", what, theirs + at, comm->rank,
                   mine + at);
}

int lw_comm_same(struct lw_comm *comm, const char *what, const char *text, struct lw_error *err)
{
    enum { PART = 256 };
    const int64_t length = (int64_t)strlen(text);
    int64_t end = length + 1;       /* bytes of rank 0's text, final zero included, after the broadcast */
    lw_comm_broadcast(comm, &end, sizeof end);
    int rc = LW_OK;
    for (int64_t first = 0; first < end; first += PART) {
        const int part = (int)(end - first < PART ? end - first : PART);
        const char *const mine = text + (first < length ? first : length);
        char theirs[PART + 1] = "";
        if (comm->rank == 0)
            memcpy(theirs, mine, (size_t)part);
        if (!comm->is_model)
            MPI_Bcast(theirs, part, MPI_CHAR, 0, comm->world);
        lw_comm_count_collective(comm, part);
        if (rc == LW_OK && strncmp(mine, theirs, (size_t)part) != 0)
            rc = fail_differing(comm, what, theirs, mine, end <= PART && length < PART, err);
    }
    return lw_comm_agree(comm, rc, err);
}

static void broadcast_from(struct lw_comm *comm, int root, void *data, int64_t bytes)
{
    char *at = data;
    for (int64_t left = bytes; left > 0; ) {
        const int64_t part = left < LW_MESSAGE_BYTES ? left : LW_MESSAGE_BYTES;
        if (!comm->is_model)
            MPI_Bcast(at, (int)part, MPI_BYTE, root, comm->world);
        lw_comm_count_collective(comm, part);
        at += part;
        left -= part;
    }
}

void lw_comm_broadcast(struct lw_comm *comm, void *data, int64_t bytes) { broadcast_from(comm, 0, data, bytes); }

int lw_comm_join_team(struct lw_comm *comm, int number, struct lw_comm **out, struct lw_error *err)
{
    struct lw_comm *const team = *out = lw_alloc(sizeof *team, "a communicator", err);
    const int rc = lw_comm_agree(comm, team ? LW_OK : LW_ESYSTEM, err);
    if (rc) {
        lw_free(team);
        *out = NULL;
        return rc;
    }
    team->notices = MPI_COMM_NULL;
    MPI_Comm_split(comm->world, number, comm->rank, &team->world);
    MPI_Comm_rank(team->world, &team->rank);
    MPI_Comm_size(team->world, &team->size);
    return LW_OK;
}

void lw_comm_leave_team(struct lw_comm *team)
{
    if (team)
        MPI_Comm_free(&team->world);
    lw_free(team);
}

void lw_comm_share(struct lw_comm *comm, void *data, const int64_t *edges)
{
    for (int rank = 0; rank < comm->size; rank++)
        broadcast_from(comm, rank, (char *)data + edges[rank], edges[rank + 1] - edges[rank]);
}

static void reduce(struct lw_comm *comm, int64_t *values, int n, MPI_Op op)
{
    if (!comm->is_model)
        MPI_Allreduce(MPI_IN_PLACE, values, n, MPI_INT64_T, op, comm->world);
    lw_comm_count_collective(comm, n * (int64_t)sizeof *values);
}

static int64_t reduce_one(struct lw_comm *comm, int64_t value, MPI_Op op)
{
    reduce(comm, &value, 1, op);
    return value;
}

void lw_comm_sums(struct lw_comm *comm, int64_t *values, int n)
{
    reduce(comm, values, n, MPI_SUM);
    for (int i = 0; i < n && comm->is_model; i++)
        values[i] *= comm->size;
}

int64_t lw_comm_sum(struct lw_comm *comm, int64_t value)
{
    lw_comm_sums(comm, &value, 1);
    return value;
}

int64_t lw_comm_min(struct lw_comm *comm, int64_t value) { return reduce_one(comm, value, MPI_MIN); }
int64_t lw_comm_max(struct lw_comm *comm, int64_t value) { return reduce_one(comm, value, MPI_MAX); }
int64_t lw_comm_or(struct lw_comm *comm, int64_t bits) { return reduce_one(comm, bits, MPI_BOR); }

void lw_comm_barrier(struct lw_comm *comm)
{
    if (!comm->is_model)
        MPI_Barrier(comm->world);
    lw_comm_count_collective(comm, 0);
}

/* Give a model's gathered bytes: every rank has the same. */
static void repeat(const struct lw_comm *comm, const void *mine, int64_t bytes, void *all)
{
    for (int rank = 0; rank < comm->size; rank++)
        memcpy((char *)all + rank * bytes, mine, (size_t)bytes);
}

void lw_comm_gather(struct lw_comm *comm, const double *mine, int count, double *all)
{
    if (comm->is_model)
        repeat(comm, mine, count * (int64_t)sizeof *mine, all);
    else
        MPI_Gather(mine, count, MPI_DOUBLE, all, count, MPI_DOUBLE, 0, comm->world);
    lw_comm_count_collective(comm, count * (int64_t)sizeof *mine);
}

void lw_comm_gather_all(struct lw_comm *comm, const void *mine, int bytes, void *all)
{
    if (comm->is_model)
        repeat(comm, mine, bytes, all);
    else
        MPI_Allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, comm->world);
    lw_comm_count_collective(comm, bytes);
}

void lw_comm_collect(struct lw_comm *comm, double *values, int64_t count, int root)
{
    const int64_t most = LW_COLLECT_BYTES / (int64_t)sizeof *values;
    for (int64_t first = 0; first < count && !comm->is_model; first += most) {
        const int part = (int)(count - first < most ? count - first : most);
        if (comm->rank == root)
            MPI_Reduce(MPI_IN_PLACE, values + first, part, MPI_DOUBLE, MPI_SUM, root, comm->world);
        else
            MPI_Reduce(values + first, NULL, part, MPI_DOUBLE, MPI_SUM, root, comm->world);
        lw_comm_count_collective(comm, part * (int64_t)sizeof *values);
    }
}

enum { TAG_BRING = 17, TAG_MERGE };

static void send(struct lw_comm *comm, const void *data, int64_t bytes, int to, int tag)
{
    MPI_Send(data, (int)bytes, MPI_BYTE, to, tag, comm->world);
    lw_comm_count_message(comm, bytes);
}

/* Return the lowest rank above this one that has bytes to send; the size: none. Each exchange doubles the ranks seen. */
static int next_sender(struct lw_comm *comm, bool has_bytes)
{
    int next = comm->size;
    for (int64_t step = 1; step < comm->size; step *= 2) {
        const int mine = has_bytes ? comm->rank : next;
        const int to = comm->rank >= step ? (int)(comm->rank - step) : MPI_PROC_NULL;
        const int from = comm->rank + step < comm->size ? (int)(comm->rank + step) : MPI_PROC_NULL;
        int theirs = comm->size;
        MPI_Sendrecv(&mine, 1, MPI_INT, to, TAG_BRING, &theirs, 1, MPI_INT, from, TAG_BRING, comm->world, MPI_STATUS_IGNORE);
        if (to != MPI_PROC_NULL)
            lw_comm_count_message(comm, sizeof mine);
        next = theirs < next ? theirs : next;
    }
    return next;
}

/* Each sender begins with its number of bytes and the next sender, so that rank 0 hears only from ranks that have bytes. */
int lw_comm_bring(struct lw_comm *comm, const void *mine, int64_t bytes, void *buffer, int64_t buffer_bytes, lw_comm_take_fn *take,
                  void *context, struct lw_error *err)
{
    if (lw_comm_sum(comm, bytes) == 0)
        return LW_OK;
    int64_t head[2] = {bytes, next_sender(comm, bytes > 0)};
    const char *at = mine;
    if (comm->rank > 0) {
        if (bytes > 0)
            send(comm, head, sizeof head, 0, TAG_BRING);
        for (int64_t left = bytes, part; left > 0; left -= part, at += part) {
            part = left < buffer_bytes ? left : buffer_bytes;
            send(comm, at, part, 0, TAG_BRING);
        }
        return LW_OK;
    }
    int rc = bytes > 0 ? take(context, mine, bytes, err) : LW_OK;
    while (head[1] < comm->size) {
        const int rank = (int)head[1];
        struct lw_error its = {0};
        int its_rc = LW_OK;
        MPI_Recv(head, sizeof head, MPI_BYTE, rank, TAG_BRING, comm->world, MPI_STATUS_IGNORE);
        for (int64_t left = head[0], part; left > 0; left -= part) {
            part = left < buffer_bytes ? left : buffer_bytes;
            MPI_Recv(buffer, (int)part, MPI_BYTE, rank, TAG_BRING, comm->world, MPI_STATUS_IGNORE);
            its_rc = its_rc ? its_rc : take(context, buffer, part, &its);
        }
        if (rc == LW_OK && (rc = its_rc))
            *err = its;
    }
    return rc;
}

int lw_comm_merge(struct lw_comm *comm, int n, const void *mine, void *received, int64_t bytes, lw_comm_take_fn *take,
                  void *context, struct lw_error *err)
{
    int rc = LW_OK;
    for (int64_t step = 1; step < n; step *= 2) {
        if (comm->rank & step) {
            send(comm, mine, bytes, (int)(comm->rank - step), TAG_MERGE);
            break;
        }
        if (comm->rank + step >= n)
            continue;
        struct lw_error its = {0};
        MPI_Recv(received, (int)bytes, MPI_BYTE, (int)(comm->rank + step), TAG_MERGE, comm->world, MPI_STATUS_IGNORE);
        const int its_rc = take(context, received, bytes, &its);
        if (rc == LW_OK && (rc = its_rc))
            *err = its;
    }
    return rc;
}

void lw_comm_abort(const struct lw_comm *comm, const struct lw_error *err)
{
    lw_log_fatal(comm->rank, comm->host, err);
    MPI_Abort(comm->world, err->code);
    abort();
}
