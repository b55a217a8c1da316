/* machine.h - a machine to plan for that is not here: equal nodes, a file system that they share, a network. --for describes it. */
#pragma once

#include "engine/engine.h"
#include "engine/gpus.h"
#include "options/file.h"

#include <stddef.h>

struct lw_machine {
    int64_t nodes, ranks_per_node;
    int64_t cores, memory;          /* those of a node; memory in bytes */
    const struct lw_gpu *gpu;       /* GPU of each rank; NULL: the ranks have none */
    double read, write;             /* bytes per second of the file system, for all nodes together */
    int64_t iops;                   /* reads per second of few bytes each, by all ranks of a node */
    double network;                 /* bytes per second of a node, each way */
    double latency;                 /* seconds of a message between nodes */
    double start;                   /* seconds until the launcher has started all ranks, and from their end to its own */
    double slowdown;                /* factor by which busy CPU cores are slower than the models' quick core alone */
    char text[400];                 /* the machine in words, with what is assumed */
    bool only_cpu;                  /* plan for the CPU cores, even if there are GPUs or --engine asks for them */
};

/* Rates that the models of runs use. */
struct lw_rates {
    double read, write;             /* bytes per second of files, for all ranks together */
    double network, latency;        /* those of struct lw_machine; network 0: halos take no time */
    double slowdown;                /* factor by which CPU cores that are all busy are slower than one alone */
};

/** Return the factor by which an engine is slower than its models. */
double lw_rates_slowness(const struct lw_rates *rates, const struct lw_engine *engine);

/** Return the rates of a machine, of which all nodes read and write at no more than their networks' rate. NULL: those that plans of
 * the ranks that are here assume. */
struct lw_rates lw_machine_rates(const struct lw_machine *machine);

/** Return the length of the file's name at the beginning of --for; 0: there is none, as its value begins with NAME=. */
size_t lw_machine_file(const char *text);

/** Parse --for. LW_EUSAGE: a name or value is wrong, or `nodes` is missing; LW_ECONFIG, with file and line: the file is wrong.
 * @param text  "NAME=VALUE,..." or "FILE" or "FILE,NAME=VALUE,...", where values override the file's
 * @param file  the file's content; NULL: none is named */
int lw_machine_parse(const char *text, const struct lw_options_file *file, struct lw_machine *machine, struct lw_error *err);

/** Have this process count cores and memory of a rank on such a node from now on; NULL: its own. */
void lw_machine_imagine(const struct lw_machine *machine);
