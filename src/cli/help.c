#include "cli/help.h"

#include "base/text.h"
#include "io/format.h"
#include "version.h"

#include <ctype.h>

/* ---- a page of documentation, as plain text (80 columns) or as roff for man ---- */

enum piece { HEADING, ITEM, BLOCK };

/* A page. Its writer names the sort of each piece (heading, paragraph, item, code); the format decides how the piece looks. */
struct page {
    FILE *file;                 /* borrowed */
    enum { TEXT, MAN } format;
    enum piece last;            /* sort of the piece that was written last */
};

enum { WIDTH = 80, INDENT = 2, ITEM_INDENT = 26 };

/* Write a text for roff. A dot or quote that begins a line would be a request; a plain minus would become a hyphen. */
static void roff_text(FILE *file, const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", file);
    for (; *text; text++) {
        if (*text == '\\')
            fputs("\\e", file);
        else if (*text == '-')
            fputs("\\-", file);
        else
            fputc(*text, file);
        if (*text == '\n' && (text[1] == '.' || text[1] == '\''))
            fputs("\\&", file);
    }
    fputc('\n', file);
}

/* Write `text` in lines that begin at `indent` and end before WIDTH. The first line already has `column` characters. */
static void fill(FILE *file, const char *text, int indent, int column)
{
    while (*text) {
        const int word = (int)strcspn(text, " \n");
        if (column > indent && column + 1 + word > WIDTH) {
            fputc('\n', file);
            column = 0;
        }
        if (column < indent)
            column += fprintf(file, "%*s", indent - column, "");
        else if (column > indent)
            column += fprintf(file, " ");
        column += fprintf(file, "%.*s", word, text);
        text += word;
        text += strspn(text, " \n");
    }
    fputc('\n', file);
}

static void page_heading(struct page *page, const char *text)
{
    fputs(page->format == MAN ? ".SH \"" : "\n", page->file);
    for (; *text; text++)
        fputc(page->format == MAN ? toupper((unsigned char)*text) : *text, page->file);
    fputs(page->format == MAN ? "\"\n" : "\n", page->file);
    page->last = HEADING;
}

/* Begin a piece. An empty line separates paragraphs, code and lists; none follows a heading or separates items. */
static void begin_piece(struct page *page, enum piece piece)
{
    if (page->format == TEXT && (page->last == BLOCK || (page->last == ITEM && piece == BLOCK)))
        fputc('\n', page->file);
    page->last = piece;
}

/* Write a paragraph, wrapped to lines. NULL or "": write nothing. */
static void page_paragraph(struct page *page, const char *text)
{
    if (!text || !*text)
        return;
    begin_piece(page, BLOCK);
    if (page->format == MAN) {
        fputs(".PP\n", page->file);
        roff_text(page->file, text);
    } else {
        fill(page->file, text, INDENT, 0);
    }
}

/* Write a term and its meaning: an option, a command, an exit code. */
static void page_item(struct page *page, const char *term, const char *text)
{
    begin_piece(page, ITEM);
    if (page->format == MAN) {
        fputs(".TP\n.B ", page->file);
        roff_text(page->file, term);
        roff_text(page->file, text);
        return;
    }
    int column = fprintf(page->file, "%*s%s", INDENT, "", term);
    if (column + 2 > ITEM_INDENT) {
        fputc('\n', page->file);
        column = 0;
    }
    fill(page->file, text, ITEM_INDENT, column);
}

/* Write lines as they are; newlines separate them. */
static void page_code(struct page *page, const char *lines)
{
    begin_piece(page, BLOCK);
    if (page->format == MAN) {
        fputs(".PP\n.nf\n.RS 4\n", page->file);
        roff_text(page->file, lines);
        fputs(".RE\n.fi\n", page->file);
        return;
    }
    while (*lines) {
        const int length = (int)strcspn(lines, "\n");
        fprintf(page->file, "%*s%.*s\n", length > 0 ? 2 * INDENT : 0, "", length, lines);
        lines += length + (lines[length] == '\n');
    }
}

/* ---- texts ---- */

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

static const char citing[] = "Name the version that made the results; 'lapwing info RESULT.h5' names it. Name the method's "
                             "paper, too. For BibTeX:";

static const char citation[] =
    "@software{lapwing,\n"
    "    author  = {{The lapwing authors}},\n"
    "    title   = {lapwing: filters archived survey data with {MPI} on {CPUs} and {GPUs}},\n"
    "    version = {" LW_VERSION " (commit " LW_COMMIT ")},\n"
    "    year    = {2026}\n"
    "}";

