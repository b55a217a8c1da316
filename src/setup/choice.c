#include "setup/choice.h"

#include "base/integers.h"
#include "base/proc.h"
#include "engine/registry.h"
#include "io/journal/journal.h"
#include "io/write/result_file.h"

#include <stdio.h>
#include <unistd.h>

/* The work of this process, and the engine that it has taken for it. */
static struct {
    int64_t n_results;
    int engine;                 /* 1 + the index in lw_engines; 0: none yet */
} process = {.n_results = 1};

void lw_choice_expect(int64_t n_results) { process.n_results = lw_max64(n_results, 1); }

double lw_run_model_seconds(const struct lw_run_model *model)
{
    const double files = model->read + model->write;
    const double all = model->is_in_turn ? model->compute + model->copy + files : fmax(model->compute, fmax(model->copy, files));
    return model->start + model->prepare + all + model->halo + model->messages;
}

const char *lw_run_model_limit(const struct lw_run_model *model)
{
    const bool is_read = model->read >= model->write;
    const double files = model->is_in_turn ? fmax(model->read, model->write) : model->read + model->write;
    const struct {
        double seconds;
        const char *word;
    } parts[] = {{files, is_read ? "reading" : "writing"}, {model->compute, "computing"}, {model->copy, "copies"},
                 {model->prepare, "filters"}, {model->halo, "halo"}, {model->messages, "messages"}, {model->start, "start"}};
    int longest = 0;
    for (int p = 1; p < (int)(sizeof parts / sizeof *parts); p++)
        longest = parts[p].seconds > parts[longest].seconds ? p : longest;
    return parts[longest].word;
}

bool lw_choice_is_cpu(const struct lw_run_model *cpu, const struct lw_run_model *device)
{
    return lw_run_model_seconds(cpu) < 0.9 * lw_run_model_seconds(device);
}

int64_t lw_choice_workers(const struct lw_comm *comm, const struct lw_engine *engine)
{
    const int64_t share = lw_proc_node_cores() / lw_comm_node_size(comm);
    return lw_max64(1, lw_min64(engine->n_workers, share));
}

void lw_choice_take(struct lw_setup *setup, int e, const char *why)
{
    setup->engine_type = lw_engines[e];
    const int room = (int)(sizeof setup->engine_choice - sizeof " engine: " - strlen(lw_engines[e]->name));
    snprintf(setup->engine_choice, sizeof setup->engine_choice, "%s engine: %.*s", lw_engines[e]->name, room, why);
}

/* ---- models -------------------------------------------------------------------------------------------------------------- */

/* Return the rates for the choice: those of the machine, or fast files and busy cores. */
static struct lw_rates rates_of(const struct lw_setup *setup)
{
    struct lw_rates rates = setup->rates;
    if (!setup->machine) {
        rates.read = rates.write = LW_CHOICE_FILE_RATE * (double)lw_comm_nodes(setup->comm);
        rates.slowdown = LW_CHOICE_CPU_SLOWDOWN;
    }
    return rates;
}

/* Model the run on an engine that is created for this alone, without a context on a device. @return  LW_OK: rank 0's model */
static int find_model(struct lw_setup *setup, int e, lw_run_model_fn *find, struct lw_run_model *model, struct lw_error *err)
{
    struct lw_engine_spec spec = setup->engine_spec;
    struct lw_engine *engine = NULL;
    const struct lw_rates rates = rates_of(setup);
    spec.only_plans = true;
    int rc = lw_comm_agree(setup->comm, lw_engines[e]->create(&spec, &engine, err), err);
    if (rc == LW_OK)
        rc = find(setup->comm, &setup->job, engine, &rates, model, err);
    lw_engine_destroy(engine);
    model->start = lw_engines[e]->start_seconds / (double)process.n_results;
    lw_comm_broadcast(setup->comm, model, sizeof *model);
    return rc;
}

/* Write both times for plan and log. @param at_least  "at least ": the device has not been asked */
static void note_times(struct lw_setup *setup, const struct lw_run_model *cpu, const struct lw_run_model *device, int e,
                       const char *at_least)
{
    snprintf(setup->engine_times, sizeof setup->engine_times,
             "modelled times: %s %.3g s, %s %s%.3g s (start %.2g s); files at %s %.0f GB/s", lw_engines[0]->name,
             lw_run_model_seconds(cpu), lw_engines[e]->name, at_least, lw_run_model_seconds(device), device->start,
             setup->machine ? "the machine's" : "an assumed", (setup->machine ? setup->rates.read : LW_CHOICE_FILE_RATE) / 1e9);
}

/* ---- the choice ---------------------------------------------------------------------------------------------------------- */

/* Return whether every rank can use engine `e`. @param text  set: what it runs on @param missing  why the first rank cannot */
static bool is_usable(struct lw_setup *setup, int e, char text[LW_ENGINE_TEXT], struct lw_error *missing)
{
    const int rc = lw_engines[e]->is_usable(&setup->engine_spec, text) ? LW_OK : lw_fail(missing, LW_ECONFIG, "%s", text);
    return lw_comm_agree(setup->comm, rc, missing) == LW_OK;
}

