#include "setup/machine.h"

#include "base/integers.h"
#include "base/memory.h"
#include "base/proc.h"
#include "base/text.h"
#include "setup/choice.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Rates that are assumed of a machine unless --for gives them. Those of files hold for all ranks together: a parallel file system
 * or RAM disk. */
#define FILE_RATE 1e9
#define NETWORK_RATE 12.5e9
#define LATENCY 2e-6
#define START_SECONDS 1.0

#define NAME_OF(its_name, ...) "|" #its_name

const struct lw_option lw_machine_options[] = {
    {.name = "nodes", .kind = LW_OPTION_INT, .argument = "N", .minimum = 1, .maximum = 1 << 20, .is_required = true},
    {.name = "ranks-per-node", .kind = LW_OPTION_INT, .argument = "N", .minimum = 1, .maximum = 4096},
    {.name = "gpu", .kind = LW_OPTION_CHOICE, .choices = "none" LW_GPUS(NAME_OF)},
    {.name = "cores", .kind = LW_OPTION_INT, .argument = "N", .minimum = 1, .maximum = 1 << 14},
    {.name = "memory", .kind = LW_OPTION_BYTES, .argument = "BYTES", .minimum = 1 << 20},
    {.name = "read", .kind = LW_OPTION_RATE, .argument = "RATE", .minimum = 1, .maximum = 1e18},
    {.name = "write", .kind = LW_OPTION_RATE, .argument = "RATE", .minimum = 1, .maximum = 1e18},
    {.name = "network", .kind = LW_OPTION_RATE, .argument = "RATE", .minimum = 1, .maximum = 1e18},
    {.name = "latency", .kind = LW_OPTION_DURATION, .argument = "TIME", .minimum = 0, .maximum = 3600},
    {.name = "start", .kind = LW_OPTION_DURATION, .argument = "TIME", .minimum = 0, .maximum = 86400},
    {.name = "slowdown", .kind = LW_OPTION_REAL, .argument = "FACTOR", .minimum = 0.01, .maximum = 1e4},
    {.name = NULL},
};

struct lw_rates lw_machine_rates(const struct lw_machine *machine)
{
    if (!machine)
        return (struct lw_rates){.read = FILE_RATE, .write = FILE_RATE, .slowdown = 1};
    const double all = (double)machine->nodes * machine->network;
    return (struct lw_rates){
        .read = fmin(machine->read, all), .write = fmin(machine->write, all), .latency = machine->latency,
        .network = machine->nodes > 1 ? machine->network : 0, .slowdown = machine->slowdown,
    };
}

double lw_rates_slowness(const struct lw_rates *rates, const struct lw_engine *engine)
{
    return engine->link_rate == 0 ? rates->slowdown : lw_engine_slowness(engine);
}

/* ---- parsing ----------------------------------------------------------------------------------------------------------- */

size_t lw_machine_file(const char *text)
{
    const size_t length = strcspn(text, ",");
    return memchr(text, '=', length) ? 0 : length;
}

static bool is_machine(const char *section, char why[LW_SECTION_WHY])
{
    if (strcmp(section, "machine") == 0)
        return true;
    snprintf(why, LW_SECTION_WHY, "a file for --for has one section, [machine], with lines such as 'nodes = 64'");
    return false;
}

/* Set options from "NAME=VALUE,NAME=VALUE". */
static int set_values(const char *text, struct lw_options *options, struct lw_error *err)
{
    for (text += strspn(text, ","); *text; text += strspn(text, ",")) {
        const size_t length = strcspn(text, ","), name = strcspn(text, "=,");
        char part[200], origin[80];
        if (length >= sizeof part || name == length)
            return lw_fail(err, LW_EUSAGE, "--for: '%.*s' is not NAME=VALUE, such as nodes=64", (int)length, text);
        snprintf(part, sizeof part, "%.*s", (int)length, text);
        part[name] = '\0';
        if (!lw_option_find(lw_machine_options, part))
            return lw_fail(err, LW_EUSAGE, "--for: machines have no '%s', but nodes, ranks-per-node, gpu, cores, memory, read, "
                           "write, network and latency", part);
        snprintf(origin, sizeof origin, "--for, %.60s", part);
        const int rc = lw_options_set(options, part, part + name + 1, origin, err);
        if (rc)
            return rc;
        text += length;
    }
    return LW_OK;
}

