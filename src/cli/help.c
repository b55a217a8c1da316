#include "cli/help.h"

#include "cli/page.h"
#include "io/format.h"
#include "plot/plot.h"
#include "verify/verify.h"
#include "version.h"

#include <string.h>

static const char summary[] =
    "Filters archived survey data, too large for one machine's memory if need be, on the cores or GPUs of one or many "
    "nodes. Started by mpirun or srun, its ranks share the work and write one HDF5 file; the result does not depend on "
    "how many there are.";

static const char naming[] = "A dataset is named FILE:/PATH, for example survey.h5:/signal.";

static const char units[] =
    "Whole numbers may be written 4096, 2^20, 1e6 or 16M (k, M, G, T: powers of 1000), sizes in bytes 512M, 4GB or 1.5GiB (powers "
    "of 1024, all of them), times 0.5, 20ms, 500us, 2min, 1h or 3d (a number alone: seconds), frequencies and rates 500, 5mHz, "
    "4kHz or 1.2MHz (a number alone: Hz).";

static const char licence[] =
    "Copyright (c) 2026, the lapwing authors. BSD 3-Clause licence: free to use, change and pass on, with this notice; without any "
    "warranty.";

static const char citing[] = "Name the version that made the results; 'lapwing info RESULT.h5' says which that was. For BibTeX:";

static const char citation[] =
    "@software{lapwing,\n"
    "    author  = {{The lapwing authors}},\n"
    "    title   = {lapwing: filters archived survey data with {MPI} on {CPUs} and {GPUs}},\n"
    "    version = {" LW_VERSION " (commit " LW_COMMIT ")},\n"
    "    year    = {2026}\n"
    "}";

/* ---- options ---- */

/* "--mode full|same|valid", "--start SAMPLE", "--overwrite" */
static void option_term(const struct lw_option *option, char *term, size_t size)
{
    const char *const argument = option->kind == LW_OPTION_CHOICE ? option->choices : option->argument;
    snprintf(term, size, "--%s%s%s", option->name, argument ? " " : "", argument ? argument : "");
}

static void print_option(struct lw_page *page, const struct lw_option *option)
{
    char term[160], text[1024], remark[80] = "";
    option_term(option, term, sizeof term);
    if (option->is_required)
        snprintf(remark, sizeof remark, " Required.");
    else if (option->fallback)
        snprintf(remark, sizeof remark, " Default: %s.", option->fallback);
    snprintf(text, sizeof text, "%s%s", option->help, remark);
    lw_page_item(page, term, text);
}

/* The options of a table, but those that `replacing`, which may be NULL, has too. */
static void print_remaining(struct lw_page *page, const char *heading, const struct lw_option *table,
                            const struct lw_option *replacing)
{
    if (!table || !table->name)
        return;
    lw_page_heading(page, heading);
    for (const struct lw_option *option = table; option->name; option++)
        if (option->kind != LW_OPTION_NONE && !lw_option_find(replacing, option->name))
            print_option(page, option);
}

static void print_options(struct lw_page *page, const char *heading, const struct lw_option *table)
{
    print_remaining(page, heading, table, NULL);
}

/* "Options of synth " and "ols" */
static void print_named_options(struct lw_page *page, const char *whose, const char *name, const struct lw_option *table)
{
    char heading[80];
    snprintf(heading, sizeof heading, "%s%s", whose, name);
    print_options(page, heading, table);
}

/* ---- the overview ---- */

static void print_jobs(struct lw_page *page)
{
    lw_page_heading(page, "Jobs");
    for (int i = 0; lw_jobs[i]; i++)
        lw_page_item(page, lw_jobs[i]->name, lw_jobs[i]->title);
}

static void print_kinds(struct lw_page *page)
{
    lw_page_heading(page, "Kinds");
    for (int i = 0; lw_filter_kinds[i]; i++)
        lw_page_item(page, lw_filter_kinds[i]->name, lw_filter_kinds[i]->title);
    lw_page_paragraph(page, "'lapwing filters KIND --help' says more and lists the options of a kind.");
}

static void print_commands(struct lw_page *page)
{
    print_jobs(page);
    lw_page_heading(page, "Other commands");
    for (const struct lw_command *command = lw_commands; command->name; command++) {
        char term[80];
        snprintf(term, sizeof term, "%s %s", command->name, command->operands);
        lw_page_item(page, term, command->title);
    }
}

static void print_formats(struct lw_page *page)
{
    lw_page_heading(page, "Formats of input");
    for (const struct lw_format *const *format = lw_formats_all(); *format; format++)
        lw_page_item(page, (*format)->name, (*format)->file_text);
}

static void print_exit_codes(struct lw_page *page)
{
    lw_page_heading(page, "Exit status");
#define X(name, value, text) lw_page_item(page, #value, text);
    LW_ERROR_CODES(X)
#undef X
}

