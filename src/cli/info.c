#include "cli/info.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "cli/help.h"
#include "cli/jobfile.h"
#include "engine/registry.h"
#include "io/codecs/codec.h"
#include "io/codecs/hash.h"
#include "io/hdf5/result/release.h"
#include "io/journal/journal.h"
#include "io/write/result_file.h"
#include "io/archive/fits/sky.h"
#include "version.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__clang__)
#define COMPILER "Clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "GCC " __VERSION__
#else
#define COMPILER "unknown"
#endif

static void row(const char *name, const char *text) { printf("%-12s%s\n", name, text); }

/* Print engines, cores and memory. @param comm  the run's ranks; those on this node share engines and memory */
static void print_machine(const struct lw_comm *comm)
{
    const struct lw_engine_spec spec = {.node_rank = lw_comm_node_rank(comm), .node_ranks = lw_comm_node_size(comm)};
    const struct lw_memory_limit memory = lw_memory_available();
    char text[LW_ENGINE_TEXT], bytes[24];
    cpu_set_t cores;
    for (int e = 0; lw_engines[e]; e++) {
        const bool is_usable = lw_engines[e]->is_usable(&spec, text);
        printf("engine %-4s %s%s\n", lw_engines[e]->name, is_usable ? "" : "not usable: ", text);
    }
    printf("%-12s%d of this run, %d on this node (%s)\n", "ranks", lw_comm_size(comm), lw_comm_node_size(comm), lw_comm_host(comm));
    CPU_ZERO(&cores);
    printf("%-12s%d for this rank\n", "cores", sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 0);
    printf("%-12s%s for all ranks on this node (%s)\n", "memory", lw_bytes_text(memory.bytes, bytes), memory.source);
}

void lw_info_build(const struct lw_comm *comm)
{
    const char *separator = "";
    row("version", lw_version_text());
    row("compiler", COMPILER);
    row("MPI", lw_comm_library(comm));
    row("HDF5", lw_hdf5_text());
    printf("%-12s", "decoders");            /* the compression formats that this build can decode */
    for (int c = 0; c < LW_N_CODECS; c++)
        if (lw_codec_find((enum lw_codec_id)c)) {
            printf("%s%s", separator, lw_codec_name((enum lw_codec_id)c));
            separator = ", ";
        }
    printf("\n");
    row("checksums", lw_hash_is_there() ? "xxHash" : "none: built without xxHash");
    row("sky", lw_sky_library());
    print_machine(comm);
}

/* ---- unfinished results of interrupted runs ---- */

/* Copy the name of a temporary file without its suffix. @return  false: it has no such name */
static bool take_result(const char *part, char result[PATH_MAX])
{
    snprintf(result, PATH_MAX, "%.*s", (int)lw_before_ending(part, LW_PART_SUFFIX), part);
    return result[0];
}

static void print_journal(const char *result)
{
    struct lw_journal_progress progress;
    struct lw_error err;
    char done[400], time[200], version[300] = "";
    const int rc = lw_journal_progress(result, &progress, &err);
    const bool is_other = rc == LW_OK && strcmp(progress.version, LW_VERSION " " LW_COMMIT) != 0;
    if (is_other)
        lw_escape(progress.version, "", version, sizeof version);
    if (rc == LW_OK)
        printf("done: %s, at %s: a run %s%s%sgoes on from there\n", lw_escape(progress.done, "", done, sizeof done),
               lw_escape(progress.time, "", time, sizeof time), is_other ? "of lapwing " : "", version,
               is_other ? ", and no other, " : "");
    else if (rc == LW_EIO)
        printf("no checkpoint: a run starts over\n");
    else
        printf("the checkpoint cannot be read: start over with --resume never\n");
}

