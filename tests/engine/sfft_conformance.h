/* sfft_conformance.h - what every engine's sparse transform must do alike; a thin main per engine. */
#ifndef LW_TEST_SFFT_CONFORMANCE_H
#define LW_TEST_SFFT_CONFORMANCE_H

#include "../../src/engine.h"

/** @param divisor  of the number of trials, of which there is at least one
 * @return exit code: 0, 1, or 77 where the engine cannot run here (1 with LW_REQUIRE_GPU=1) */
int sfft_conformance(enum lw_engine_kind kind, int divisor);

#endif
