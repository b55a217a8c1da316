/* test_separable.c - tests of the separation of a kernel into column times row: an exact product is found, and otherwise the
 * remainder is right. */
#include "../check.h"
#include "signal/separable.h"

#include <math.h>
#include <stdint.h>

enum { ROWS = 7, COLUMNS = 5 };

static uint64_t state = 1;

static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-52 - 1;
}

/* matrix[m][n] = column[m] * row[n], complex numbers as pairs */
static void multiply(const double *column, const double *row, int parts, double *matrix)
{
    for (int m = 0; m < ROWS; m++) {
        for (int n = 0; n < COLUMNS; n++) {
            double *const to = matrix + (m * COLUMNS + n) * parts;
            const double *const a = column + m * parts, *const b = row + n * parts;
            to[0] = parts == 2 ? a[0] * b[0] - a[1] * b[1] : a[0] * b[0];
            if (parts == 2)
                to[1] = a[0] * b[1] + a[1] * b[0];
        }
    }
}

static double largest_difference(const double *a, const double *b, int n)
{
    double largest = 0;
    for (int i = 0; i < n; i++)
        largest = fmax(largest, fabs(a[i] - b[i]));
    return largest;
}

static void test_product(int parts)
{
    double column[ROWS * 2], row[COLUMNS * 2], matrix[ROWS * COLUMNS * 2], again[ROWS * COLUMNS * 2];
    for (int i = 0; i < ROWS * parts; i++)
        column[i] = uniform();
    for (int i = 0; i < COLUMNS * parts; i++)
        row[i] = uniform();
    for (int i = 0; i < parts; i++)
        row[i] = column[2 * parts + i] = 0;         /* a column and a row of zeros */
    multiply(column, row, parts, matrix);
    const double left = lw_separate(matrix, ROWS, COLUMNS, parts == 2, column, row);
    CHECK(left < 1e-15, "%d parts: %g is left of a product", parts, left);
    multiply(column, row, parts, again);
    const double off = largest_difference(matrix, again, ROWS * COLUMNS * parts);
    CHECK(off < 1e-15, "%d parts: the factors' product is off by %g", parts, off);
}

/* The 2 x 2 identity: any product of column and row leaves half of its energy. */
static void test_rest(void)
{
    double column[2], row[2];
    const double identity[] = {1, 0, 0, 1}, zeros[] = {0, 0, 0, 0};
    const double left = lw_separate(identity, 2, 2, false, column, row);
    CHECK(fabs(left - sqrt(0.5)) < 1e-12, "%g is left of the identity", left);
    CHECK(lw_separate(zeros, 2, 2, false, column, row) == 0 && column[0] == 0 && row[0] * column[1] == 0,
          "a matrix of zeros must be a product of zeros");
}

/* 3 a b' + 1e-3 c d' with orthogonal factors: the remainder is the smaller singular value. */
static void test_nearly(void)
{
    double column[2], row[2];
    const double matrix[] = {3, 0, 0, 1e-3};
    const double left = lw_separate(matrix, 2, 2, false, column, row);
    CHECK(fabs(left - 1e-3 / sqrt(9 + 1e-6)) < 1e-9, "%g is left", left);
}

int main(void)
{
    for (int i = 0; i < 20; i++) {
        test_product(1);
        test_product(2);
    }
    test_rest();
    test_nearly();
    return check_result("separable");
}
