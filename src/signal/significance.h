/* significance.h - how improbable a sum of powers is in noise, as a number of standard deviations.
 *
 * A sum S of m powers of noise, each of mean 1, exceeds s with probability Q(m, s), the regularized upper incomplete gamma
 * function. If the mean by which all are divided is an estimate of relative variance v, as of b = 1 / v powers, then with
 * probability
 *
 *     Q(m, s, v) = (1 + v s)^-b (1 + sum over k from 1 to m - 1 of b (b + 1) .. (b + k - 1) / k! (s / (b + s))^k)
 *
 * One power has (1 + P / b)^-b in place of exp(-P): it is as significant as b log(1 + P / b). (Q(m, s L), integrated over the gamma
 * distribution of the estimate L.) Of n independent sums the largest exceeds s with probability p = 1 - (1 - Q)^n. Its significance
 * is the sigma at which a normal variable's upper tail is p; it is computed through logarithms, as p may be far below the least
 * double. (S. M. Ransom, PhD thesis, Harvard 2001, section 2.2; M. Abramowitz and I. A. Stegun, Handbook of Mathematical Functions,
 * 26.4.) */
#pragma once

/** Return log Q(m, s, v). @param m  number of powers, at least 1 @param v  0: the mean is known, Q(m, s) */
double lw_sum_log_tail(int m, double s, double v);

/** Return the significance of a sum of m powers among n independent sums; negative if p > 1/2. */
double lw_sum_sigma(int m, double s, double v, double n);

/** Return the sum of m powers of known mean that has a significance among n independent sums. */
double lw_sum_for_sigma(int m, double sigma, double n);
