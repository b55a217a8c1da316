#include "cli/cli.h"

#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "cli/help.h"
#include "cli/info.h"
#include "cli/jobfile.h"
#include "job/hints.h"
#include "options/words.h"
#include "plot/plot.h"
#include "run/each.h"
#include "run/run.h"
#include "verify/verify.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

/* ---- the command line as text, for the result's provenance ---- */

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

/* ---- parsing ---- */

static bool is_help_option(const char *argument) { return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0; }

/* Return whether --help stands behind a command, or `help` among the first two words there, unless the command takes only files. */
static bool asks_for_help(const struct lw_command *command, int argc, char **argv)
{
    const bool takes_file = command && command->takes_files && !command->words;
    for (int i = 0; i < argc; i++)
        if (is_help_option(argv[i]) || (i < 2 && !takes_file && argv[0][0] != '-' && strcmp(argv[i], "help") == 0))
            return true;
    return false;
}

static int fail_leftover(const char *argument, struct lw_error *err)
{
    if (argument[0] == '-')
        return lw_fail(err, LW_EUSAGE, "%s: no such option; options begin with two dashes", argument);
    return lw_fail(err, LW_EUSAGE, "'%s' is neither an option nor the value of one", argument);
}

static int create_options(struct lw_cli *cli, struct lw_error *err)
{
    return lw_command_options(cli->action, cli->job, cli->kind, &cli->options, err);
}