/* Print the progress of a temporary file, from its journal, and the command that made it (unless it is a FITS file). */
static void print_part(const char *folder, const char *name)
{
    char part[2 * PATH_MAX], result[PATH_MAX], shown[4 * NAME_MAX], command[8192];
    struct lw_listing_origin origin = {0};
    struct lw_error damaged;
    snprintf(part, sizeof part, "%s/%s", folder, name);
    if (!take_result(part, result))
        return;
    printf("%s\n    ", lw_escape(name, "", shown, sizeof shown));
    if (lw_result_file_is_held(part)) {
        printf("a run is writing it\n");
        return;
    }
    print_journal(result);
    if (lw_list_check(part, &damaged) == LW_OK && lw_list_origin(part, &origin) && origin.command)
        printf("    %s%s\n", lw_escape(origin.command, "", command, sizeof command),
               strlen(origin.command) >= sizeof command ? " ..." : "");
    lw_list_origin_release(&origin);
}

static int is_part(const struct dirent *entry) { return lw_before_ending(entry->d_name, LW_PART_SUFFIX) > 0; }

/* Print every unfinished result in a folder: its progress and the command that made it. LW_EIO. */
static int print_folder(const char *folder, struct lw_error *err)
{
    struct dirent **entries;
    char shown[4 * PATH_MAX];
    const int n = scandir(folder, &entries, is_part, alphasort);
    if (n < 0)
        return lw_fail(err, LW_EIO, "cannot read the folder '%.600s': %s", folder, strerror(errno));
    if (n == 0)
        printf("%s contains no unfinished result of lapwing\n", lw_escape(folder, "", shown, sizeof shown));
    for (int e = 0; e < n; e++) {
        print_part(folder, entries[e]->d_name);
        free(entries[e]);
    }
    free(entries);
    return LW_OK;
}

/* ---- a file: first the widths of the columns, then the rows ---- */

struct widths {
    int path, shape, type;
    int n_rows;
};

static void widen(int *width, const char *text)
{
    const int length = (int)strlen(text);
    *width = length > *width ? length : *width;
}

/* Texts of a dataset, escaped because they come from a file. */
struct texts {
    char path[4 * LW_MAX_PATH], type[400], storage[700], sampling[600];
};

static struct texts make_texts(const struct lw_listing *dataset)
{
    struct texts texts;
    lw_escape(dataset->path, "", texts.path, sizeof texts.path);
    lw_escape(dataset->type, "", texts.type, sizeof texts.type);
    lw_escape(dataset->storage, "", texts.storage, sizeof texts.storage);
    lw_escape(dataset->sampling, "", texts.sampling, sizeof texts.sampling);
    return texts;
}

static void measure_row(const struct lw_listing *dataset, void *context)
{
    struct widths *const widths = context;
    const struct texts texts = make_texts(dataset);
    widen(&widths->path, texts.path);
    widen(&widths->shape, dataset->shape);
    widen(&widths->type, texts.type);
    widths->n_rows++;
}

static void print_row(const struct lw_listing *dataset, void *context)
{
    const struct widths *const widths = context;
    const struct texts texts = make_texts(dataset);
    char bytes[24];
    printf("%-*s  %-*s  %-*s  %9s  %s%s%s\n", widths->path, texts.path, widths->shape, dataset->shape, widths->type, texts.type,
           lw_bytes_text(dataset->stored_bytes, bytes), texts.storage, texts.sampling[0] ? ", " : "", texts.sampling);
}

/* Escape a text of any length but for its newlines. @return  owned by the caller, to be freed with lw_free */
static char *escape_lines(const char *text, struct lw_error *err)
{
    const size_t room = 4 * strlen(text) + 1;
    char *const shown = lw_alloc(room, "a job file", err);
    if (shown)
        lw_escape(text, "\n", shown, room);
    return shown;
}

static int print_made_by(const struct lw_listing_origin *origin, struct lw_error *err)
{
    char version[256], end[160], job[160], added[LW_JOBFILE_ADDED];
    LW_FREED char *const configuration = escape_lines(origin->configuration, err);
    if (!configuration)
        return LW_ESYSTEM;
    printf("\n# made by lapwing %s, %s %s; as a job file, which 'lapwing info --job' prints alone:\n[%s]\n%s%s",
           lw_escape(origin->version, "", version, sizeof version), origin->is_incomplete ? "not finished" : "finished",
           origin->is_incomplete ? "" : lw_escape(origin->end, "", end, sizeof end), lw_escape(origin->job, "", job, sizeof job),
           configuration, lw_jobfile_added(origin, added));
    return LW_OK;
}