static void print_licence(struct page *page)
{
    page_heading(page, "Licence");
    page_paragraph(page, licence);
    page_heading(page, "To cite it");
    page_paragraph(page, citing);
    page_code(page, citation);
    page_heading(page, "Papers of the methods");
    for (int j = 0; lw_jobs[j]; j++)
        page_item(page, lw_jobs[j]->name, lw_jobs[j]->paper);
}

/* ---- options ---- */

/* State of printing help: where it goes, and how much is printed. */
struct help {
    struct page page;
    bool shows_all;             /* also print rarely needed options */
    bool is_brief;              /* print only the first sentence of each option, and no options within others */
    int n_left_out;
};

/* Write an option's term: "--mode full|same|valid", "--start SAMPLE", "--overwrite". Brief terms do not list long choices. */
static void option_term(const struct lw_option *option, bool is_brief, char *term, size_t size)
{
    const bool has_choices = option->kind == LW_OPTION_CHOICE && !(is_brief && option->argument);
    const char *const argument = has_choices ? option->choices : option->argument;
    snprintf(term, size, "--%s%s%s", option->name, argument ? " " : "", argument ? argument : "");
}

enum { TERM_WIDTH = 78 };       /* longer terms do not list the options within them */

/* Print an option: its help, and the options of the same table that are written within its value. */
static void print_option(struct help *help, const struct lw_option *option, const struct lw_option *table)
{
    char term[240], text[4096];
    const char *const stop = strstr(option->help, ". ");
    const int length = help->is_brief && stop ? (int)(stop - option->help) + 1 : (int)strlen(option->help);
    option_term(option, help->is_brief, term, sizeof term);
    snprintf(text, sizeof text, "%.*s%s%s%s%s", length, option->help, option->is_required ? " Required." : "",
             option->fallback ? " Default: " : "", option->fallback ? option->fallback : "", option->fallback ? "." : "");
    for (const struct lw_option *part = table; part->name && !help->is_brief; part++) {
        if (!part->within || strcmp(part->within, option->name) != 0)
            continue;
        const bool is_flag = part->kind == LW_OPTION_FLAG;
        char word[80];
        snprintf(word, sizeof word, "%s%s%s", part->word, is_flag ? "" : "=", is_flag ? "" : part->argument);
        if (strlen(term) + strlen(word) + strlen("[,]") < TERM_WIDTH)
            lw_append(term, sizeof term, "[,%s]", word);
        lw_append(text, sizeof text, " With %s: %s%s%s%s", word, part->help, part->fallback ? " Default: " : "",
                  part->fallback ? part->fallback : "", part->fallback ? "." : "");
    }
    page_item(&help->page, term, text);
}

/* Print the options of one group in sections begin .. end - 1, except options that an earlier section has, too. */
static void print_group(struct help *help, const struct lw_section *sections, int begin, int end, enum lw_option_group wanted,
                        const char *heading)
{
    bool has_heading = false;
    for (int i = begin; i < end; i++) {
        enum lw_option_group group = LW_GROUP_OWN;
        for (const struct lw_option *option = sections[i].table; option && option->name; option++) {
            group = option->group != LW_GROUP_SAME ? option->group : group;
            if (group != wanted || !lw_option_is_own(option) || lw_section_replaces(sections, i, option->name))
                continue;
            if (option->is_rare && !help->shows_all) {
                help->n_left_out++;
                continue;
            }
            if (!has_heading)
                page_heading(&help->page, heading);
            has_heading = true;
            print_option(help, option, sections[i].table);
        }
    }
}

/* Print the options of all sections: the own options of each section, then group by group those that all sections share. */
static void print_sections(struct help *help, const struct lw_section *sections, int n)
{
    static const char *const headings[] = {
        [LW_GROUP_SAME] = NULL,
#define X(name, heading) [LW_GROUP_##name] = heading,
        LW_OPTION_GROUPS(X)
#undef X
    };
    for (int i = 0; i < n; i++) {
        char heading[80];
        snprintf(heading, sizeof heading, "%s%s", sections[i].heading, sections[i].name);
        print_group(help, sections, i, i + 1, LW_GROUP_OWN, heading);
    }
    for (int group = LW_GROUP_OWN + 1; group < LW_N_GROUPS; group++)
        print_group(help, sections, 0, n, (enum lw_option_group)group, headings[group]);
}

/* ---- the overview ---- */

/* Print the words of a sort with their titles. @param is_whole  also print the operands of commands */
static void print_words(struct page *page, const char *heading, unsigned sort, bool is_whole)
{
    struct lw_word word;
    page_heading(page, heading);
    for (int i = 0; (word = lw_word_at(sort, i)).name; i++) {
        char term[80];
        snprintf(term, sizeof term, "%s%s%s", word.name, is_whole ? " " : "", is_whole ? word.command->operands : "");
        page_item(page, term, word.title);
    }
}

