#include "cli/cli.h"

#include "base/log.h"
#include "base/memory.h"
#include "cli/help.h"
#include "cli/info.h"
#include "cli/jobfile.h"

#include <stdio.h>
#include <string.h>

enum { MAX_TABLES = 5 };

/* ---- what was typed, for the result's provenance ---- */

static void print_quoted(FILE *file, const char *argument)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%^";
    if (*argument && strspn(argument, plain) == strlen(argument)) {
        fputs(argument, file);
        return;
    }
    fputc('\'', file);
    for (; *argument; argument++)
        *argument == '\'' ? fputs("'\\''", file) : fputc(*argument, file);
    fputc('\'', file);
}

static char *join(int argc, char **argv, struct lw_error *err)
{
    char *text = NULL;
    size_t size;
    FILE *const file = open_memstream(&text, &size);
    if (file) {
        for (int i = 0; i < argc; i++) {
            fputs(i > 0 ? " " : "", file);
            print_quoted(file, argv[i]);
        }
        if (fclose(file) == 0)
            return text;
    }
    lw_free(text);
    lw_fail(err, LW_ESYSTEM, "no memory for the command line");
    return NULL;
}

/* ---- understanding ---- */

static bool is_help_option(const char *argument)
{
    return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (is_help_option(argv[i]))
            return true;
    return false;
}

static int fail_leftover(const char *argument, struct lw_error *err)
{
    if (argument[0] == '-')
        return lw_fail(err, LW_EUSAGE, "%s: no such option; options begin with two dashes", argument);
    return lw_fail(err, LW_EUSAGE, "'%s' is neither an option nor the value of one", argument);
}

static int create_options(const struct lw_cli *cli, struct lw_options **out, struct lw_error *err)
{
    const struct lw_option *tables[MAX_TABLES];
    int n = 0;
    if (cli->action == LW_ACTION_FILTERS) {
        tables[n++] = cli->kind->options;
        tables[n++] = lw_bank_options;
    } else if (cli->action == LW_ACTION_SYNTH) {
        tables[n++] = cli->job->synth_options;
    } else {
        tables[n++] = cli->job->options;
        tables[n++] = lw_common_options;
    }
    if (cli->action == LW_ACTION_PLAN)
        tables[n++] = lw_plan_options;
    tables[n++] = lw_message_options;
    tables[n] = NULL;
    return lw_options_create(tables, out, err);
}

/* What stands between "lapwing" and the options: "ols", "synth ols", "filters bandpass". */
static const char *name_command(const struct lw_cli *cli, char text[80])
{
    const char *const command = cli->action == LW_ACTION_SYNTH ? "synth " : cli->action == LW_ACTION_FILTERS ? "filters " : "";
    snprintf(text, 80, "%s%s", command, cli->kind ? cli->kind->name : cli->job->name);
    return text;
}

/* A plan that does not try the job makes no output file, so it can do without its name. */
static int check_complete(const struct lw_cli *cli, struct lw_error *err)
{
    const struct lw_option *const missing = lw_options_missing(cli->options);
    const bool needs_output = cli->action != LW_ACTION_PLAN || lw_options_flag(cli->options, "measure");
    char command[80];
    if (missing && (needs_output || strcmp(missing->name, "output") != 0))
        return lw_fail(err, LW_EUSAGE, "--%s is missing: give --%s %s; 'lapwing %s --help' explains it", missing->name,
                       missing->name, missing->argument, name_command(cli, command));
    if (lw_options_flag(cli->options, "quiet") && lw_options_flag(cli->options, "verbose"))
        return lw_fail(err, LW_EUSAGE, "--quiet and --verbose exclude each other");
    return LW_OK;
}

static int parse_options(struct lw_cli *cli, int argc, char **argv, struct lw_error *err)
{
    int used;
    const int rc = lw_options_parse(cli->options, argc, argv, &used, err);
    if (rc != LW_OK)
        return rc;
    if (used < argc)
        return fail_leftover(argv[used], err);
    return check_complete(cli, err);
}

/* The options of a job or of a kind of filters. */
static int parse_named(struct lw_cli *cli, int argc, char **argv, struct lw_error *err)
{
    const int rc = create_options(cli, &cli->options, err);
    return rc != LW_OK ? rc : parse_options(cli, argc, argv, err);
}

static int fail_no_job(const char *command, const char *given, struct lw_error *err)
{
    char names[120];
    lw_job_names(names);
    if (!given || given[0] == '-')
        return lw_fail(err, LW_EUSAGE, "%s: name the job first (one of: %s), as in 'lapwing %s %s'", command, names, command,
                       lw_jobs[0]->name);
    return lw_fail(err, LW_EUSAGE, "%s: '%s' is no job; the jobs are: %s", command, given, names);
}

