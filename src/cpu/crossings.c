#include "cpu/crossings.h"

#include "base/integers.h"

void lw_cpu_table_begin(struct lw_cpu_table *table, struct lw_slot_product *product)
{
    table->product = product;
    atomic_store(&table->n_rows, 0);
}

void lw_cpu_table_end(struct lw_cpu_table *table) { table->product->n_rows = atomic_load(&table->n_rows); }

/* Append as many as the table has room for; the others are only counted. */
void lw_cpu_crossings_flush(struct lw_cpu_found *found, struct lw_cpu_table *table)
{
    if (found->n == 0)
        return;
    const int64_t at = atomic_fetch_add(&table->n_rows, found->n);
    const int64_t n = lw_min64(found->n, table->product->most_rows - at);
    if (n > 0)
        memcpy((struct lw_crossing *)table->product->data + at, found->rows, (size_t)n * sizeof *found->rows);
    found->n = 0;
}

static double real_of(const struct lw_cpu_outputs *outputs, const void *reals, int64_t at)
{
    return outputs->kernels->real_bytes == sizeof(double) ? ((const double *)reals)[at] : (double)((const float *)reals)[at];
}

/* Return one part (0: re, 1: im) of output i, as it was computed. */
static double part_of(const struct lw_cpu_outputs *outputs, int64_t i, int part)
{
    return part < outputs->width ? real_of(outputs, outputs->y, i * outputs->width + part) : 0;
}

void lw_cpu_crossings_add(const struct lw_cpu_outputs *outputs, int64_t i, int64_t place, struct lw_cpu_found *found,
                          struct lw_cpu_table *table)
{
    struct lw_crossing crossing = outputs->first;
    *(outputs->is_row ? &crossing.column : &crossing.index) += place;
    crossing.re = part_of(outputs, i, 0);
    crossing.im = part_of(outputs, i, 1);
    if (!lw_sign_fits(outputs->sign, crossing.re) ||
        !(hypot(crossing.re, crossing.im) / outputs->noise >= outputs->threshold))
        return;
    if (outputs->b)
        crossing.im = ldexp(1 / sqrt(real_of(outputs, outputs->b, i)), outputs->exponent);
    found->rows[found->n++] = crossing;
    if (found->n == LW_CPU_CROSSINGS)
        lw_cpu_crossings_flush(found, table);
}

void lw_cpu_crossings_find(const struct lw_cpu_outputs *outputs, struct lw_cpu_found *found, struct lw_cpu_table *table)
{
    const double least = outputs->threshold * outputs->noise;
    const int64_t end = outputs->end;
    int64_t i = outputs->begin - 1;
    if (!(outputs->noise > 0))
        return;
    while ((i = outputs->kernels->next_crossing(outputs->y, i + 1, end, outputs->width, least)) < end)
        lw_cpu_crossings_add(outputs, i, i, found, table);
}