static void print_overview(struct lw_page *page)
{
    lw_page_heading(page, "Usage");
    lw_page_code(page, "lapwing COMMAND [options]\nmpirun -np RANKS lapwing COMMAND [options]");
    lw_page_paragraph(page, summary);
    lw_page_paragraph(page, naming);
    lw_page_paragraph(page, units);
    print_commands(page);
    print_formats(page);
    lw_page_heading(page, "More");
    lw_page_item(page, "lapwing COMMAND --help", "what a command does and its options");
    lw_page_item(page, "lapwing --version", "version and commit, licence, and how to cite lapwing");
    print_exit_codes(page);
}

/* ---- one command or job ---- */

enum { USAGE_SIZE = 400, USAGE_WIDTH = 72 };

static void print_usage(struct lw_page *page, const char *usage)
{
    lw_page_heading(page, "Usage");
    lw_page_code(page, usage);
}

/* Append a word, in a new line where it would not fit the last one. */
static void append_word(char usage[USAGE_SIZE], const char *word)
{
    const size_t length = strlen(usage);
    const char *const last = strrchr(usage, '\n');
    const size_t column = length - (last ? (size_t)(last - usage) : 0);
    snprintf(usage + length, USAGE_SIZE - length, "%s%s", column + strlen(word) > USAGE_WIDTH ? "\n    " : " ", word);
}

static void append_required(char usage[USAGE_SIZE], const struct lw_option *table)
{
    for (; table && table->name; table++) {
        char term[160];
        option_term(table, term, sizeof term);
        if (table->is_required)
            append_word(usage, term);
    }
}

static void print_example(struct lw_page *page, const char *example)
{
    if (!example)
        return;
    lw_page_heading(page, "Example");
    lw_page_code(page, example);
}

static void print_job(struct lw_page *page, const struct lw_job_ops *job)
{
    char usage[USAGE_SIZE];
    snprintf(usage, sizeof usage, "lapwing %s", job->name);
    append_required(usage, lw_common_options);
    append_required(usage, job->options);
    append_word(usage, "[options]");
    print_usage(page, usage);
    lw_page_paragraph(page, job->description);
    print_named_options(page, "Options of ", job->name, job->options);
    print_remaining(page, "Common options", lw_common_options, job->options);
    print_options(page, "Messages", lw_message_options);
    print_example(page, job->example);
}

/* A job's own example begins with its synthetic input; a command's names one job, and is none for the others. */
static const char *example_of(const struct lw_command *command, const struct lw_job_ops *job)
{
    if (job && command->action == LW_ACTION_SYNTH)
        return job->example;
    return !job || command->action == LW_ACTION_RUN_FILE || strstr(command->example, job->name) ? command->example : NULL;
}

static void print_kind(struct lw_page *page, const struct lw_filter_kind *kind)
{
    char usage[USAGE_SIZE];
    snprintf(usage, sizeof usage, "lapwing filters %s", kind->name);
    append_required(usage, kind->options);
    append_required(usage, lw_bank_options);
    append_word(usage, "[options]");
    print_usage(page, usage);
    lw_page_paragraph(page, kind->description);
    print_named_options(page, "Options of filters ", kind->name, kind->options);
    print_options(page, "Options of every kind", lw_bank_options);
    print_options(page, "Messages", lw_message_options);
    print_example(page, kind->example);
}

static void print_command(struct lw_page *page, const struct lw_command *command, const struct lw_job_ops *job)
{
    char usage[USAGE_SIZE];
    const bool takes_file = command->action == LW_ACTION_RUN_FILE;
    snprintf(usage, sizeof usage, "lapwing %s %s", command->name, job && !takes_file ? job->name : command->operands);
    if (job && command->action == LW_ACTION_SYNTH)
        append_required(usage, job->synth_options);
    if (job && !takes_file)
        append_word(usage, "[options]");
    print_usage(page, usage);
    lw_page_paragraph(page, command->description);
    if (command->action == LW_ACTION_SYNTH) {
        for (int i = 0; lw_jobs[i]; i++)
            if (!job || job == lw_jobs[i])
                print_named_options(page, "Options of synth ", lw_jobs[i]->name, lw_jobs[i]->synth_options);
        print_options(page, "Messages", lw_message_options);
    } else if (job) {
        print_named_options(page, "Options of ", job->name, job->options);
        print_remaining(page, "Common options", lw_common_options, job->options);
        print_options(page, "Options of plan", takes_file ? NULL : lw_plan_options);
        print_options(page, "Messages", lw_message_options);
    } else if (command->action == LW_ACTION_PLAN || takes_file) {
        print_jobs(page);
        lw_page_paragraph(page, "'lapwing help JOB' lists the options of a job.");
    } else if (command->action == LW_ACTION_PLOT) {
        print_options(page, "Options", lw_plot_options);
        print_options(page, "Messages", lw_message_options);
    } else if (command->action == LW_ACTION_VERIFY) {
        print_options(page, "Options", lw_verify_options);
        print_options(page, "Messages", lw_message_options);
    } else if (command->action == LW_ACTION_INFO) {
        print_options(page, "Options of info", lw_info_options);
    } else if (command->action == LW_ACTION_FILTERS) {
        print_kinds(page);
        print_options(page, "Options of every kind", lw_bank_options);
        print_options(page, "Messages", lw_message_options);
    }
    print_example(page, example_of(command, job));
}