/* Print whether a file that lapwing made is incomplete, and the job file that makes it again. */
static int print_origin(const char *file, struct lw_error *err)
{
    struct lw_listing_origin origin;
    char result[PATH_MAX];
    const bool says_how = lw_list_origin(file, &origin);
    if (origin.is_incomplete)
        printf("\n# incomplete: its run of lapwing has not finished\n");
    if (origin.is_incomplete && take_result(file, result)) {
        printf("# %s; ", lw_result_file_is_held(file) ? "a run is writing it" : "nobody is writing it");
        print_journal(result);
    }
    const int rc = says_how ? print_made_by(&origin, err) : LW_OK;
    lw_list_origin_release(&origin);
    return rc;
}

/* Print the facts of a file's data. If they are unknown, or there are several datasets, print a table of all datasets, too. */
static int print_file(const char *file, struct lw_error *err)
{
    struct widths widths = {0};
    int rc;
    if ((rc = lw_list_check(file, err)) || (rc = lw_list_file(file, measure_row, &widths, err)))
        return rc;
    struct lw_error none;
    const bool has_facts = lw_facts_print(file, NULL, &none) == LW_OK;
    if (has_facts && widths.n_rows > 1)
        printf("\n");
    if ((!has_facts || widths.n_rows > 1) && (rc = lw_list_file(file, print_row, &widths, err)))
        return rc;
    char name[4 * LW_MAX_PATH];
    if (widths.n_rows == 0)
        printf("%s holds no datasets\n", lw_escape(file, "", name, sizeof name));
    return print_origin(file, err);
}

int lw_info_file(const char *name, const struct lw_hints *hints, struct lw_error *err)
{
    struct lw_object object;
    struct stat status;
    bool is_table = false;
    int rc;
    if (hints->format[0] || hints->raw[0] || hints->start_time[0] || hints->sample_rate_hz > 0 || hints->channel_spacing > 0)
        return lw_facts_print(name, hints, err);
    if (stat(name, &status) == 0 && S_ISDIR(status.st_mode))
        return print_folder(name, err);
    if (access(name, F_OK) == 0)
        return print_file(name, err);
    if ((rc = lw_object_parse(name, &object, err)))
        return rc;
    if (!object.path[0])
        return print_file(name, err);
    rc = lw_table_print(name, &is_table, err);
    return rc || is_table ? rc : lw_facts_print(name, NULL, err);
}

static int print_job_of(const struct lw_listing_origin *origin, const char *file, struct lw_error *err)
{
    char job[4 * sizeof origin->job], added[LW_JOBFILE_ADDED];
    LW_FREED char *const configuration = escape_lines(origin->configuration, err);
    int rc = configuration ? LW_OK : LW_ESYSTEM;
    if (rc == LW_OK && (strcmp(lw_escape(origin->job, "", job, sizeof job), origin->job) != 0 ||
                        strcmp(configuration, origin->configuration) != 0))
        rc = lw_fail(err, LW_EDATA, "the job file in '%.600s' cannot be printed: it holds bytes that are no UTF-8 text", file);
    if (rc == LW_OK)
        printf("[%s]\n%s%s", job, configuration, lw_jobfile_added(origin, added));
    return rc;
}

int lw_info_job(const char *file, struct lw_error *err)
{
    struct lw_listing_origin origin;
    int rc = lw_list_check(file, err);
    if (rc != LW_OK)
        return rc;
    if (lw_list_origin(file, &origin))
        rc = print_job_of(&origin, file, err);
    else
        rc = lw_fail(err, LW_EDATA, "'%.600s' is no result of a job of lapwing, so it contains no job file; 'lapwing info FILE' "
                     "shows its contents", file);
    lw_list_origin_release(&origin);
    return rc;
}
