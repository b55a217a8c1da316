/* masses.h - masses and spins of the templates of a bank, from lists of options or from a table in a file. */
#pragma once

#include "comm/comm.h"
#include "design/inspiral.h"
#include "options/options.h"

#define LW_MASSES_MOST (1 << 20)        /* templates of a bank */

/* Entries of a table of options. */
#define LW_MASSES_OPTIONS                                                                                                          \
    {.name = "bank", .kind = LW_OPTION_FILE, .argument = "FILE:/table",                                                            \
     .help = "Table of masses and spins, a row for each filter. Its columns are mass_1, mass_2, spin_1 and spin_2, or PyCBC's "    \
             "mass1, mass2, spin1z and spin2z. It may also be a group, or a whole file, with a dataset for each of them, as "      \
             "PyCBC's banks are. Without columns of spins they are 0."},                                                           \
    {.name = "mass-1", .kind = LW_OPTION_TEXT, .argument = "M,M,...",                                                              \
     .help = "Masses of the first bodies, one for each filter. They are in solar masses as the detector sees them: (1 + z) times " \
             "those at redshift z. Give them instead of --bank."},                                                                 \
    {.name = "mass-2", .kind = LW_OPTION_TEXT, .argument = "M,M,...", .help = "Masses of the second bodies, as many."},            \
    {.name = "spin-1", .kind = LW_OPTION_TEXT, .argument = "S,S,...",                                                              \
     .help = "Spins of the first bodies along the orbit's axis, from -1 to 1. Default: 0."},                                       \
    {.name = "spin-2", .kind = LW_OPTION_TEXT, .argument = "S,S,...", .help = "Spins of the second bodies, as many as masses."}

/** Read the options, and the table on rank 0, which broadcasts it. LW_EUSAGE: the options do not go together, or a number is out
 * of range. LW_EDATA: the table has no such columns, or a number in it is out of range. LW_EIO. Collective.
 * @param binaries  set; [*count], to be released with lw_free */
int lw_masses_read(const struct lw_options *given, struct lw_comm *comm, struct lw_binary **binaries, int *count,
                   struct lw_error *err);
