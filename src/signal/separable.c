#include "signal/separable.h"

#include <complex.h>
#include <math.h>
#include <string.h>

/* One iteration is enough for a matrix of rank 1. Further iterations average out the rounding of single elements. */
enum { ITERATIONS = 3 };

struct matrix {
    const double *values;
    int64_t rows, columns;
    int parts;
};

static double complex get(const double *values, int64_t i, int parts)
{
    return parts == 2 ? CMPLX(values[2 * i], values[2 * i + 1]) : values[i];
}

static double square(double complex z) { return creal(z) * creal(z) + cimag(z) * cimag(z); }

static double energy(const double *values, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += values[i] * values[i];
    return sum;
}

/* The row of the matrix with the largest norm: the first estimate of the row factor. */
static void largest_row(const struct matrix *h, double *row)
{
    const int64_t n = h->columns * h->parts;
    int64_t best = 0;
    double most = -1;
    for (int64_t m = 0; m < h->rows; m++) {
        const double found = energy(h->values + m * n, n);
        if (found > most) {
            most = found;
            best = m;
        }
    }
    memcpy(row, h->values + best * n, (size_t)n * sizeof *row);
}

/* The least-squares partner of the factor `other`: out[i] = sum over j of h[i step + j other_step] conj(other[j]) / |other|^2 */
static void fit(const struct matrix *h, int64_t n, int64_t step, const double *other, int64_t n_other, int64_t other_step,
                double *out)
{
    const double norm = energy(other, n_other * h->parts);
    for (int64_t i = 0; i < n; i++) {
        double complex sum = 0;
        for (int64_t j = 0; j < n_other; j++)
            sum += get(h->values, i * step + j * other_step, h->parts) * conj(get(other, j, h->parts));
        sum = norm > 0 ? sum / norm : 0;
        out[i * h->parts] = creal(sum);
        if (h->parts == 2)
            out[2 * i + 1] = cimag(sum);
    }
}

double lw_separate(const double *matrix, int64_t rows, int64_t columns, bool is_complex, double *column, double *row)
{
    const struct matrix h = {matrix, rows, columns, is_complex ? 2 : 1};
    const double all = energy(matrix, rows * columns * h.parts);
    largest_row(&h, row);
    for (int i = 0; i <= ITERATIONS; i++) {
        if (i > 0)
            fit(&h, columns, 1, column, rows, columns, row);
        fit(&h, rows, columns, row, columns, 1, column);
    }
    double left = 0;
    for (int64_t m = 0; m < rows; m++)
        for (int64_t n = 0; n < columns; n++)
            left += square(get(matrix, m * columns + n, h.parts) - get(column, m, h.parts) * get(row, n, h.parts));
    return all > 0 ? sqrt(left / all) : 0;
}
