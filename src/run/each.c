#include "run/each.h"

#include "base/integers.h"
#include "base/log.h"
#include "base/memory.h"
#include "io/list.h"
#include "io/read/stretches.h"
#include "io/shield.h"
#include "io/write/result_file.h"
#include "options/words.h"
#include "run/run.h"
#include "setup/choice.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static_assert(LW_EACH_FILE == 0 && LW_EACH_STRETCH == 1, "order of --each");

/* The groups of --each, and the part of them to make. */
struct each {
    struct lw_comm *comm;
    struct lw_names groups;     /* groups: the input of each result */
    char *output;               /* --output as given; owned */
    bool is_pattern;            /* `output` contains {} */
    int64_t begin, end;         /* groups to make */
    struct lw_beside *beside;   /* neighbours of each input, whose samples outputs near its ends need; NULL: unused */
    int64_t reach;              /* most samples beyond an end of an input that an output needs */
};

/* ---- names of results -------------------------------------------------------------------------------------------------- */

/* Find the stem of a group's result: its first file's name without folder and ending; "-3" follows for stretch #3 of the file. */
static int find_stem(const char *group, char stem[LW_MAX_PATH], struct lw_error *err)
{
    char name[2 * LW_MAX_PATH + 2];
    struct lw_object object;
    if (!lw_words_take(group, name, sizeof name))
        return lw_fail(err, LW_EUSAGE, "the name '%.200s...' is too long", group);
    const int rc = lw_object_parse(name, &object, err);
    if (rc)
        return rc;
    const char *const base = lw_last_part(object.file), *const dot = strrchr(base, '.');
    const char *const stretch = strrchr(object.path, '#');
    const bool is_number = stretch && stretch[1] && strspn(stretch + 1, "0123456789") == strlen(stretch + 1);
    snprintf(stem, LW_MAX_PATH, "%.*s%s%s", dot && dot > base ? (int)(dot - base) : (int)strlen(base), base, is_number ? "-" : "",
             is_number ? stretch + 1 : "");
    return LW_OK;
}

static int name_result(const struct each *each, const char *group, char name[LW_MAX_PATH], struct lw_error *err)
{
    char stem[LW_MAX_PATH];
    const int rc = find_stem(group, stem, err);
    if (rc)
        return rc;
    const char *const place = strstr(each->output, "{}");
    const int length = place ? snprintf(name, LW_MAX_PATH, "%.*s%s%s", (int)(place - each->output), each->output, stem, place + 2)
                             : snprintf(name, LW_MAX_PATH, "%s/%s.h5", each->output, stem);
    return length < LW_MAX_PATH ? LW_OK : lw_fail(err, LW_EUSAGE, "the name '%.200s...' is longer than %d characters", name,
                                                   LW_MAX_PATH - 1);
}

