/* cli.h - the command line: understanding it, and doing what it asks for.
 *
 *     lapwing JOB [options]            run a job
 *     lapwing plan JOB [options]       say how it would run; also plan JOB.ini [options]
 *     lapwing synth JOB [options]      make synthetic input for it
 *     lapwing filters KIND [options]   make a bank of filters
 *     lapwing run JOB.ini [options]    run the job that a file describes
 *     lapwing info [--job] [FILE]      this build and machine, or what a file holds
 *     lapwing plot FILE [options]      draw what a file holds
 *     lapwing verify RESULT [options]  check that a result is complete and right
 *     lapwing help [COMMAND [JOB | KIND]], and --help behind any command, --version
 *
 * The jobs are those of lw_jobs, the kinds of filters those of lw_filter_kinds; nothing here knows one by name. */
#pragma once

#include "cli/commands.h"
#include "comm/comm.h"

#include <stdio.h>

/* What the command line asks for. Its texts are those of argv. */
struct lw_cli {
    enum lw_action action;
    const struct lw_command *command;   /* help: the one asked about; NULL: a job or none was named */
    const struct lw_job_ops *job;       /* NULL: none named */
    const struct lw_filter_kind *kind;  /* filters, or the help of one; NULL: none named */
    struct lw_options *options;         /* owned; NULL where there are none, or not yet (a job file) */
    bool is_man;                        /* help: as a man page */
    bool shows_all;                     /* help: options that are rarely needed, too */
    void (*complete)(FILE *file);       /* help: as a script by which a shell completes command lines; NULL: not so */
    const char *file;                   /* run; plan, info: NULL if none */
    char *names;                        /* owned; plot, verify: of its files, as io/names.h takes them */
    int argc;                           /* run, plan: the options behind the file */
    char **argv;
    char *command_line;                 /* owned; the whole of it, quoted where a shell needs it */
};

/** Understand the command line. The same on every rank, and possible before MPI has started. LW_EUSAGE if it makes no
 * sense. `cli` is to be released in any case. */
int lw_cli_parse(int argc, char **argv, struct lw_cli *cli, struct lw_error *err);

/** Whether all it asks for is help or the version: printed by lw_cli_print, which needs no MPI. */
bool lw_cli_is_text(const struct lw_cli *cli);
int lw_cli_print(const struct lw_cli *cli, struct lw_error *err);

/** Do what it asks for. LW_EIO also where what it prints does not arrive on standard output. Collective. */
int lw_cli_execute(struct lw_cli *cli, struct lw_comm *comm, struct lw_error *err);

void lw_cli_release(struct lw_cli *cli);
