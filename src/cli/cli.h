/* cli.h - the command line: parsing it (argv -> struct lw_cli), and executing its command.
 *
 *     lapwing JOB [options]            run a job
 *     lapwing plan JOB [options]       show how it would run; also plan JOB.ini [options]
 *     lapwing synth JOB [options]      make synthetic input for it
 *     lapwing filters KIND [options]   make a bank of filters
 *     lapwing run JOB.ini [options]    run the job that a file describes
 *     lapwing info [--job] [FILE]      show this build and machine, or the contents of a file
 *     lapwing plot FILE [options]      draw the data of a file
 *     lapwing verify RESULT [options]  check that a result is complete and right
 *     lapwing help [COMMAND [JOB | KIND]], and --help behind any command, --version
 *
 * Jobs come from lw_jobs and kinds of filters from lw_filter_kinds; no code of this folder names one of them. */
#pragma once

#include "cli/commands.h"
#include "comm/comm.h"

#include <stdio.h>

/* A parsed command line. Its texts are borrowed from argv. */
struct lw_cli {
    enum lw_action action;
    const struct lw_command *command;   /* help: command asked about; NULL: none is named */
    const struct lw_job_ops *job;       /* NULL: none is named */
    const struct lw_filter_kind *kind;  /* filters, or help: kind of filters; NULL: none is named */
    struct lw_options *options;         /* owned; NULL: there are none, or not yet (a job file) */
    bool is_man;                        /* help: print a manual page */
    bool shows_all;                     /* help: list rarely needed options, too */
    void (*complete)(FILE *file);       /* help: prints a script for a shell's completion; NULL: not asked for */
    const char *file;                   /* run, plan: job file; info: file to show; NULL: none */
    char *names;                        /* owned; plot, verify: names of files, as io/names.h takes them */
    int argc;                           /* run, plan: options behind the job file */
    char **argv;
    char *command_line;                 /* owned; the whole command line, quoted where a shell needs it */
};

/** Parse a command line, also before MPI has started. The same on all ranks. LW_EUSAGE. Release `cli` in any case. */
int lw_cli_parse(int argc, char **argv, struct lw_cli *cli, struct lw_error *err);

/** Whether the command is help or version. lw_cli_print prints these without MPI. */
bool lw_cli_is_text(const struct lw_cli *cli);
int lw_cli_print(const struct lw_cli *cli, struct lw_error *err);

/** Execute the command. LW_EIO is also returned if the output does not arrive on standard output. Collective. */
int lw_cli_execute(struct lw_cli *cli, struct lw_comm *comm, struct lw_error *err);

void lw_cli_release(struct lw_cli *cli);
