#include "setup/machine.h"

#include "base/memory.h"
#include "base/proc.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define NAME_OF(its_name, ...) "|" #its_name

/* The defaults are what is assumed of a machine. Rates of files hold for all ranks together: a parallel file system
 * or RAM disk. The slowdown is LW_CHOICE_CPU_SLOWDOWN. */
static const struct lw_option lw_machine_options[] = {
    {.name = "nodes", .kind = LW_OPTION_INT, .argument = "N", .minimum = 1, .maximum = 1 << 20},
    {.name = "ranks-per-node", .kind = LW_OPTION_INT, .argument = "N", .fallback = "1", .minimum = 1, .maximum = 4096},
    {.name = "gpu", .kind = LW_OPTION_CHOICE, .choices = "none" LW_GPUS(NAME_OF), .fallback = "none"},
    {.name = "cores", .kind = LW_OPTION_INT, .argument = "N", .minimum = 1, .maximum = 1 << 14},
    {.name = "memory", .kind = LW_OPTION_BYTES, .argument = "BYTES", .minimum = 1 << 20},
    {.name = "read", .kind = LW_OPTION_RATE, .argument = "RATE", .fallback = "1GB/s", .minimum = 1, .maximum = 1e18},
    {.name = "write", .kind = LW_OPTION_RATE, .argument = "RATE", .fallback = "1GB/s", .minimum = 1, .maximum = 1e18},
    {.name = "iops", .kind = LW_OPTION_INT, .argument = "N", .fallback = "10000", .minimum = 1, .maximum = INT64_C(1) << 40},
    {.name = "network", .kind = LW_OPTION_RATE, .argument = "RATE", .fallback = "12.5GB/s", .minimum = 1, .maximum = 1e18},
    {.name = "latency", .kind = LW_OPTION_DURATION, .argument = "TIME", .fallback = "2us", .minimum = 0, .maximum = 3600},
    {.name = "start", .kind = LW_OPTION_DURATION, .argument = "TIME", .fallback = "1s", .minimum = 0, .maximum = 86400},
    {.name = "slowdown", .kind = LW_OPTION_REAL, .argument = "FACTOR", .fallback = "3", .minimum = 0.01, .maximum = 1e4},
    {.name = NULL},
};

struct lw_rates lw_machine_rates(const struct lw_machine *machine)
{
    if (!machine)
        return (struct lw_rates){.read = 1e9, .write = 1e9, .slowdown = 1};
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
        if (!lw_option_find(lw_machine_options, part)) {
            char names[160] = "";
            for (const struct lw_option *option = lw_machine_options; option->name; option++)
                lw_append(names, sizeof names, "%s%s", names[0] ? ", " : "", option->name);
            return lw_fail(err, LW_EUSAGE, "--for: machines have no '%s', but %s", part, names);
        }
        snprintf(origin, sizeof origin, "--for, %.60s", part);
        const int rc = lw_options_set(options, part, part + name + 1, origin, err);
        if (rc)
            return rc;
        text += length;
    }
    return LW_OK;
}

/* Set what is not given to this node's cores and memory, and describe the machine. */
static int complete(struct lw_options *options, struct lw_machine *m, struct lw_error *err)
{
    char number[32];
    m->text[0] = '\0';
    lw_machine_imagine(NULL);
    for (const struct lw_option *option = lw_machine_options; option->name; option++) {
        const char *const given = lw_options_text(options, option->name);
        const bool is_assumed = !given || (option->fallback && strcmp(given, option->fallback) == 0);
        if (option->kind == LW_OPTION_BYTES)
            snprintf(number, sizeof number, "%" PRId64 "M", lw_memory_available().bytes >> 20);
        else
            snprintf(number, sizeof number, "%d", lw_proc_node_cores());
        const int rc = given ? LW_OK : lw_options_set(options, option->name, number, "--for", err);
        if (rc)
            return rc;
        lw_append(m->text, sizeof m->text, "%s%s %s%s", m->text[0] ? ", " : "", option->name,
                  lw_options_text(options, option->name), is_assumed ? " (assumed)" : "");
    }
    return LW_OK;
}

static int take(struct lw_options *options, struct lw_machine *m, struct lw_error *err)
{
    if (!lw_options_given(options, "nodes"))
        return lw_fail(err, LW_EUSAGE, "--for: the number of nodes is missing: give nodes=N");
    const int rc = complete(options, m, err), gpu = lw_options_choice(options, "gpu");
    m->nodes = lw_options_int(options, "nodes");
    m->ranks_per_node = lw_options_int(options, "ranks-per-node");
    m->cores = lw_options_int(options, "cores");
    m->memory = lw_options_int(options, "memory");
    m->gpu = gpu > 0 ? &lw_gpus[gpu - 1] : NULL;
    m->read = lw_options_real(options, "read");
    m->write = lw_options_real(options, "write");
    m->iops = lw_options_int(options, "iops");
    m->network = lw_options_real(options, "network");
    if (m->nodes == 1)          /* its files may be its own */
        m->network = fmax(m->network, fmax(m->read, m->write));
    m->latency = lw_options_real(options, "latency");
    m->start = lw_options_real(options, "start");
    m->slowdown = lw_options_real(options, "slowdown");
    if (rc == LW_OK && m->cores < m->ranks_per_node)
        return lw_fail(err, LW_EUSAGE, "--for: %" PRId64 " ranks do not share %" PRId64 " cores of a node: give fewer "
                       "ranks-per-node, or more cores", m->ranks_per_node, m->cores);
    if (rc == LW_OK && m->nodes * m->ranks_per_node > 1 << 22)
        return lw_fail(err, LW_EUSAGE, "--for: %" PRId64 " ranks are more than 4194304", m->nodes * m->ranks_per_node);
    return rc;
}

int lw_machine_parse(const char *text, const struct lw_options_file *file, struct lw_machine *machine, struct lw_error *err)
{
    static const struct lw_option *const tables[] = {lw_machine_options, NULL};
    struct lw_options *options = NULL;
    int rc;
    *machine = (struct lw_machine){0};
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