static int fail_no_kind(const char *given, struct lw_error *err)
{
    char names[120];
    lw_filter_kind_names(names);
    if (!given || given[0] == '-')
        return lw_fail(err, LW_EUSAGE, "filters: name the kind first (one of: %s), as in 'lapwing filters %s'", names,
                       lw_filter_kinds[0]->name);
    const char *const near = lw_filter_kind_nearest(given);
    if (near)
        return lw_fail(err, LW_EUSAGE, "filters: '%s' is no kind of filters; did you mean %s?", given, near);
    return lw_fail(err, LW_EUSAGE, "filters: '%s' is no kind of filters; the kinds are: %s", given, names);
}

static int fail_no_command(const char *given, struct lw_error *err)
{
    if (!given)
        return lw_fail(err, LW_EUSAGE, "name a command; 'lapwing help' lists them");
    if (given[0] == '-')
        return lw_fail(err, LW_EUSAGE, "%s: the command comes first, as in 'lapwing %s [options]'", given, lw_jobs[0]->name);
    const char *const near = lw_command_nearest(given);
    return lw_fail(err, LW_EUSAGE, "'%s' is no command%s%s%s 'lapwing help' lists them", given, near ? "; did you mean " : ";",
                   near ? near : "", near ? "?" : "");
}

/* The job or kind behind a command that takes one, for its help. */
static void find_operand(struct lw_cli *cli, const char *name)
{
    if (cli->command && cli->command->action == LW_ACTION_FILTERS)
        cli->kind = lw_filter_kind_find(name);
    else
        cli->job = lw_job_find(name);
}

/* lapwing help [--man | COMMAND [JOB | KIND]] */
static int parse_help(struct lw_cli *cli, int argc, char **argv, struct lw_error *err)
{
    cli->action = LW_ACTION_HELP;
    cli->command = NULL;
    if (argc == 1 && strcmp(argv[0], "--man") == 0) {
        cli->is_man = true;
        return LW_OK;
    }
    int i = 0;
    if (i < argc && (cli->command = lw_command_find(argv[i])))
        i++;
    if (i < argc)
        find_operand(cli, argv[i]);
    i += cli->job || cli->kind;
    if (i == 0 && argc > 0)
        return fail_no_command(argv[0], err);
    return i == argc ? LW_OK : lw_fail(err, LW_EUSAGE, "help: '%s' is one word too many", argv[i]);
}

/* --help behind a command, with whatever else is there. */
static int parse_help_option(struct lw_cli *cli, int argc, char **argv)
{
    cli->action = LW_ACTION_HELP;
    cli->command = lw_command_find(argv[0]);
    if (!cli->command)
        find_operand(cli, argv[0]);
    else if (argc > 1 && cli->command->action != LW_ACTION_RUN_FILE && cli->command->action != LW_ACTION_INFO)
        find_operand(cli, argv[1]);
    return LW_OK;
}

static int parse_file(struct lw_cli *cli, int argc, char **argv, struct lw_error *err)
{
    const bool is_run = cli->action == LW_ACTION_RUN_FILE;
    if (argc > 0 && argv[0][0] == '-')
        return lw_fail(err, LW_EUSAGE, "%s: the file comes first, as in 'lapwing %s'", argv[0],
                       is_run ? "run JOB.ini [options]" : "info FILE");
    if (argc == 0 && is_run)
        return lw_fail(err, LW_EUSAGE, "run: the job file is missing, as in 'lapwing run JOB.ini'");
    if (argc > 1 && !is_run)
        return fail_leftover(argv[1], err);
    cli->file = argc > 0 ? argv[0] : NULL;
    cli->argc = argc - 1;
    cli->argv = argv + 1;
    return LW_OK;
}

static int parse_command(struct lw_cli *cli, const struct lw_command *command, int argc, char **argv, struct lw_error *err)
{
    cli->action = command->action;
    switch (command->action) {
    case LW_ACTION_HELP:
        return parse_help(cli, argc, argv, err);
    case LW_ACTION_INFO:
    case LW_ACTION_RUN_FILE:
        return parse_file(cli, argc, argv, err);
    case LW_ACTION_FILTERS:
        cli->kind = argc > 0 ? lw_filter_kind_find(argv[0]) : NULL;
        return cli->kind ? parse_named(cli, argc - 1, argv + 1, err) : fail_no_kind(argc > 0 ? argv[0] : NULL, err);
    default:
        cli->job = argc > 0 ? lw_job_find(argv[0]) : NULL;
        return cli->job ? parse_named(cli, argc - 1, argv + 1, err) : fail_no_job(command->name, argc > 0 ? argv[0] : NULL, err);
    }
}

