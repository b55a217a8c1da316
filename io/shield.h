/* shield.h - look at a file in a child process. If a library crashes on damaged metadata, only that process ends, and the program
 * can report the damage.
 *
 *     program --socket--> guard --fork--> looker                 with a guard (lw_shield_start)
 *     program --fork--> looker                                   without one
 *
 * A looker is the child process that looks at files. It is a copy of its parent, which therefore must have no other threads and no
 * GPU. The program soon has both, so main first starts a guard: a copy of the program that does nothing but make lookers. The
 * guard ends when the program ends, for whatever reason. It keeps its looker from look to look; a look that fails ends the looker,
 * and the next look gets a new one. A looker calls the library on plain files, makes no MPI call and starts no thread. It ends
 * without running the exit handlers that libraries have registered.
 *
 * Formats without a library (lw_format.library) need no looker: lw_examine_dataset reads their files directly. */
#pragma once

#include "io/names.h"

/** Look at the object and fill *result, which must be plain data without pointers. */
typedef int lw_shield_fn(const struct lw_object *object, void *result, struct lw_error *err);

/** Start the guard. Call before MPI, before any thread, and before any look. LW_ESYSTEM: no process can be started. */
int lw_shield_start(struct lw_error *err);

/* Most guards of a node. A look at an HDF5 file takes 3 ms, most of it alone: a few guards open many files as fast as the node can,
 * and a node with hundreds of ranks has no more processes for it. */
#define LW_SHIELD_MOST_GUARDS 8

/** Leave all looks of this run to other ranks: lw_shield_is_ready is false from now on. */
void lw_shield_leave(void);
void lw_shield_stop(void);          /* end the guard, if any; call when no look is under way and none will follow */

/** Return whether this process may look: it has a guard, or never had one. */
bool lw_shield_is_ready(void);

/** lw_shield_rest stops the guard, because the run needs it no longer. lw_shield_keep makes later calls of lw_shield_rest do
 * nothing, for programs that start several runs. */
void lw_shield_rest(void);
void lw_shield_keep(void);

/** Call `look` in a looker; return its code, error and result, which has `bytes` bytes. Not collective. LW_EDATA: the looker died,
 * or took more than LW_SHIELD_CPU_S of processor time. LW_EIO: it did not end within LW_SHIELD_WALL_S. LW_ESYSTEM: no looker could
 * be started, or the looker or the guard was killed from outside. */
int lw_shield(lw_shield_fn *look, const struct lw_object *object, void *result, size_t bytes, struct lw_error *err);

#define LW_SHIELD_CPU_S 15
#define LW_SHIELD_WALL_S 300        /* long, because a tape robot may first have to fetch the file */