static void print_exit_codes(struct page *page)
{
    page_heading(page, "Exit status");
#define X(name, value, text) page_item(page, #value, text);
    LW_ERROR_CODES(X)
#undef X
}

static void print_usage_heading(struct page *page)
{
    page_heading(page, page->format == MAN ? "Synopsis" : "Usage");
}

static void print_overview(struct page *page)
{
    print_usage_heading(page);
    page_code(page, "lapwing COMMAND [options]\nmpirun -np RANKS lapwing COMMAND [options]");
    page_paragraph(page, summary);
    page_paragraph(page, naming);
    page_paragraph(page, units);
    print_words(page, "Jobs", LW_WORD_JOB, false);
    print_words(page, "Other commands", LW_WORD_COMMAND, true);
    page_heading(page, "Formats of input");
    for (const struct lw_format *const *format = lw_formats_all(); *format; format++)
        page_item(page, (*format)->name, (*format)->file_text);
    page_heading(page, "More");
    page_item(page, "lapwing COMMAND --help", "what a command does and its options");
    page_item(page, "lapwing --version", "version and commit, licence, and how to cite lapwing");
    print_exit_codes(page);
}

/* ---- one command or job ---- */

enum { USAGE_SIZE = 400, USAGE_WIDTH = 72 };

/* Append a word to the usage, on a new line if it does not fit the last one. */
static void append_word(char usage[USAGE_SIZE], const char *word)
{
    const size_t length = strlen(usage);
    const char *const last = strrchr(usage, '\n');
    const size_t column = length - (last ? (size_t)(last - usage) : 0);
    lw_append(usage, USAGE_SIZE, "%s%s", column + strlen(word) > USAGE_WIDTH ? "\n    " : " ", word);
}

static void append_required(char usage[USAGE_SIZE], const struct lw_option *table)
{
    for (; table && table->name; table++) {
        char term[160];
        option_term(table, false, term, sizeof term);
        if (table->is_required)
            append_word(usage, term);
    }
}

/* Write the words before the options: "lapwing ols", "lapwing filters bandpass", "lapwing plan ols". */
static void command_words(const struct lw_command *command, const struct lw_job_ops *job, const struct lw_filter_kind *kind,
                          char words[USAGE_SIZE])
{
    const char *const first = kind ? "filters" : command ? command->name : job->name;
    const char *const second = kind ? kind->name : command && job ? job->name : "";
    snprintf(words, USAGE_SIZE, "lapwing %s%s%s", first, *second ? " " : "", second);
}

static void print_usage(struct page *page, const struct lw_command *command, const struct lw_job_ops *job,
                        const struct lw_filter_kind *kind)
{
    const bool takes_file = command && command->action == LW_ACTION_RUN_FILE;
    char usage[USAGE_SIZE];
    command_words(command, takes_file ? NULL : job, kind, usage);
    if (kind) {
        append_required(usage, kind->options);
        append_required(usage, lw_bank_options);
    } else if (!command) {
        append_required(usage, lw_common_options);
        append_required(usage, job->options);
    } else if (takes_file || !job) {
        lw_append(usage, USAGE_SIZE, " %s", command->operands);
    } else if (command->action == LW_ACTION_SYNTH) {
        append_required(usage, job->synth_options);
    }
    if (kind || (job && !takes_file))
        append_word(usage, "[options]");
    print_usage_heading(page);
    page_code(page, usage);
}

/* Return an example. The job's own is also for synth. Another command's example names one job; for other jobs: NULL. */
static const char *example_of(const struct lw_command *command, const struct lw_job_ops *job)
{
    if (job && (!command || command->action == LW_ACTION_SYNTH))
        return job->example;
    return !job || command->action == LW_ACTION_RUN_FILE || strstr(command->example, job->name) ? command->example : NULL;
}