void lw_help_print(FILE *file, const struct lw_command *command, const struct lw_job_ops *job, const struct lw_filter_kind *kind)
{
    struct lw_page page = {.file = file, .format = LW_PAGE_TEXT};
    if (kind)
        fprintf(file, "lapwing filters %s - %s\n", kind->name, kind->title);
    else if (command)
        fprintf(file, "lapwing %s%s%s - %s\n", command->name, job ? " " : "", job ? job->name : "", command->title);
    else if (job)
        fprintf(file, "lapwing %s - %s\n", job->name, job->title);
    else
        fprintf(file, "lapwing - filters archived survey data\n");

    if (kind)
        print_kind(&page, kind);
    else if (command)
        print_command(&page, command, job);
    else if (job)
        print_job(&page, job);
    else
        print_overview(&page);
}

/* ---- the man page ---- */

static void print_man_command(struct lw_page *page, const char *name, const char *operands, const char *description,
                              const char *example)
{
    char heading[120];
    snprintf(heading, sizeof heading, "lapwing %s %s", name, operands);
    lw_page_subheading(page, heading);
    lw_page_paragraph(page, description);
    lw_page_code(page, example);
}

static void print_man_commands(struct lw_page *page)
{
    lw_page_heading(page, "Commands");
    for (int i = 0; lw_jobs[i]; i++)
        print_man_command(page, lw_jobs[i]->name, "[options]", lw_jobs[i]->description, lw_jobs[i]->example);
    for (const struct lw_command *command = lw_commands; command->name; command++)
        print_man_command(page, command->name, command->operands, command->description, command->example);
    for (int i = 0; lw_filter_kinds[i]; i++) {
        char name[80];
        snprintf(name, sizeof name, "filters %s", lw_filter_kinds[i]->name);
        print_man_command(page, name, "[options]", lw_filter_kinds[i]->description, lw_filter_kinds[i]->example);
    }
}

static void print_man_options(struct lw_page *page)
{
    for (int i = 0; lw_jobs[i]; i++)
        print_named_options(page, "Options of ", lw_jobs[i]->name, lw_jobs[i]->options);
    print_options(page, "Common options", lw_common_options);
    print_options(page, "Options of plan", lw_plan_options);
    print_options(page, "Options of info", lw_info_options);
    for (int i = 0; lw_jobs[i]; i++)
        print_named_options(page, "Options of synth ", lw_jobs[i]->name, lw_jobs[i]->synth_options);
    for (int i = 0; lw_filter_kinds[i]; i++)
        print_named_options(page, "Options of filters ", lw_filter_kinds[i]->name, lw_filter_kinds[i]->options);
    print_options(page, "Options of every kind of filters", lw_bank_options);
    print_options(page, "Options of plot", lw_plot_options);
    print_options(page, "Options of verify", lw_verify_options);
    print_options(page, "Options of every job, of synth, filters, plot and verify", lw_message_options);
}

void lw_help_man(FILE *file)
{
    struct lw_page page = {.file = file, .format = LW_PAGE_MAN};
    lw_page_title(&page, "LAPWING", "lapwing " LW_VERSION);
    lw_page_heading(&page, "Name");
    lw_page_paragraph(&page, "lapwing - filters archived survey data with MPI on CPUs and GPUs");
    lw_page_heading(&page, "Synopsis");
    lw_page_code(&page, "lapwing COMMAND [options]\nmpirun -np RANKS lapwing COMMAND [options]");
    lw_page_heading(&page, "Description");
    lw_page_paragraph(&page, summary);
    lw_page_paragraph(&page, naming);
    lw_page_paragraph(&page, units);
    print_man_commands(&page);
    print_man_options(&page);
    print_formats(&page);
    print_exit_codes(&page);
    lw_page_heading(&page, "Licence");
    lw_page_paragraph(&page, licence);
    lw_page_heading(&page, "To cite it");
    lw_page_paragraph(&page, citing);
    lw_page_code(&page, citation);
    lw_page_heading(&page, "See also");
    lw_page_paragraph(&page, "mpirun(1), srun(1), h5dump(1)");
}

/* ---- the version ---- */

void lw_help_version(FILE *file)
{
    struct lw_page page = {.file = file, .format = LW_PAGE_TEXT};
    fprintf(file, "%s\n", lw_version_text());
    lw_page_heading(&page, "Licence");
    lw_page_paragraph(&page, licence);
    lw_page_heading(&page, "To cite it");
    lw_page_paragraph(&page, citing);
    lw_page_code(&page, citation);
}

const char *lw_version_text(void)
{
    return "lapwing " LW_VERSION " (commit " LW_COMMIT ")";
}