/* Describe a machine, and what of it was not given. */
static void describe(const struct lw_options *options, struct lw_machine *m)
{
    char memory[24];
    int n = 0;
    snprintf(m->text, sizeof m->text, "%" PRId64 " node%s x %" PRId64 " rank%s, %" PRId64 " cores and %s a node, %s%s; files %.4g "
             "GB/s read, %.4g written; network %.4g GB/s a node, %.3g us", m->nodes, m->nodes == 1 ? "" : "s", m->ranks_per_node,
             m->ranks_per_node == 1 ? "" : "s", m->cores, lw_bytes_text(m->memory, memory), m->gpu ? "each rank with " : "no GPU",
             m->gpu ? m->gpu->name : "", m->read / 1e9, m->write / 1e9, m->network / 1e9, m->latency * 1e6);
    for (const struct lw_option *option = lw_machine_options; option->name; option++)
        if (!lw_options_given(options, option->name))
            lw_append(m->text, sizeof m->text, "%s%s", n++ == 0 ? "; assumed: " : ", ", option->name);
}

static double real_of(const struct lw_options *options, const char *name, double otherwise)
{
    return lw_options_given(options, name) ? lw_options_real(options, name) : otherwise;
}

static int take(const struct lw_options *options, struct lw_machine *m, struct lw_error *err)
{
    const int gpu = lw_options_choice(options, "gpu");
    *m = (struct lw_machine){
        .nodes = lw_options_int(options, "nodes"), .ranks_per_node = lw_max64(1, lw_options_int(options, "ranks-per-node")),
        .cores = lw_options_int(options, "cores"), .memory = lw_options_int(options, "memory"),
        .gpu = gpu > 0 ? &lw_gpus[gpu - 1] : NULL,
        .read = real_of(options, "read", FILE_RATE), .write = real_of(options, "write", FILE_RATE),
        .network = real_of(options, "network", NETWORK_RATE), .latency = real_of(options, "latency", LATENCY),
        .start = real_of(options, "start", START_SECONDS), .slowdown = real_of(options, "slowdown", LW_CHOICE_CPU_SLOWDOWN),
    };
    lw_machine_imagine(NULL);
    m->cores = m->cores > 0 ? m->cores : lw_proc_node_cores();
    m->memory = m->memory > 0 ? m->memory : lw_memory_available().bytes;
    if (m->nodes == 0)
        return lw_fail(err, LW_EUSAGE, "--for: the number of nodes is missing: give nodes=N");
    if (m->nodes * m->ranks_per_node > 1 << 22)
        return lw_fail(err, LW_EUSAGE, "--for: %" PRId64 " ranks are more than 4194304", m->nodes * m->ranks_per_node);
    if (m->cores < m->ranks_per_node)
        return lw_fail(err, LW_EUSAGE, "--for: %" PRId64 " ranks do not share %" PRId64 " cores of a node: give fewer "
                       "ranks-per-node, or more cores", m->ranks_per_node, m->cores);
    describe(options, m);
    return LW_OK;
}

int lw_machine_parse(const char *text, const struct lw_options_file *file, struct lw_machine *machine, struct lw_error *err)
{
    static const struct lw_option *const tables[] = {lw_machine_options, NULL};
    struct lw_options *options = NULL;
    int rc;
    (void)((rc = lw_options_create(tables, &options, err)) ||
           (rc = file ? lw_options_file_apply(file, is_machine, options, err) : LW_OK) ||
           (rc = set_values(text + lw_machine_file(text), options, err)) || (rc = take(options, machine, err)));
    lw_options_destroy(options);
    return rc;
}

void lw_machine_imagine(const struct lw_machine *machine)
{
    lw_proc_imagine(machine ? (int)(machine->cores / machine->ranks_per_node) : 0, machine ? (int)machine->cores : 0);
    lw_memory_imagine(machine ? machine->memory : 0);
}
