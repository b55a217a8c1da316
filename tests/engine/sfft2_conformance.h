/* sfft2_conformance.h - the published transform with flat windows and voting, on any engine, against signals whose spectrum is
 * known: lines found and their errors over many seeds, the same bits in all ways to compute it, the same lines as the cpu
 * engine's, and signals that are not sparse. */
#ifndef LW_TEST_SFFT2_CONFORMANCE_H
#define LW_TEST_SFFT2_CONFORMANCE_H

#include "../../src/engine.h"

/** @param divisor  the numbers of trials are divided by this
 *  @return         the exit code of the test */
int sfft2_conformance(enum lw_engine_kind kind, int divisor);

#endif
