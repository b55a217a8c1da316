/* separable.h - whether a matrix is the product of a column and a row. Pure arithmetic. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** Find the column and row whose product column[m] * row[n] is nearest to the matrix, by alternating least squares (power
 * iteration).
 * @param matrix  [rows x columns], or [rows x columns x 2] (re, im) if complex
 * @param column  set; [rows] or [rows x 2]
 * @param row     set; [columns] or [columns x 2]
 * @return  Frobenius norm of matrix - column * row, divided by that of the matrix; 0 for a matrix of zeros */
double lw_separate(const double *matrix, int64_t rows, int64_t columns, bool is_complex, double *column, double *row);
