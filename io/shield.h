/* shield.h - a look at a file in a process of its own, so that where a library crashes on damaged metadata that process ends
 * and the program can say so.
 *
 *     program --socket--> guard --fork--> looker                 (lw_shield_start: the guard)
 *     program --fork--> looker                                   (without it)
 *
 * A looker is a copy of the process that makes it, which therefore must have no other threads and no GPU. The program soon has
 * both, so its main starts a guard before anything else: a copy of the program that does nothing but make lookers. It ends
 * when the program does, however that ends. Behind a guard one looker looks at file after file; a look that fails ends it, and
 * the next look has a new one. A looker calls the library on plain files, makes no MPI call, starts no thread, and ends without
 * what libraries have registered for the end of the program.
 *
 * Files of formats that no library reads (lw_format.library) need no looker (lw_examine_dataset). */
#pragma once

#include "base/error.h"
#include "io/names.h"

#include <stdbool.h>
#include <stddef.h>

/** Look at the object and fill *result: plain data without pointers. */
typedef int lw_shield_fn(const struct lw_object *object, void *result, struct lw_error *err);

/** Start the guard. Before MPI, before any thread, and before any look. LW_ESYSTEM: no process can be started. */
int lw_shield_start(struct lw_error *err);
void lw_shield_stop(void);          /* end the guard, if there is one; no look is under way, and none may follow */

/** Whether this process may look: it has a guard, or has never had one. */
bool lw_shield_is_ready(void);

/** Stop the guard when a run needs it no longer, unless more runs follow: lw_shield_keep says so beforehand. */
void lw_shield_rest(void);
void lw_shield_keep(void);

/** Call `look` in a looker and return what it returns, with its result and its error. By one process, not collective.
 * LW_EDATA: the looker died, or took more than LW_SHIELD_CPU_S of processor time. LW_EIO: it did not end within LW_SHIELD_WALL_S.
 * LW_ESYSTEM: there can be no looker, or it or the guard was killed from outside. @param bytes  of *result */
int lw_shield(lw_shield_fn *look, const struct lw_object *object, void *result, size_t bytes, struct lw_error *err);

#define LW_SHIELD_CPU_S 15
#define LW_SHIELD_WALL_S 300        /* a file may have to come from a tape first */
