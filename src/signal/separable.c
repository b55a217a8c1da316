#include "signal/separable.h"

#include <complex.h>
#include <math.h>
#include <string.h>

/* For a matrix of rank 1 one is enough; the others take the rounding of single elements out of the factors. */
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

static void put(double *values, int64_t i, int parts, double complex value)
{
    values[i * parts] = creal(value);
    if (parts == 2)
        values[2 * i + 1] = cimag(value);
}

static double square(double complex z) { return creal(z) * creal(z) + cimag(z) * cimag(z); }

static double energy(const double *values, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += values[i] * values[i];
    return sum;
}

/* The row of the largest norm: the factor to begin with. */
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

/* column[m] = sum_n h[m][n] conj(row[n]) / |row|^2 */
static void fit_column(const struct matrix *h, const double *row, double *column)
{
    const double norm = energy(row, h->columns * h->parts);
    for (int64_t m = 0; m < h->rows; m++) {
        double complex sum = 0;
        for (int64_t n = 0; n < h->columns; n++)
            sum += get(h->values, m * h->columns + n, h->parts) * conj(get(row, n, h->parts));
        put(column, m, h->parts, norm > 0 ? sum / norm : 0);
    }
}

/* row[n] = sum_m conj(column[m]) h[m][n] / |column|^2 */
static void fit_row(const struct matrix *h, const double *column, double *row)
{
    const double norm = energy(column, h->rows * h->parts);
    for (int64_t n = 0; n < h->columns; n++) {
        double complex sum = 0;
        for (int64_t m = 0; m < h->rows; m++)
            sum += conj(get(column, m, h->parts)) * get(h->values, m * h->columns + n, h->parts);
        put(row, n, h->parts, norm > 0 ? sum / norm : 0);
    }
}

static double residual(const struct matrix *h, const double *column, const double *row)
{
    double left = 0;
    for (int64_t m = 0; m < h->rows; m++)
        for (int64_t n = 0; n < h->columns; n++)
            left += square(get(h->values, m * h->columns + n, h->parts) - get(column, m, h->parts) * get(row, n, h->parts));
    return left;
}

double lw_separate(const double *matrix, int64_t rows, int64_t columns, bool is_complex, double *column, double *row)
{
    const struct matrix h = {matrix, rows, columns, is_complex ? 2 : 1};
    const double all = energy(matrix, rows * columns * h.parts);
    largest_row(&h, row);
    fit_column(&h, row, column);
    for (int i = 0; i < ITERATIONS; i++) {
        fit_row(&h, column, row);
        fit_column(&h, row, column);
    }
    return all > 0 ? sqrt(residual(&h, column, row) / all) : 0;
}
