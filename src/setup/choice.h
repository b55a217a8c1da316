/* choice.h - the choice of the engine. --engine auto takes the engine whose whole run takes less time by models with fixed numbers,
 * those of the plan. Nothing is timed: the choice depends on the data, the filters, the cores and the device.
 *
 *     the same engine again   for a run that goes on with an interrupted one, and for all runs of one process (--each): the bits of
 *                             results depend on the engine
 *     the CPU, unasked        if it takes less time than the start of any device and the files: the driver need not even start
 *     the faster one          else, if all ranks can use the device */
#pragma once

#include "setup/setup.h"

/* Assumed bytes that the files of a node take or give in a second. It is the rate of fast storage, more than the plan assumes: on
 * slow storage a device that is taken in vain costs its start, on fast storage a CPU taken in vain costs the whole difference. */
#define LW_CHOICE_FILE_RATE 1e10

/* Factor by which all cores of a processor at once are slower than the numbers of the plan, which are those of a quick core alone.
 * Cores share clock, memory and, as hyperthreads, their units, also with the I/O threads. It is 2.8 to 3.9 on 16 hyperthreads of a
 * Xeon (tests/bench/results/figures/engine_choice.csv). */
#define LW_CHOICE_CPU_SLOWDOWN 3.0

/** Return whether the CPU is to be taken. It must save a tenth of the time: less is within the models' errors, and a device leaves
 * the cores to reading and writing. */
bool lw_choice_is_cpu(const struct lw_run_model *cpu, const struct lw_run_model *device);

/** Choose setup->engine_type for --engine auto, once the input is open and the job prepared. All ranks choose the same. Collective.
 * @param model  models the run on an engine; NULL: a device is taken wherever it is usable */
void lw_choice_make(struct lw_setup *setup, lw_run_model_fn *model);

/** Take engine lw_engines[e], and note why. */
void lw_choice_take(struct lw_setup *setup, int e, const char *why);

/** Return the workers of this rank that count in a model. Ranks that are not bound to cores have a thread for each core of the
 * node, all of them: only a rank's share of the cores counts. */
int64_t lw_choice_workers(const struct lw_comm *comm, const struct lw_engine *engine);

/** Announce that this process makes n results, one after the other: they share one start of a device. */
void lw_choice_expect(int64_t n_results);
