/* quadrature.h - integrals over [0, 1] of smooth functions that are not periodic, from equidistant values, the ends included.
 *
 * Values f(i / n) for i = 0 .. n get the weights 1 / n, but for LW_QUADRATURE_ENDS values at either end: Gregory's formula, the
 * trapezoidal rule with differences up to order 11 at the ends (F. B. Hildebrand: Introduction to Numerical Analysis, section 5.8).
 * For an oscillation of f periods the error is below 1e-12 if n is at least 32 f and 512, about 1e-7 if n is 8 f. */
#pragma once


#define LW_QUADRATURE_ENDS 12

/** Compute the weights of the values next to an end, times n: of value i and of value n - i. For n >= 2 LW_QUADRATURE_ENDS.
 * @param weights  out, [LW_QUADRATURE_ENDS] */
void lw_quadrature_ends(double *weights);
