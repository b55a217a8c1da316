/* main.c - start MPI where it is needed, do what the command line asks for, and end every rank with the same code. */
#include "base/file.h"
#include "cli/cli.h"
#include "cli/help.h"
#include "io/shield.h"
#include "resume/stop.h"
#include "setup/report.h"

#include <signal.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

/* Whether mpirun or srun started this process: then it is one of several ranks, and only MPI knows which of them prints. */
static bool has_launcher(void)
{
    static const char *const variables[] = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (getenv(variables[i]))
            return true;
    return false;
}

/* Print help, version or the error of a command line without MPI: at once, and even where MPI cannot start. */
static int finish_alone(const struct lw_cli *cli, int code, struct lw_error *err)
{
    if (code == LW_OK)
        code = lw_cli_print(cli, err);
    if (code != LW_OK)
        lw_log_error(err);
    return code;
}

/* Execute the command line, once all ranks agree on it: some may have been started with other arguments or another build. */
static int finish_together(struct lw_cli *cli, int code, struct lw_comm *comm, struct lw_error *err)
{
    int rank;
    const int rc = lw_comm_joined(comm, &rank, err);
    lw_log_start(rank, lw_comm_host(comm), LW_LOG_NORMAL);
    (void)((code = lw_comm_agree(comm, rc ? rc : code, err)) ||
           (code = lw_comm_same(comm, "the version of lapwing", lw_version_text(), err)) ||
           (code = lw_comm_same(comm, "the command line", cli->command_line, err)) ||
           (code = lw_cli_execute(cli, comm, err)));
    if (code != LW_OK)
        lw_log_error(err);
    return code;
}

/* Return this rank's number on its node, as launchers tell it before MPI starts; 0: not known. Inner launchers come first. */
static int number_on_node(void)
{
    static const char *const variables[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (getenv(variables[i]))
            return atoi(getenv(variables[i]));
    return 0;
}

/* Start the guard in which archive files are examined. In a run only some ranks of a node examine files. */
static int start_guard(const struct lw_cli *cli, struct lw_error *err)
{
    const bool is_run = cli->action == LW_ACTION_RUN || cli->action == LW_ACTION_PLAN || cli->action == LW_ACTION_RUN_FILE;
    if (!is_run || number_on_node() < LW_SHIELD_MOST_GUARDS)
        return lw_shield_start(err);
    lw_shield_leave();
    return LW_OK;
}

/* Start MPI, execute the command line, end MPI. @param code  of parsing the command line; if that failed, *err holds the error */
static int run_ranks(struct lw_cli *cli, int code, int *argc, char ***argv, struct lw_error *err)
{
    /* Commands that examine archive files do so in copies of this process (io/shield.h), which must be made before MPI starts. */
    if (code == LW_OK && (!lw_cli_is_text(cli) && cli->action != LW_ACTION_SYNTH && cli->action != LW_ACTION_FILTERS &&
                          (cli->action != LW_ACTION_INFO || cli->file)))
        code = start_guard(cli, err);
    struct lw_comm *const comm = lw_comm_start(argc, argv);
    lw_timeline_end(LW_START_MPI);
    code = finish_together(cli, code, comm, err);
    lw_comm_stop(comm);
    lw_shield_stop();
    return code;
}

/* Make OpenMP's idle threads sleep. Spinning ones would take the cores from the main thread, which reads and writes meanwhile:
 * measured, a run from file to file then takes a quarter longer. The OpenMP library reads OMP_WAIT_POLICY before main begins:
 * unless the user has set it, the program sets it and executes itself again. If that fails, the run is only slower. */
static void let_idle_threads_sleep(char **argv)
{
    char path[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (getenv("OMP_WAIT_POLICY") || length <= 0)
        return;
    path[length] = '\0';
    setenv("OMP_WAIT_POLICY", "passive", 1);
    execv(path, argv);
}

int main(int argc, char **argv)
{
    struct lw_error err = {0};
    struct lw_cli cli;
    lw_stop_hold();
    if (lw_standard_open(&err) != LW_OK) {
        lw_log_error(&err);
        return err.code;
    }
    let_idle_threads_sleep(argv);
    lw_timeline_begin();
    signal(SIGXFSZ, SIG_IGN);       /* writing beyond the limit of file sizes then is an error and does not kill the process */
    int code = lw_cli_parse(argc, argv, &cli, &err);
    if (cli.action == LW_ACTION_RUN || cli.action == LW_ACTION_RUN_FILE)
        lw_stop_listen();
    lw_stop_release();

    if (!has_launcher() && (code != LW_OK || lw_cli_is_text(&cli)))
        code = finish_alone(&cli, code, &err);
    else
        code = run_ranks(&cli, code, &argc, &argv, &err);
    lw_cli_release(&cli);
    return code;
}
