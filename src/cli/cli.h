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

#include <stdio.h>

/* A parsed command line. Texts are borrowed from argv unless a field is owned. */
struct lw_cli {
    enum lw_action action;
    const struct lw_command *command;   /* help: command to explain; NULL: none is named */
    const struct lw_job_ops *job;       /* the job that is named; NULL: none */
    const struct lw_filter_kind *kind;  /* filters and help: kind of filters that is named; NULL: none */
    struct lw_options *options;         /* owned; options that are set; NULL: none, or the job file is not read yet */
    bool is_man;                        /* help: print a manual page */
    bool shows_all;                     /* help: also list rarely needed options */
    void (*complete)(FILE *file);       /* help: function that prints a shell's completion script; NULL: not asked for */
    const char *file;                   /* run, plan: job file; info: file to show; NULL: no such file */
    char *names;                        /* owned; plot, verify: names of files, in the form of io/names.h */
    int argc;                           /* run, plan: number of words behind the job file, which are options */
    char **argv;
    char *command_line;                 /* owned; the whole command line, with quotes as a shell needs them */
};

/** Parse a command line. All ranks get the same result; MPI is not needed. LW_EUSAGE, LW_ESYSTEM. Release `cli` in any case. */
int lw_cli_parse(int argc, char **argv, struct lw_cli *cli, struct lw_error *err);

/** Return whether the command is help or version, which lw_cli_print prints without MPI. */
bool lw_cli_is_text(const struct lw_cli *cli);
int lw_cli_print(const struct lw_cli *cli, struct lw_error *err);

/** Execute the command. LW_EIO, beside the command's errors: the output does not arrive on standard output. Collective. */
int lw_cli_execute(struct lw_cli *cli, struct lw_comm *comm, struct lw_error *err);

void lw_cli_release(struct lw_cli *cli);