int lw_cli_parse(int argc, char **argv, struct lw_cli *cli, struct lw_error *err)
{
    *cli = (struct lw_cli){.command_line = join(argc, argv, err)};
    if (!cli->command_line)
        return LW_ESYSTEM;
    if (argc < 2)
        return fail_no_command(NULL, err);
    if (is_help_option(argv[1]))
        return parse_help(cli, argc - 2, argv + 2, err);
    if (strcmp(argv[1], "--version") == 0) {
        cli->action = LW_ACTION_VERSION;
        return LW_OK;
    }

    const struct lw_command *const command = lw_command_find(argv[1]);
    const struct lw_job_ops *const job = lw_job_find(argv[1]);
    if (!command && !job)
        return fail_no_command(argv[1], err);
    if (asks_for_help(argc - 2, argv + 2))
        return parse_help_option(cli, argc - 1, argv + 1);
    if (command)
        return parse_command(cli, command, argc - 2, argv + 2, err);
    cli->action = LW_ACTION_RUN;
    cli->job = job;
    return parse_named(cli, argc - 2, argv + 2, err);
}

void lw_cli_release(struct lw_cli *cli)
{
    lw_options_destroy(cli->options);
    lw_free(cli->command_line);
    *cli = (struct lw_cli){0};
}

/* ---- doing ---- */

bool lw_cli_is_text(const struct lw_cli *cli)
{
    return cli->action == LW_ACTION_HELP || cli->action == LW_ACTION_VERSION;
}

void lw_cli_print(const struct lw_cli *cli)
{
    if (cli->action == LW_ACTION_VERSION)
        printf("%s\n", lw_version_text());
    else if (cli->is_man)
        lw_help_man(stdout);
    else
        lw_help_print(stdout, cli->command, cli->job, cli->kind);
}

/* Job and options from the file, then the options behind it, which override. */
static int load_jobfile(struct lw_cli *cli, struct lw_comm *comm, struct lw_error *err)
{
    struct lw_jobfile jobfile = {0};
    int rc;
    (void)((rc = lw_jobfile_read(comm, cli->file, &jobfile, err)) ||
           (rc = lw_jobfile_job(&jobfile, &cli->job, err)) ||
           (rc = create_options(cli, &cli->options, err)) ||
           (rc = lw_jobfile_apply(&jobfile, cli->options, err)) ||
           (rc = parse_options(cli, cli->argc, cli->argv, err)));
    lw_jobfile_release(&jobfile);
    return lw_comm_agree(comm, rc, err);
}

static void start_log(const struct lw_cli *cli, const struct lw_comm *comm)
{
    enum lw_log_level level = LW_LOG_NORMAL;
    if (lw_options_flag(cli->options, "quiet"))
        level = LW_LOG_QUIET;
    else if (lw_options_flag(cli->options, "verbose"))
        level = LW_LOG_VERBOSE;
    lw_log_start(lw_comm_rank(comm), lw_comm_host(comm), level);
}

static int execute_job(struct lw_cli *cli, struct lw_comm *comm, struct lw_error *err)
{
    start_log(cli, comm);
    if (cli->action == LW_ACTION_PLAN)
        return cli->job->plan(comm, cli->job, cli->options, err);
    if (cli->action == LW_ACTION_FILTERS)
        return lw_filters_run(comm, cli->kind, cli->options, cli->command_line, err);
    if (cli->action == LW_ACTION_SYNTH)
        return cli->job->synth(cli->options, comm, err);
    return cli->job->run(comm, cli->job, cli->options, cli->command_line, err);
}

int lw_cli_execute(struct lw_cli *cli, struct lw_comm *comm, struct lw_error *err)
{
    switch (cli->action) {
    case LW_ACTION_HELP:
    case LW_ACTION_VERSION:
        if (lw_comm_rank(comm) == 0)
            lw_cli_print(cli);
        return LW_OK;
    case LW_ACTION_INFO:
        if (cli->file)
            return lw_info_file(comm, cli->file, err);
        if (lw_comm_rank(comm) == 0)
            lw_info_build(comm);
        return LW_OK;
    case LW_ACTION_RUN_FILE: {
        const int rc = load_jobfile(cli, comm, err);
        return rc != LW_OK ? rc : execute_job(cli, comm, err);
    }
    default:
        return execute_job(cli, comm, err);
    }
}
