/* conformance.h - what every engine must do alike; a thin main per engine. */
#ifndef LW_TEST_CONFORMANCE_H
#define LW_TEST_CONFORMANCE_H

#include "../../src/engine.h"

/** @return exit code: 0, 1, or 77 where the engine cannot run here (1 with LW_REQUIRE_GPU=1) */
int conformance(enum lw_engine_kind kind);

/** The promised error over random configurations. @return likewise */
int accuracy(enum lw_engine_kind kind);

#endif