static void print_command(struct help *help, const struct lw_command *command, const struct lw_job_ops *job,
                          const struct lw_filter_kind *kind)
{
    const enum lw_action action = kind ? LW_ACTION_FILTERS : command ? command->action : LW_ACTION_RUN;
    help->is_brief = !help->shows_all && job && action != LW_ACTION_SYNTH;
    struct lw_section sections[LW_COMMAND_SECTIONS];
    const int n = lw_command_sections(action, job, kind, sections);
    const char *const example = kind ? kind->example : example_of(command, job);
    char words[USAGE_SIZE], rest[2 * USAGE_SIZE];
    print_usage(&help->page, command, job, kind);
    page_paragraph(&help->page, kind ? kind->description : command ? command->description : job->description);
    if (n == 0 && action != LW_ACTION_HELP) {
        print_words(&help->page, "Jobs", LW_WORD_JOB, false);
        page_paragraph(&help->page, "'lapwing help JOB' lists the options of a job.");
    }
    if (action == LW_ACTION_FILTERS && !kind) {
        print_words(&help->page, "Kinds", LW_WORD_KIND, false);
        page_paragraph(&help->page, "'lapwing filters KIND --help' describes a kind and lists its options.");
    }
    for (int i = 0; i < n && action == LW_ACTION_SYNTH; i++)        /* options of different jobs have the same names */
        print_sections(help, sections + i, 1);
    if (action != LW_ACTION_SYNTH)
        print_sections(help, sections, n);
    command_words(command, job, kind, words);
    if (help->n_left_out > 0) {
        snprintf(rest, sizeof rest, "'lapwing help %s --all' explains these options in full, and has %d more.",
                 words + strlen("lapwing "), help->n_left_out);
        page_heading(&help->page, "All options");
        page_paragraph(&help->page, rest);
    }
    if (example) {
        page_heading(&help->page, "Example");
        page_code(&help->page, example);
    }
}

void lw_help_print(FILE *file, const struct lw_command *command, const struct lw_job_ops *job, const struct lw_filter_kind *kind,
                   bool shows_all)
{
    struct help help = {.page = {.file = file, .format = TEXT}, .shows_all = shows_all};
    char words[USAGE_SIZE];
    if (!command && !job && !kind) {
        fprintf(file, "lapwing - filters archived survey data\n");
        print_overview(&help.page);
        return;
    }
    command_words(command, job, kind, words);
    fprintf(file, "%s - %s\n", words, kind ? kind->title : command ? command->title : job->title);
    print_command(&help, command, job, kind);
}

/* ---- manual pages ---- */

/* Print the header of a manual page for roff, and its section Name. */
static void begin_man(struct page *page, const char *name, const char *title)
{
    char text[200];
    fprintf(page->file, ".TH %s 1 \"\" \"lapwing " LW_VERSION "\"\n", name);
    page_heading(page, "Name");
    snprintf(text, sizeof text, "%s - %s", name, title);
    page_paragraph(page, text);
}

static void print_man_kinds(struct help *help)
{
    for (int i = 0; lw_filter_kinds[i]; i++) {
        const struct lw_filter_kind *const kind = lw_filter_kinds[i];
        print_sections(help, &(struct lw_section){"Options of ", kind->name, kind->options}, 1);
        page_paragraph(&help->page, kind->description);
        page_code(&help->page, kind->example);
    }
}

void lw_help_man(FILE *file, const struct lw_command *command, const struct lw_job_ops *job)
{
    struct help help = {.page = {.file = file, .format = MAN}, .shows_all = true};
    struct page *const page = &help.page;
    const bool is_overview = !command && !job;
    char name[80] = "lapwing";
    if (is_overview) {
        begin_man(page, name, "filters archived survey data with MPI on CPUs and GPUs");
        print_overview(page);
        print_licence(page);
    } else {
        snprintf(name, sizeof name, "lapwing-%s", command ? command->name : job->name);
        begin_man(page, name, command ? command->title : job->title);
        print_command(&help, command, job, NULL);
    }
    if (job && !command) {
        page_heading(page, "Paper of the method");
        page_paragraph(page, job->paper);
    }
    if (command && command->action == LW_ACTION_FILTERS)
        print_man_kinds(&help);
    page_heading(page, "See also");
    page_paragraph(page, is_overview ? "lapwing-ols(1), lapwing-conv2d(1), lapwing-sfft(1), lapwing-accel(1), lapwing-filters(1), "
                                       "lapwing-plan(1), lapwing-synth(1), lapwing-run(1), lapwing-info(1), lapwing-plot(1), "
                                       "lapwing-verify(1), lapwing-formats(5), lapwing-results(5), lapwing-jobfile(5), mpirun(1), "
                                       "srun(1)"
                                     : "lapwing(1), lapwing-formats(5), lapwing-results(5), lapwing-jobfile(5)");
}

/* ---- the version ---- */

void lw_help_version(FILE *file)
{
    struct page page = {.file = file, .format = TEXT};
    fprintf(file, "%s\n", lw_version_text());
    print_licence(&page);
}

const char *lw_version_text(void) { return "lapwing " LW_VERSION " (commit " LW_COMMIT ")"; }