/* Check that no required option is missing. A plan without --measure writes no file, so that --output may be missing. */
static int check_complete(const struct lw_cli *cli, struct lw_error *err)
{
    const struct lw_option *const missing = lw_options_missing(cli->options);
    const bool needs_output = cli->action != LW_ACTION_PLAN || lw_options_flag(cli->options, "measure");
    const char *const command = cli->action == LW_ACTION_SYNTH ? "synth " : cli->action == LW_ACTION_FILTERS ? "filters " : "";
    const char *const operand = cli->action == LW_ACTION_PLOT ? "plot" : cli->kind ? cli->kind->name : cli->job->name;
    if (missing && (needs_output || strcmp(missing->name, "output") != 0))
        return lw_fail(err, LW_EUSAGE, "--%s is missing: give --%s %s; 'lapwing %s%s --help' explains it", missing->name,
                       missing->name, missing->argument, command, operand);
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

/* Parse the options of a job or of a kind of filters. */
static int parse_named(struct lw_cli *cli, int argc, char **argv, struct lw_error *err)
{
    const int rc = create_options(cli, err);
    return rc != LW_OK ? rc : parse_options(cli, argc, argv, err);
}

/* Return whether a word is the name of a file: it has a dot or a slash, as no job's name has. */
static bool is_jobfile(const char *word)
{
    return word[0] != '-' && strpbrk(word, "./");
}

static int fail_no_job(const char *command, const char *given, struct lw_error *err)
{
    char names[LW_WORD_LIST];
    lw_word_list(LW_WORD_JOB, ", ", names);
    if (!given || given[0] == '-')
        return lw_fail(err, LW_EUSAGE, "%s: name the job first (one of: %s), as in 'lapwing %s %s'", command, names, command,
                       lw_jobs[0]->name);
    if (is_jobfile(given))
        return lw_fail(err, LW_EUSAGE, "%s: '%s' is no job; the jobs are: %s; a job file goes with 'lapwing run' and "
                       "'lapwing plan'", command, given, names);
    return lw_fail(err, LW_EUSAGE, "%s: '%s' is no job; the jobs are: %s", command, given, names);
}

static int fail_no_kind(const char *given, struct lw_error *err)
{
    char names[LW_WORD_LIST];
    lw_word_list(LW_WORD_KIND, ", ", names);
    if (!given || given[0] == '-')
        return lw_fail(err, LW_EUSAGE, "filters: name the kind first (one of: %s), as in 'lapwing filters %s'", names,
                       lw_filter_kinds[0]->name);
    const char *const near = lw_word_nearest(LW_WORD_KIND, given);
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
    if (is_jobfile(given))
        return lw_fail(err, LW_EUSAGE, "'%s' is no command; a job file is run by 'lapwing run %s'", given, given);
    const char *const near = lw_word_nearest(LW_WORD_JOB | LW_WORD_COMMAND, given);
    return lw_fail(err, LW_EUSAGE, "'%s' is no command%s%s%s 'lapwing help' lists them", given, near ? "; did you mean " : ";",
                   near ? near : "", near ? "?" : "");
}

/* Take one word behind help: a command, a job or a kind of filters, each at most once. @return  false: the word is none of these */
static bool take_help_word(struct lw_cli *cli, const char *word)
{
    const struct lw_word found = lw_word_find(LW_WORD_COMMAND | LW_WORD_JOB | LW_WORD_KIND, word);
    if (!found.name || (found.command ? cli->command != NULL : cli->job || cli->kind))
        return false;
    cli->command = found.command ? found.command : cli->command;
    cli->job = found.job ? found.job : cli->job;
    cli->kind = found.kind ? found.kind : cli->kind;
    return true;
}

/* Return whether the words taken fit together: a job goes with run, plan or synth, a kind with filters. */
static bool makes_sense(const struct lw_cli *cli)
{
    if (!cli->command)
        return true;
    if (cli->kind)
        return cli->command->action == LW_ACTION_FILTERS;
    return !cli->job || cli->command->action == LW_ACTION_RUN_FILE || cli->command->action == LW_ACTION_PLAN ||
           cli->command->action == LW_ACTION_SYNTH;
}

/* Parse --completion [SHELL]; the default is bash. */
static int parse_completion(struct lw_cli *cli, int argc, char **argv, struct lw_error *err)
{
    const char *const shell = argc > 1 ? argv[1] : "bash";
    cli->complete = strcmp(shell, "bash") == 0 ? lw_completion_bash : strcmp(shell, "zsh") == 0 ? lw_completion_zsh : NULL;
    if (!cli->complete)
        return lw_fail(err, LW_EUSAGE, "help --completion: '%s' is no shell that lapwing knows; it knows bash and zsh", argv[1]);
    if (argc > 2)
        return lw_fail(err, LW_EUSAGE, "help: '%s' is one word too many", argv[2]);
    return LW_OK;
}

/* Parse lapwing help [--man [COMMAND | JOB] | --completion [SHELL] | COMMAND [JOB | KIND]]; the last two words in any order. */
static int parse_help(struct lw_cli *cli, int argc, char **argv, struct lw_error *err)
{
    cli->action = LW_ACTION_HELP;
    cli->command = NULL;
    cli->is_man = argc > 0 && strcmp(argv[0], "--man") == 0;
    if (argc > 0 && strcmp(argv[0], "--completion") == 0)
        return parse_completion(cli, argc, argv, err);
    for (int i = cli->is_man; i < argc; i++) {
        const bool is_all = strcmp(argv[i], "--all") == 0, is_taken = is_all || take_help_word(cli, argv[i]);
        cli->shows_all |= is_all;
        if (!is_taken && i == cli->is_man)
            return fail_no_command(argv[i], err);
        if (!is_taken || !makes_sense(cli) || (cli->is_man && (i > 1 || cli->kind)))
            return lw_fail(err, LW_EUSAGE, "help: '%s' is one word too many", argv[i]);
    }
    return LW_OK;
}

/* Parse a command line with --help behind the command: take the words up to the first that help does not know. */
static int parse_help_option(struct lw_cli *cli, int argc, char **argv)
{
    cli->action = LW_ACTION_HELP;
    take_help_word(cli, argv[0]);
    for (int i = 1; i < argc; i++)
        cli->shows_all |= strcmp(argv[i], "--all") == 0;
    for (int i = 1; i < argc; i++) {
        const struct lw_cli before = *cli;
        if (strcmp(argv[i], "help") == 0)
            continue;
        if (!take_help_word(cli, argv[i]) || !makes_sense(cli)) {
            *cli = before;
            break;
        }
    }
    return LW_OK;
}

/* Parse JOB.ini [options]. The options are kept for load_jobfile, since the job in the file decides which are allowed. */
static int parse_file(struct lw_cli *cli, int argc, char **argv, struct lw_error *err)
{
    if (argc == 0)
        return lw_fail(err, LW_EUSAGE, "run: the job file is missing, as in 'lapwing run JOB.ini'");
    if (argv[0][0] == '-')
        return lw_fail(err, LW_EUSAGE, "%s: the file comes first, as in 'lapwing run JOB.ini [options]'", argv[0]);
    cli->file = argv[0];
    cli->argc = argc - 1;
    cli->argv = argv + 1;
    return LW_OK;
}

/* Parse FILE ..., with options before and behind. info takes at most one file, plot and verify take any number. */
static int parse_files(struct lw_cli *cli, int argc, char **argv, struct lw_error *err)
{
    const int most = cli->action == LW_ACTION_INFO ? 1 : argc;
    int used, used_behind, n = 0, rc;
    if (cli->action == LW_ACTION_PLOT && (argc == 0 || argv[0][0] == '-'))
        return lw_fail(err, LW_EUSAGE, "plot: the file comes first, as in 'lapwing plot FILE:/dataset --output NAME.png'");
    if ((rc = create_options(cli, err)) || (rc = lw_options_parse(cli->options, argc, argv, &used, err)))
        return rc;
    while (used + n < argc && n < most && argv[used + n][0] != '-')
        n++;
    if (n > 0 && !(cli->names = lw_words_join(n, argv + used, "the names of files", err)))
        return LW_ESYSTEM;
    cli->file = n > 0 ? argv[used] : NULL;
    used += n;
    if ((rc = lw_options_parse(cli->options, argc - used, argv + used, &used_behind, err)))
        return rc;
    if (used + used_behind < argc)
        return fail_leftover(argv[used + used_behind], err);
    if (cli->action == LW_ACTION_VERIFY && n == 0)
        return lw_fail(err, LW_EUSAGE, "verify: the result is missing, as in 'lapwing verify RESULT.h5'");
    if (cli->action == LW_ACTION_INFO && n == 0 && lw_options_flag(cli->options, "job"))
        return lw_fail(err, LW_EUSAGE, "info --job: name the result whose job file is to be printed, as in 'lapwing info --job "
                       "RESULT.h5'");
    if (cli->action == LW_ACTION_INFO && n == 0 && lw_options_given(cli->options, "write-accel"))
        return lw_fail(err, LW_EUSAGE, "info --write-accel: name the table of candidates, as in 'lapwing info "
                       "RESULT.h5:/candidates --write-accel PREFIX'");
    return cli->action == LW_ACTION_PLOT ? check_complete(cli, err) : LW_OK;
}

static int parse_command(struct lw_cli *cli, const struct lw_command *command, int argc, char **argv, struct lw_error *err)
{
    cli->action = command->action;
    switch (command->action) {
    case LW_ACTION_HELP:
        return parse_help(cli, argc, argv, err);
    case LW_ACTION_INFO:
    case LW_ACTION_PLOT:
    case LW_ACTION_VERIFY:
        return parse_files(cli, argc, argv, err);
    case LW_ACTION_RUN_FILE:
        return parse_file(cli, argc, argv, err);
    case LW_ACTION_FILTERS:
        cli->kind = argc > 0 ? lw_word_find(LW_WORD_KIND, argv[0]).kind : NULL;
        return cli->kind ? parse_named(cli, argc - 1, argv + 1, err) : fail_no_kind(argc > 0 ? argv[0] : NULL, err);
    default:
        if (command->action == LW_ACTION_PLAN && argc > 0 && is_jobfile(argv[0]))
            return parse_file(cli, argc, argv, err);
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

    const struct lw_word word = lw_word_find(LW_WORD_JOB | LW_WORD_COMMAND, argv[1]);
    if (!word.name)
        return fail_no_command(argv[1], err);
    if (asks_for_help(word.command, argc - 2, argv + 2))
        return parse_help_option(cli, argc - 1, argv + 1);
    if (word.command)
        return parse_command(cli, word.command, argc - 2, argv + 2, err);
    cli->action = LW_ACTION_RUN;
    cli->job = word.job;
    return parse_named(cli, argc - 2, argv + 2, err);
}

void lw_cli_release(struct lw_cli *cli)
{
    lw_options_destroy(cli->options);
    lw_free(cli->command_line);
    lw_free(cli->names);
    *cli = (struct lw_cli){0};
}

/* ---- execution ---- */

bool lw_cli_is_text(const struct lw_cli *cli) { return cli->action == LW_ACTION_HELP || cli->action == LW_ACTION_VERSION; }

int lw_cli_print(const struct lw_cli *cli, struct lw_error *err)
{
    if (cli->action == LW_ACTION_VERSION)
        lw_help_version(stdout);
    else if (cli->is_man)
        lw_help_man(stdout, cli->command, cli->job);
    else if (cli->complete)
        cli->complete(stdout);
    else
        lw_help_print(stdout, cli->command, cli->job, cli->kind, cli->shows_all);
    return lw_standard_flush(err);
}

/* Take the job and its options from the job file, then the options behind the file, which override the file's. */
static int load_jobfile(struct lw_cli *cli, struct lw_comm *comm, struct lw_error *err)
{
    struct lw_options_file jobfile = {0};
    int rc;
    (void)((rc = lw_jobfile_read(comm, cli->file, false, &jobfile, err)) ||
           (rc = lw_jobfile_job(&jobfile, &cli->job, err)) ||
           (rc = create_options(cli, err)) ||
           (rc = lw_jobfile_apply(&jobfile, cli->options, err)) ||
           (rc = parse_options(cli, cli->argc, cli->argv, err)));
    lw_jobfile_release(&jobfile);
    return lw_comm_agree(comm, rc, err);
}

static void start_log(const struct lw_cli *cli, const struct lw_comm *comm)
{
    enum lw_log_level level = LW_LOG_NORMAL;
    if (lw_options_flag(cli->options, "verbose"))
        level = LW_LOG_VERBOSE;
    else if (lw_options_flag(cli->options, "quiet") || cli->action == LW_ACTION_VERIFY)     /* the run logged the rest */
        level = LW_LOG_QUIET;
    lw_log_start(lw_comm_rank(comm), lw_comm_host(comm), level);
}

/* Log what identifies this run: version, time, Slurm job and command line; then job, input and output. */
static void log_start(const struct lw_cli *cli)
{
    struct lw_instant now;
    char when[LW_INSTANT_TEXT], slurm[80] = "";
    const char *const slurm_job = getenv("SLURM_JOB_ID");
    const char *const input = lw_options_text(cli->options, "input"), *const output = lw_options_text(cli->options, "output");
    lw_instant_from_ticks((int64_t)time(NULL), 1, &now);
    if (slurm_job)
        snprintf(slurm, sizeof slurm, ", Slurm job %.40s", slurm_job);
    lw_log_info("%s, %s UTC%s: %.1500s%s", lw_version_text(), lw_instant_text(now, when), slurm, cli->command_line,
                strlen(cli->command_line) > 1500 ? " ..." : "");
    lw_log_info("%s: input %.700s%s, output %.700s", cli->job->name, input, strlen(input) > 700 ? " ..." : "", output);
}

/* Check that all ranks have the same options: ~ names different files where home folders differ. */
static int compare_options(const struct lw_cli *cli, struct lw_comm *comm, struct lw_error *err)
{
    LW_FREED char *const resolved = lw_options_resolved(cli->options, "", err);
    int rc = lw_comm_agree(comm, resolved ? LW_OK : LW_ESYSTEM, err);
    return rc ? rc : lw_comm_same(comm, "the configuration", resolved, err);
}

/* Make the job and options of a result again from the configuration in the result. */
static int rebuild_job(struct lw_comm *comm, const char *file, struct lw_verify_request *request, struct lw_error *err)
{
    struct lw_options_file jobfile = {0};
    int rc;
    if ((rc = lw_jobfile_read(comm, file, true, &jobfile, err)) == LW_OK &&
        (rc = lw_jobfile_job(&jobfile, &request->ops, err)) == LW_OK &&
        (rc = lw_command_options(LW_ACTION_RUN, request->ops, NULL, &request->options, err)) == LW_OK)
        rc = lw_jobfile_apply(&jobfile, request->options, err);
    lw_jobfile_release(&jobfile);
    return lw_comm_agree(comm, rc, err);
}

static int verify_one(const struct lw_cli *cli, struct lw_comm *comm, const char *file, struct lw_error *err)
{
    struct lw_verify_request request = {.file = file, .given = cli->options};
    int rc;
    if ((rc = lw_comm_agree(comm, lw_comm_rank(comm) == 0 ? lw_verify_check_complete(file, err) : LW_OK, err)) == LW_OK &&
        (rc = rebuild_job(comm, file, &request, err)) == LW_OK)
        rc = lw_verify_run(comm, &request, err);
    lw_options_destroy(request.options);
    return rc;
}

/* Verify several results, all of them whatever is found. The code of a wrong result (LW_EDATA) goes before that of other errors. */
static int verify_several(const struct lw_cli *cli, struct lw_comm *comm, const struct lw_names *files, struct lw_error *err)
{
    int64_t n_bad = 0;
    int code = LW_OK;
    for (const char *file = lw_names_next(files, NULL); file; file = lw_names_next(files, file)) {
        if (lw_comm_rank(comm) == 0)
            printf("%s\n", file);
        const int rc = verify_one(cli, comm, file, err);
        if (rc == LW_ESYSTEM)
            return rc;
        if (rc == LW_OK)
            continue;
        fflush(stdout);
        lw_log_error(err);
        code = code == LW_OK || rc == LW_EDATA ? rc : code;
        n_bad++;
    }
    return code == LW_OK ? LW_OK
                         : lw_fail(err, (enum lw_code)code,
                                   "%" PRId64 " of %" PRId64 " results are wrong or could not be checked; see the errors above",
                                   n_bad, files->n);
}

static int execute_verify(struct lw_cli *cli, struct lw_comm *comm, struct lw_error *err)
{
    struct lw_names files = {0};
    start_log(cli, comm);
    int rc = lw_names_find(comm, cli->names, &files, err);
    if (rc == LW_OK)
        rc = files.n == 1 ? verify_one(cli, comm, lw_names_next(&files, NULL), err) : verify_several(cli, comm, &files, err);
    lw_names_release(&files);
    return rc;
}

/* Plan for the machine that --for describes. */
static int plan_machine(const struct lw_cli *cli, struct lw_comm *comm, struct lw_error *err)
{
    const char *const text = lw_options_text(cli->options, "for");
    char name[LW_MAX_PATH];
    struct lw_machine machine;
    struct lw_options_file file = {0};
    const int length = (int)lw_machine_file(text);
    if (lw_comm_size(comm) > 1)
        return lw_fail(err, LW_EUSAGE, "--for plans on one process, for a machine that is not here: start it without a "
                       "launcher");
    if (lw_options_flag(cli->options, "measure") || lw_options_given(cli->options, "each"))
        return lw_fail(err, LW_EUSAGE, "--for plans one result and measures nothing: leave --%s out",
                       lw_options_flag(cli->options, "measure") ? "measure" : "each");
    snprintf(name, sizeof name, "%.*s", length, text);
    if (length > 0 && !is_jobfile(name))
        return lw_fail(err, LW_EUSAGE, "--for: '%s' is neither a value such as nodes=64 nor the name of a file such as cluster.ini",
                       name);
    int rc = length > 0 ? lw_jobfile_read(comm, name, false, &file, err) : LW_OK;
    rc = rc ? rc : lw_machine_parse(text, length > 0 ? &file : NULL, &machine, err);
    lw_jobfile_release(&file);
    return rc ? rc : lw_plan_machine(comm, cli->job, cli->options, &machine, cli->file, err);
}

static int execute_job(struct lw_cli *cli, struct lw_comm *comm, struct lw_error *err)
{
    start_log(cli, comm);
    const int rc = compare_options(cli, comm, err);
    if (rc != LW_OK)
        return rc;
    if (cli->action == LW_ACTION_PLAN && lw_options_given(cli->options, "for"))
        return plan_machine(cli, comm, err);
    if (cli->action == LW_ACTION_PLAN && lw_options_given(cli->options, "each"))
        return lw_each_plan(comm, cli->job, cli->options, err);
    if (cli->action == LW_ACTION_PLAN)
        return lw_plan_one(comm, cli->job, cli->options, err);
    if (cli->action == LW_ACTION_FILTERS)
        return lw_filters_run(comm, cli->kind, cli->options, cli->command_line, err);
    if (cli->action == LW_ACTION_SYNTH)
        return cli->job->synth(cli->options, comm, err);
    if (lw_options_given(cli->options, "part") && !lw_options_given(cli->options, "each"))
        return lw_fail(err, LW_EUSAGE,
                       "--each part= chooses among several results: give --each file or --each stretch before it");
    log_start(cli);
    if (lw_options_given(cli->options, "each"))
        return lw_each_run(comm, cli->job, cli->options, cli->command_line, err);
    return lw_run(comm, cli->job, cli->options, cli->command_line, err);
}

/* Run on rank 0 alone. */
static int execute_info(const struct lw_cli *cli, const struct lw_comm *comm, struct lw_error *err)
{
    struct lw_hints hints;
    if (!cli->file) {
        lw_info_build(comm);
        return LW_OK;
    }
    const int rc = lw_hints_take(cli->options, &hints, err);
    if (rc)
        return rc;
    if (lw_options_given(cli->options, "write-accel"))
        return lw_candidates_write(cli->file, lw_options_text(cli->options, "write-accel"), err);
    return lw_options_flag(cli->options, "job") ? lw_info_job(cli->file, err) : lw_info_file(cli->file, &hints, err);
}

static int execute(struct lw_cli *cli, struct lw_comm *comm, struct lw_error *err)
{
    int rc;
    switch (cli->action) {
    case LW_ACTION_HELP:
    case LW_ACTION_VERSION:
        return lw_comm_rank(comm) == 0 ? lw_cli_print(cli, err) : LW_OK;
    case LW_ACTION_INFO:
        return lw_comm_rank(comm) == 0 ? execute_info(cli, comm, err) : LW_OK;
    case LW_ACTION_PLOT:
        if ((rc = compare_options(cli, comm, err)))
            return rc;
        start_log(cli, comm);
        return lw_plot_run(comm, cli->names, cli->options, err);
    case LW_ACTION_VERIFY:
        return execute_verify(cli, comm, err);
    default:
        rc = cli->file ? load_jobfile(cli, comm, err) : LW_OK;
        return rc != LW_OK ? rc : execute_job(cli, comm, err);
    }
}

int lw_cli_execute(struct lw_cli *cli, struct lw_comm *comm, struct lw_error *err)
{
    const int rc = execute(cli, comm, err);
    return lw_comm_agree(comm, rc ? rc : lw_standard_flush(err), err);
}