/* Return 1 + the index of the engine of the interrupted run whose result this run may go on with; 0: there is none. */
static int earlier_engine(const struct lw_setup *setup)
{
    const char *const output = lw_options_text(setup->options, "output"), *kind = NULL;
    char name[LW_MAX_PATH];
    struct lw_result_file file;
    struct lw_journal *journal = NULL;
    struct lw_error ignored;
    int found = 0;
    if (!output || lw_comm_rank(setup->comm) != 0 || lw_options_choice(setup->options, "resume") == LW_RESUME_NEVER ||
        lw_result_file_name(&file, output, false, &ignored))
        return 0;
    lw_result_file_beside(&file, LW_JOURNAL_SUFFIX, name);
    if (access(name, F_OK) == 0 && access(file.part, F_OK) == 0 && lw_journal_load(name, &journal, &ignored) == LW_OK)
        kind = lw_journal_find(journal, LW_ARCHITECTURE_KEY);
    for (int e = 0; kind && lw_engines[e]; e++) {
        const size_t length = strlen(lw_engines[e]->name);
        if (strncmp(kind, lw_engines[e]->name, length) == 0 && kind[length] == ' ')
            found = 1 + e;
    }
    lw_journal_destroy(journal);
    return found;
}

/* Take the engine that earlier work of this result or this process has. @return  false: there is none, or not every rank has it */
static bool go_on(struct lw_setup *setup)
{
    char text[LW_ENGINE_TEXT];
    struct lw_error missing;
    int engine = setup->machine ? 0 : earlier_engine(setup);
    lw_comm_broadcast(setup->comm, &engine, sizeof engine);
    const char *const why = engine > 0 ? "the interrupted run began with it" : "as for the results before";
    engine = engine > 0 || setup->machine ? engine : process.engine;
    if (engine == 0 || !is_usable(setup, engine - 1, text, &missing))
        return false;
    lw_choice_take(setup, engine - 1, why);
    return true;
}

/* Choose between the CPU, whose model is known, and engine `e`. @return  false: not every rank can use it */
static bool compare(struct lw_setup *setup, int e, lw_run_model_fn *find, const struct lw_run_model *cpu, struct lw_error *missing)
{
    char text[LW_ENGINE_TEXT], why[sizeof setup->engine_choice];
    struct lw_error err;
    struct lw_run_model device = {.start = lw_engines[e]->start_seconds / (double)process.n_results, .read = cpu->read,
                                  .write = cpu->write};
    if (device.start > 0 && lw_choice_is_cpu(cpu, &device)) {
        note_times(setup, cpu, &device, e, "at least ");
        lw_choice_take(setup, 0, setup->engine_times);
        return true;
    }
    if (!is_usable(setup, e, text, missing))
        return false;
    const int rc = find_model(setup, e, find, &device, &err);
    if (rc) {
        snprintf(why, sizeof why, "the %s engine cannot do it: %.200s", lw_engines[e]->name, err.message);
        lw_choice_take(setup, 0, why);
        return true;
    }
    note_times(setup, cpu, &device, e, "");
    if (lw_choice_is_cpu(cpu, &device)) {
        lw_choice_take(setup, 0, setup->engine_times);
    } else {
        snprintf(why, sizeof why, "%.150s; %.220s", text, setup->engine_times);
        lw_choice_take(setup, e, why);
    }
    return true;
}

void lw_choice_make(struct lw_setup *setup, lw_run_model_fn *find)
{
    char text[LW_ENGINE_TEXT], why[sizeof(struct lw_error) + 128];
    struct lw_error missing = {0}, err;
    struct lw_run_model cpu = {0};
    bool is_made = go_on(setup);
    lw_fail(&err, LW_ECONFIG, "the time of the run is not modelled");
    const bool has_model = !is_made && find && find_model(setup, 0, find, &cpu, &err) == LW_OK;
    int e = 0;
    while (lw_engines[e + 1])
        e++;
    for (; e > 0 && !is_made; e--)
        if (has_model) {
            is_made = compare(setup, e, find, &cpu, &missing);
        } else if ((is_made = is_usable(setup, e, text, &missing))) {
            snprintf(why, sizeof why, "%.150s; %.200s", text, err.message);
            lw_choice_take(setup, e, why);
        }
    if (!is_made) {
        if (lw_comm_size(setup->comm) > 1)
            snprintf(why, sizeof why, "rank %d (%s): %s", missing.rank, missing.host, missing.message);
        else
            snprintf(why, sizeof why, "%s", missing.message);
        lw_choice_take(setup, 0, why);
    }
    for (e = 0; lw_engines[e] != setup->engine_type; e++)
        ;
    process.engine = 1 + e;
}
