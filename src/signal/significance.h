/* significance.h - how improbable a sum of powers is in noise, as a number of standard deviations.
 *
 * A sum S of m powers of noise, each of mean 1, exceeds s with probability Q(m, s), the regularized upper incomplete gamma
 * function. Of n independent sums the largest exceeds s with probability p = 1 - (1 - Q)^n. Its significance is the sigma at which
 * a normal variable's upper tail is p; it is computed through logarithms, as p may be far below the least double. (S. M. Ransom,
 * PhD thesis, Harvard 2001, section 2.2; M. Abramowitz and I. A. Stegun, Handbook of Mathematical Functions, 26.4.) */
#pragma once

/** Return log Q(m, s). @param m  number of powers, at least 1 */
double lw_sum_log_tail(int m, double s);

/** Return the significance of a sum of m powers among n independent sums; negative if p > 1/2. */
double lw_sum_sigma(int m, double s, double n);

/** Return the sum of m powers that has a significance among n independent sums. */
double lw_sum_for_sigma(int m, double sigma, double n);
