/* conv2d_conformance.h - what every engine that convolves images must do alike; a thin main per engine. */
#ifndef LW_TEST_CONV2D_CONFORMANCE_H
#define LW_TEST_CONV2D_CONFORMANCE_H

#include "../../src/engine.h"

/** @return exit code: 0 or 1 */
int conv2d_conformance(enum lw_engine_kind kind);

#endif
