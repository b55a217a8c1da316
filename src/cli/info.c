#include "cli/info.h"

#include "base/log.h"
#include "base/memory.h"
#include "cli/facts.h"
#include "cli/help.h"
#include "cli/jobfile.h"
#include "cli/left.h"
#include "cli/table.h"
#include "engine/registry.h"
#include "io/codecs/codec.h"
#include "io/codecs/hash.h"
#include "io/hdf5/result/release.h"
#include "io/names.h"
#include "plot/sky.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__clang__)
#define COMPILER "Clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "GCC " __VERSION__
#else
#define COMPILER "unknown"
#endif

static void row(const char *name, const char *text)
{
    printf("%-12s%s\n", name, text);
}

static int count_cores(void)
{
    cpu_set_t cores;
    CPU_ZERO(&cores);
    return sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 0;
}

static void print_engine(const struct lw_engine_type *type, const struct lw_comm *comm)
{
    const struct lw_engine_spec spec = {.node_rank = lw_comm_node_rank(comm), .node_ranks = lw_comm_node_size(comm)};
    char text[LW_ENGINE_TEXT];
    const bool is_usable = type->is_usable(&spec, text);
    printf("engine %-4s %s%s\n", type->name, is_usable ? "" : "not usable: ", text);
}

static void print_machine(const struct lw_comm *comm)
{
    char bytes[24];
    const struct lw_memory_limit memory = lw_memory_available();
    printf("%-12s%d of this run, %d on this node (%s)\n", "ranks", lw_comm_size(comm), lw_comm_node_size(comm),
           lw_comm_host(comm));
    printf("%-12s%d for this rank\n", "cores", count_cores());
    printf("%-12s%s for all ranks on this node (%s)\n", "memory", lw_bytes_text(memory.bytes, bytes), memory.source);
}

/* What compressed datasets may be compressed with. */
static void print_decoders(void)
{
    const char *separator = "";
    printf("%-12s", "decoders");
    for (int c = 0; c < LW_N_CODECS; c++)
        if (lw_codec_find((enum lw_codec_id)c)) {
            printf("%s%s", separator, lw_codec_name((enum lw_codec_id)c));
            separator = ", ";
        }
    printf("\n");
}

void lw_info_build(const struct lw_comm *comm)
{
    row("version", lw_version_text());
    row("compiler", COMPILER);
    row("MPI", lw_comm_library(comm));
    row("HDF5", lw_hdf5_text());
    print_decoders();
    row("checksums", lw_hash_is_there() ? "xxHash" : "none: built without xxHash");
    row("sky", lw_sky_library());
    for (int e = 0; lw_engines[e]; e++)
        print_engine(lw_engines[e], comm);
    print_machine(comm);
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

/* A dataset's texts as they are shown: names come from the file. */
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
    printf("%-*s  %-*s  %-*s  %9s  %s%s%s\n", widths->path, texts.path, widths->shape, dataset->shape, widths->type,
           texts.type, lw_bytes_text(dataset->stored_bytes, bytes), texts.storage, texts.sampling[0] ? ", " : "",
           texts.sampling);
}

/* Of any length. Release with lw_free. */
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
    char *const configuration = escape_lines(origin->configuration, err);
    if (!configuration)
        return LW_ESYSTEM;
    printf("\n# made by lapwing %s, %s %s; as a job file, which 'lapwing info --job' prints alone:\n[%s]\n%s%s",
           lw_escape(origin->version, "", version, sizeof version),
           origin->is_incomplete ? "not finished" : "finished",
           origin->is_incomplete ? "" : lw_escape(origin->end, "", end, sizeof end),
           lw_escape(origin->job, "", job, sizeof job), configuration, lw_jobfile_added(origin, added));
    lw_free(configuration);
    return LW_OK;
}

/* A result of this program says how to make it again. */
static int print_origin(const char *file, struct lw_error *err)
{
    struct lw_listing_origin origin;
    const bool says_how = lw_list_origin(file, &origin);
    if (origin.is_incomplete) {
        printf("\n# incomplete: the run of lapwing that was to make it did not come to its end\n");
        lw_left_print(file);
    }
    const int rc = says_how ? print_made_by(&origin, err) : LW_OK;
    lw_list_origin_release(&origin);
    return rc;
}

static void print_empty(const char *file)
{
    char name[4 * LW_MAX_PATH];
    printf("%s holds no datasets\n", lw_escape(file, "", name, sizeof name));
}

/* Files with many datasets have a table of them. Why no dataset is the data, or what is wrong with it, the table says. */
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
    if (widths.n_rows == 0)
        print_empty(file);
    return print_origin(file, err);
}

static int print_dataset(const char *name, struct lw_error *err)
{
    bool is_table = false;
    const int rc = lw_table_print(name, &is_table, err);
    return rc || is_table ? rc : lw_facts_print(name, NULL, err);
}

static int print_object(const char *name, struct lw_error *err)
{
    struct lw_object object;
    struct stat status;
    if (stat(name, &status) == 0 && S_ISDIR(status.st_mode))
        return lw_left_print_folder(name, err);
    const bool is_file = access(name, F_OK) == 0;
    const int rc = is_file ? LW_OK : lw_object_parse(name, &object, err);
    return rc ? rc : is_file || !object.path[0] ? print_file(name, err) : print_dataset(name, err);
}

static bool has_hints(const struct lw_hints *hints)
{
    return hints->format[0] || hints->raw[0] || hints->start_time[0] || hints->sample_rate_hz > 0 || hints->channel_spacing > 0;
}

int lw_info_file(struct lw_comm *comm, const char *name, const struct lw_hints *hints, struct lw_error *err)
{
    int code = LW_OK;
    if (lw_comm_rank(comm) == 0)
        code = has_hints(hints) ? lw_facts_print(name, hints, err) : print_object(name, err);
    return lw_comm_agree(comm, code, err);
}

static int print_job_of(const struct lw_listing_origin *origin, const char *file, struct lw_error *err)
{
    char job[4 * sizeof origin->job], added[LW_JOBFILE_ADDED];
    char *const configuration = escape_lines(origin->configuration, err);
    int rc = configuration ? LW_OK : LW_ESYSTEM;
    if (rc == LW_OK && (strcmp(lw_escape(origin->job, "", job, sizeof job), origin->job) != 0 ||
                        strcmp(configuration, origin->configuration) != 0))
        rc = lw_fail(err, LW_EDATA, "the job file in '%.600s' cannot be printed: it holds bytes that are no UTF-8 text", file);
    if (rc == LW_OK)
        printf("[%s]\n%s%s", job, configuration, lw_jobfile_added(origin, added));
    lw_free(configuration);
    return rc;
}

static int print_job(const char *file, struct lw_error *err)
{
    struct lw_listing_origin origin;
    int rc = lw_list_check(file, err);
    if (rc != LW_OK)
        return rc;
    if (lw_list_origin(file, &origin))
        rc = print_job_of(&origin, file, err);
    else
        rc = lw_fail(err, LW_EDATA, "'%.600s' is no result of a job of lapwing, so that no job file can be made of it; "
                     "'lapwing info FILE' shows what it holds", file);
    lw_list_origin_release(&origin);
    return rc;
}

int lw_info_job(struct lw_comm *comm, const char *file, struct lw_error *err)
{
    const int code = lw_comm_rank(comm) == 0 ? print_job(file, err) : LW_OK;
    return lw_comm_agree(comm, code, err);
}