static int compare_texts(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Refuse equal names of results. Groups of other parts are compared, too: other processes may make them at the same time. */
static int check_names(const struct each *each, struct lw_error *err)
{
    const int64_t n = each->groups.n;
    LW_FREED char *const names = lw_alloc_array(n, LW_MAX_PATH, "the names of results", err);
    LW_FREED char **const order = lw_alloc_array(n, sizeof *order, "the names of results", err);
    int rc = names && order ? LW_OK : LW_ESYSTEM;
    int64_t i = 0;
    for (const char *group = lw_names_next(&each->groups, NULL); rc == LW_OK && group;
         group = lw_names_next(&each->groups, group), i++) {
        order[i] = names + i * LW_MAX_PATH;
        rc = name_result(each, group, order[i], err);
    }
    if (rc == LW_OK)
        qsort(order, (size_t)n, sizeof *order, compare_texts);
    for (i = 1; rc == LW_OK && i < n; i++)
        if (strcmp(order[i - 1], order[i]) == 0)
            rc = lw_fail(err, LW_EUSAGE, "two inputs would have the same result, %s, because their files have the same name: run "
                         "their folders one by one, each with its own --output", order[i]);
    return rc;
}

/* ---- the groups to make -------------------------------------------------------------------------------------------------- */

static int choose_part(const struct lw_options *options, struct each *each, struct lw_error *err)
{
    const char *const text = lw_options_text(options, "part");
    int64_t part, parts;
    int used = 0;
    each->begin = 0;
    each->end = each->groups.n;
    if (!text)
        return LW_OK;
    if (sscanf(text, "%" SCNd64 "/%" SCNd64 "%n", &part, &parts, &used) != 2 || text[used] || part < 0 || part >= parts ||
        parts > 1000000)
        return lw_fail(err, LW_EUSAGE, "--each part=%s is not I/N with 0 <= I < N, such as 0/8 for the first of 8 parts", text);
    each->begin = each->groups.n / parts * part + each->groups.n % parts * part / parts;
    each->end = each->groups.n / parts * (part + 1) + each->groups.n % parts * (part + 1) / parts;
    return LW_OK;
}

static int keep_output(const struct lw_options *options, struct each *each, struct lw_error *err)
{
    const char *const output = lw_options_text(options, "output");
    struct stat status;
    if (!output)
        return lw_fail(err, LW_EUSAGE, "--output is missing: give the folder for the results");
    const bool is_folder = stat(output, &status) == 0 && S_ISDIR(status.st_mode), is_pattern = strstr(output, "{}") != NULL;
    const char *const ending = lw_setup_ending(output);
    if (!is_folder && !is_pattern && ending[0])
        return lw_fail(err, LW_EUSAGE, "--output %s: with --each it names a folder, and this is a file's name; give a folder, or a "
                       "name for each file, such as %.*s-{}%s", output, (int)(ending - output), output, ending);
    each->output = lw_alloc(strlen(output) + 1, "the output's name", err);
    if (!each->output)
        return LW_ESYSTEM;
    strcpy(each->output, output);
    each->is_pattern = strstr(output, "{}") != NULL;
    return LW_OK;
}

/* ---- neighbours of an input ---------------------------------------------------------------------------------------------- */

static bool is_given(const struct lw_job_ops *ops, const struct lw_options *options, const char *name)
{
    return lw_option_find(ops->options, name) && lw_options_given(options, name);
}

/* Return the reach (taps - 1) of the filters that the job makes for the first file; 0: none, an error that its run will report. */
static int64_t find_reach(struct lw_comm *comm, const struct lw_job_ops *ops, const struct lw_options *options)
{
    struct lw_reader_request request;
    struct lw_reader *reader = NULL;
    struct lw_job job = {.ops = ops};
    struct lw_error ignored;
    int64_t reach = 0;
    lw_log_hush(true);
    if (lw_setup_request(ops, options, &request, &ignored) == LW_OK &&
        lw_reader_open_all(comm, &request, &reader, &ignored) == LW_OK) {
        if (lw_comm_agree(comm, ops->prepare(options, comm, NULL, lw_reader_info(reader), &job, &ignored), &ignored) == LW_OK)
            reach = lw_op_taps(&job.op) - 1;
        ops->release(&job);
        lw_reader_close(reader);
    }
    lw_log_hush(false);
    return reach;
}

static int open_each(struct lw_comm *comm, const struct lw_job_ops *ops, struct lw_options *options, struct each *each,
                     double **bytes, struct lw_error *err)
{
    struct lw_reader_request request;
    *each = (struct each){.comm = comm};
    int rc;
    (void)((rc = lw_setup_request(ops, options, &request, err)) || (rc = keep_output(options, each, err)));
    if ((rc = lw_comm_agree(comm, rc, err)) ||
        (rc = lw_stretches_find(comm, &request, (enum lw_each)lw_options_choice(options, "each"), &each->groups, bytes, err)))
        return rc;
    (void)((rc = choose_part(options, each, err)) || (rc = check_names(each, err)));
    if (rc == LW_OK && !ops->is_isolated && lw_options_given(options, "beside"))
        rc = lw_fail(err, LW_EUSAGE, "--beside goes without --each, which finds the files beside each one by itself");
    /* A mask or map covers its own file only, so that a run with one uses no neighbours. */
    const bool is_beside = lw_options_choice(options, "each") == LW_EACH_FILE && each->groups.n > 1 && !ops->is_isolated &&
                           !lw_options_flag(options, "isolated") && !is_given(ops, options, "mask") &&
                           !is_given(ops, options, "good-data") && !is_given(ops, options, "noise-map") &&
                           !is_given(ops, options, "weight-map");
    lw_choice_expect(each->groups.n);
    lw_options_clear(options, "each");
    lw_options_clear(options, "part");
    rc = lw_comm_agree(comm, rc, err);
    if (rc || !is_beside)
        return rc;
    rc = lw_beside_create(comm, &request, &each->groups, &each->beside, err);
    const char *const first = lw_names_next(&each->groups, NULL);
    if (rc == LW_OK && (rc = lw_options_set(options, "input", first, "--input", err)) == LW_OK)
        each->reach = find_reach(comm, ops, options);
    return lw_comm_agree(comm, rc, err);
}

static void close_each(struct each *each)
{
    lw_beside_destroy(each->beside);
    lw_names_release(&each->groups);
    lw_free(each->output);
}

/* ---- one result ---------------------------------------------------------------------------------------------------------- */

static int make_folder(const struct each *each, struct lw_error *err)
{
    if (each->is_pattern || lw_comm_rank(each->comm) != 0 || mkdir(each->output, 0777) == 0 || errno == EEXIST)
        return LW_OK;
    return lw_fail(err, LW_EIO, "cannot make the folder '%s': %s", each->output, strerror(errno));
}

/* Return whether a complete result of this name exists. A run itself refuses to replace any other file of this name. */
static bool is_made(const struct each *each, const char *name)
{
    bool is_there = false;
    if (lw_comm_rank(each->comm) == 0) {
        struct lw_listing_origin origin = {0};
        struct lw_error damaged;
        is_there = access(name, F_OK) == 0 && lw_list_check(name, &damaged) == LW_OK && lw_list_origin(name, &origin) &&
                   !origin.is_incomplete;
        lw_list_origin_release(&origin);
    }
    lw_comm_broadcast(each->comm, &is_there, sizeof is_there);
    return is_there;
}

static int choose_group(const struct each *each, const char *group, int64_t number, struct lw_options *options,
                        char name[LW_MAX_PATH], struct lw_error *err)
{
    const char *const beside = each->beside ? lw_beside_find(each->beside, number, each->reach) : "";
    int rc = LW_OK;
    if (each->beside)
        lw_options_clear(options, "beside");
    if (beside[0])
        rc = lw_options_set(options, "beside", beside, "--beside", err);
    (void)(rc || (rc = name_result(each, group, name, err)) || (rc = lw_options_set(options, "input", group, "--input", err)) ||
           (rc = lw_options_set(options, "output", name, "--output", err)));
    return lw_comm_agree(each->comm, rc, err);
}

/* Outcomes of the groups so far; a misfit is an input that the options do not suit. */
struct tally {
    int64_t n, n_failed, n_misfits;
    int first;                  /* code of the first failure */
};

/* If the first MOST_MISFITS inputs are all misfits, the options are at fault, not the inputs. */
enum { MOST_MISFITS = 10 };

/* Count an outcome, and log a failure. @return  LW_OK: go on with the next group */
static int count_one(struct tally *tally, int rc, struct lw_error *err)
{
    tally->n++;
    tally->n_misfits += rc == LW_ECONFIG || rc == LW_EUSAGE;
    if (rc == LW_OK)
        return LW_OK;
    /* An input that is damaged, or too short for the filter, must not keep the other inputs from being processed. */
    if (!(rc == LW_EDATA || rc == LW_EIO || rc == LW_ECONFIG || rc == LW_EUSAGE) ||
        (tally->n_misfits == tally->n && tally->n == MOST_MISFITS))
        return rc;
    lw_log_error(err);
    tally->first = tally->first ? tally->first : rc;
    tally->n_failed++;
    return LW_OK;
}

static int sum_up(const struct tally *tally, const char *what, struct lw_error *err)
{
    if (tally->n_failed == 0)
        return LW_OK;
    return lw_fail(err, (enum lw_code)tally->first, "%" PRId64 " of %" PRId64 " results could not be %s; see the errors above",
                   tally->n_failed, tally->n, what);
}

/* Return whether another run makes or has made this result: runs may share inputs without part= of --each. Collective. */
static bool is_left(const struct each *each, const char *name)
{
    char part[LW_MAX_PATH + sizeof LW_PART_SUFFIX];
    bool is_held = lw_comm_rank(each->comm) == 0;
    const bool is_there = is_made(each, name);
    snprintf(part, sizeof part, "%s" LW_PART_SUFFIX, name);
    is_held = is_held && lw_result_file_is_held(part);
    lw_comm_broadcast(each->comm, &is_held, sizeof is_held);
    if (is_there || is_held)
        lw_log_info("%s: another run %s: left to it", name, is_there ? "has made it meanwhile" : "is writing it");
    return is_there || is_held;
}

static int run_group(const struct each *each, const struct lw_job_ops *ops, struct lw_options *options, const char *command_line,
                     const char *group, int64_t number, struct lw_error *err)
{
    char name[LW_MAX_PATH];
    const int rc = choose_group(each, group, number, options, name, err);
    if (rc)
        return rc;
    if (!lw_options_flag(options, "overwrite") && is_made(each, name)) {
        lw_log_info("%s is there: left alone (%" PRId64 " of %" PRId64 ")", name, number - each->begin + 1,
                    each->end - each->begin);
        return LW_OK;
    }
    lw_log_info("%s (%" PRId64 " of %" PRId64 ")", name, number - each->begin + 1, each->end - each->begin);
    const int code = lw_run(each->comm, ops, options, command_line, err);
    return code == LW_EIO && !lw_options_flag(options, "overwrite") && is_left(each, name) ? LW_OK : code;
}

int lw_each_run(struct lw_comm *comm, const struct lw_job_ops *ops, struct lw_options *options, const char *command_line,
                struct lw_error *err)
{
    struct tally tally = {0};
    struct each each;
    int64_t i = 0;
    int rc;
    lw_shield_keep();
    if ((rc = open_each(comm, ops, options, &each, NULL, err)) == LW_OK)
        rc = lw_comm_agree(comm, make_folder(&each, err), err);
    for (const char *group = lw_names_next(&each.groups, NULL); rc == LW_OK && group && i < each.end;
         group = lw_names_next(&each.groups, group), i++)
        if (i >= each.begin)
            rc = count_one(&tally, run_group(&each, ops, options, command_line, group, i, err), err);
    rc = rc ? rc : sum_up(&tally, "made", err);
    close_each(&each);
    return rc;
}

/* ---- plan ---------------------------------------------------------------------------------------------------------------- */

/* Most inputs that are planned one by one, spread evenly over the sizes. The others are scaled from the next larger of these. */
enum { MOST_PLANNED = 16 };

/* Assumed seconds to create, close and rename a file: measured on a local disk. */
static const double seconds_per_file = 0.02;

struct input {
    const char *group;
    int64_t number;
    double bytes;
};

/* Cost of all results of the part to make. */
struct totals {
    struct tally tally;
    int64_t n, n_by_size;       /* number of results; number of results estimated by size */
    struct lw_planned largest, last;    /* plans of the first and the last result that was planned */
    double last_bytes;          /* size of the input of `last`; 0: planning it failed */
    int64_t host_bytes, device_bytes;   /* most of any result */
    double read_bytes, written_bytes, seconds, serial_seconds, start_seconds;   /* sums over all results */
};

static int by_size(const void *left, const void *right)
{
    const struct input *const a = left, *const b = right;
    return a->bytes != b->bytes ? (a->bytes < b->bytes) - (a->bytes > b->bytes) : (a->number > b->number) - (a->number < b->number);
}

/* List the inputs of the part, largest first. @return  [each->end - each->begin], owned by the caller */
static struct input *list_inputs(const struct each *each, const double *bytes, struct lw_error *err)
{
    struct input *const inputs = lw_alloc_array(each->end - each->begin, sizeof *inputs, "the inputs", err);
    int64_t i = 0;
    if (!inputs)
        return NULL;
    for (const char *group = lw_names_next(&each->groups, NULL); group && i < each->end;
         group = lw_names_next(&each->groups, group), i++)
        if (i >= each->begin)
            inputs[i - each->begin] = (struct input){group, i, bytes[i]};
    qsort(inputs, (size_t)(each->end - each->begin), sizeof *inputs, by_size);
    return inputs;
}

/* Add a result to the totals. @param share  its input's size relative to the planned one */
static void add(struct totals *totals, const struct lw_planned *planned, double share)
{
    totals->n++;
    totals->host_bytes = lw_max64(totals->host_bytes, planned->host_bytes);
    totals->device_bytes = lw_max64(totals->device_bytes, planned->device_bytes);
    totals->read_bytes += share * (double)planned->read_bytes;
    totals->written_bytes += (planned->is_sparse ? 1 : share) * (double)planned->written_bytes;
    totals->seconds += share * planned->seconds;
    totals->serial_seconds += share * planned->serial_seconds;
    totals->start_seconds += planned->start_seconds;
}

/* Plan one input. The first plan that succeeds is printed; with --measure, this input is also tried. */
static int plan_one(const struct each *each, const struct lw_job_ops *ops, struct lw_options *options, const struct input *input,
                    struct totals *totals, struct lw_error *err)
{
    char name[LW_MAX_PATH];
    struct lw_planned planned = {.prints = totals->n == 0 && lw_comm_rank(each->comm) == 0};
    int rc = choose_group(each, input->group, input->number, options, name, err);
    totals->last_bytes = 0;
    if (rc)
        return rc;
    if (planned.prints)
        lw_plan_row("plan of", name);
    lw_log_hush(totals->n > 0);
    rc = lw_run_plan(each->comm, ops, options, &planned, err);
    lw_log_hush(false);
    if (rc)
        return rc;
    totals->last_bytes = input->bytes;
    if (totals->n == 0)
        totals->largest = planned;
    lw_options_clear(options, "measure");
    totals->last = planned;
    add(totals, &planned, 1);
    return LW_OK;
}

static int plan_all(const struct each *each, const struct lw_job_ops *ops, struct lw_options *options, const struct input *inputs,
                    struct totals *totals, struct lw_error *err)
{
    const int64_t n = each->end - each->begin, step = lw_divide_up(n, MOST_PLANNED);
    for (int64_t i = 0; i < n; i++) {
        const struct input *const input = &inputs[i];
        if (i % step != 0 && totals->last_bytes > 0 && input->bytes > 0) {
            add(totals, &totals->last, input->bytes / totals->last_bytes);
            totals->n_by_size++;
            totals->tally.n++;
            continue;
        }
        const int rc = count_one(&totals->tally, plan_one(each, ops, options, input, totals, err), err);
        if (rc)
            return rc;
    }
    return LW_OK;
}

static void print_measured(const struct totals *totals)
{
    const struct lw_planned *const largest = &totals->largest;
    const double n = (double)totals->n, start = n * largest->start_seconds;
    const double rest = largest->measured_seconds * (largest->seconds > 0 ? totals->seconds / largest->seconds : n);
    printf("%-16sabout %.3g s: starts %.3g s, the rest %.3g s, scaled by size from the one measured\n", "  measured", start + rest,
           start, rest);
    lw_plan_print_slurm(start + rest);
}

static void print_estimate(const struct totals *totals)
{
    const double files = (double)totals->n * seconds_per_file, start = LW_PLAN_START_SECONDS + totals->start_seconds + files;
    printf("%-16sabout %.3g s: starts %.3g s, with an assumed %.3g s for each file; ", "  time", start + totals->seconds, start,
           seconds_per_file);
    if (totals->largest.is_sparse)
        printf("reading %.3g s; --measure estimates computing, too\n", totals->seconds);
    else
        printf("computing and files %.3g s\n", totals->seconds);
    if (totals->serial_seconds > 0)
        lw_plan_print_slurm(start + totals->serial_seconds);
}

static void print_totals(const struct totals *totals)
{
    char note[80];
    printf("%-16s%" PRId64, "all results", totals->n);
    if (totals->n_by_size > 0)
        printf(", %" PRId64 " of them estimated by their size", totals->n_by_size);
    printf("\n");
    lw_plan_bytes_row("  host memory", totals->host_bytes, " a rank at most");
    lw_plan_bytes_row("  device memory", totals->device_bytes, totals->device_bytes > 0 ? " a rank at most" : "");
    lw_plan_bytes_row("  reads", (int64_t)totals->read_bytes, "");
    snprintf(note, sizeof note, "%s, and up to 1 MiB more for each dataset of a file", totals->largest.is_sparse ? " at most" : "");
    lw_plan_bytes_row("  writes", (int64_t)totals->written_bytes, note);
    (totals->largest.measured_seconds > 0 ? print_measured : print_estimate)(totals);
}

static int plan_part(const struct each *each, const struct lw_job_ops *ops, struct lw_options *options, const double *bytes,
                     struct lw_error *err)
{
    struct totals totals = {0};
    /* A trial (--measure) writes into the results' folder, so that a missing folder is made first and removed at the end. */
    const bool is_new = lw_options_flag(options, "measure") && !each->is_pattern && lw_comm_rank(each->comm) == 0 &&
                        access(each->output, F_OK) != 0;
    LW_FREED struct input *const inputs = list_inputs(each, bytes, err);
    int rc = inputs ? LW_OK : LW_ESYSTEM;
    rc = lw_comm_agree(each->comm, rc == LW_OK && is_new ? make_folder(each, err) : rc, err);
    if (rc == LW_OK)
        rc = plan_all(each, ops, options, inputs, &totals, err);
    if (rc == LW_OK && totals.n > 0 && lw_comm_rank(each->comm) == 0)
        print_totals(&totals);
    if (is_new)
        rmdir(each->output);
    return rc ? rc : sum_up(&totals.tally, "planned", err);
}

int lw_each_plan(struct lw_comm *comm, const struct lw_job_ops *ops, struct lw_options *options, struct lw_error *err)
{
    struct each each;
    LW_FREED double *bytes = NULL;
    lw_shield_keep();
    int rc = open_each(comm, ops, options, &each, &bytes, err);
    if (rc == LW_OK && lw_comm_rank(comm) == 0)
        printf("%-16s%" PRId64 ", of which %" PRId64 " in this part, one after the other\n", "results", each.groups.n,
               each.end - each.begin);
    if (rc == LW_OK)
        rc = plan_part(&each, ops, options, bytes, err);
    close_each(&each);
    return rc;
}
