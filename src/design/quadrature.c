#include "design/quadrature.h"

#include <math.h>

/* The correction of an end is the sum of |G[k + 1]| times the k-th difference there, k = 1, 2, ..; Gregory's coefficients G are
 * those of the power series of x / log(1 + x). */
void lw_quadrature_ends(double *weights)
{
    double G[LW_QUADRATURE_ENDS + 1] = {1};
    for (int n = 1; n <= LW_QUADRATURE_ENDS; n++)
        for (int k = 1; k <= n; k++)
            G[n] -= (k % 2 ? -1.0 : 1.0) / (k + 1) * G[n - k];

    for (int i = 0; i < LW_QUADRATURE_ENDS; i++) {
        weights[i] = i == 0 ? 0.5 : 1;
        double binomial = 1;                                    /* k over i */
        for (int k = i; k < LW_QUADRATURE_ENDS; k++) {
            if (k > 0)
                weights[i] -= (i % 2 ? -1.0 : 1.0) * fabs(G[k + 1]) * binomial;
            binomial = binomial * (k + 1) / (k + 1 - i);
        }
    }
}
