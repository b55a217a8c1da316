#include "signal/source.h"

#include <math.h>

/* A kernel's sum is rounding if it is less than this part of the sum of magnitudes. */
static const double balanced = 1e-6;

/* Return the mean of the border's elements. */
static double mean_of_border(const double *kernel, int64_t rows, int64_t columns)
{
    double sum = 0;
    int64_t n = 0;
    for (int64_t i = 0; i < rows * columns; i++)
        if (i < columns || i >= (rows - 1) * columns || i % columns == 0 || i % columns == columns - 1) {
            sum += kernel[i];
            n++;
        }
    return sum / (double)n;
}

/* The profile of a balanced kernel is what rises above the mean of its border, else the kernel itself. */
struct lw_source_shape lw_source_shape_of(const double *kernel, int64_t rows, int64_t columns)
{
    struct lw_source_shape shape = {0};
    double magnitudes = 0, sum = 0, squares = 0, spread = 0;
    for (int64_t i = 0; i < rows * columns; i++) {
        shape.energy += kernel[i] * kernel[i];
        sum += kernel[i];
        magnitudes += fabs(kernel[i]);
    }
    shape.is_balanced = !(fabs(sum) > balanced * magnitudes);
    const double level = shape.is_balanced ? mean_of_border(kernel, rows, columns) : 0;
    for (int64_t i = 0; i < rows * columns; i++) {
        const double profile = shape.is_balanced ? fmax(0, kernel[i] - level) : kernel[i], square = profile * profile;
        shape.total += profile;
        squares += square;
        spread += square * (double)((i / columns) * (i / columns) + (i % columns) * (i % columns));
        shape.row += square * (double)(i / columns);
        shape.column += square * (double)(i % columns);
    }
    shape.row /= squares;
    shape.column /= squares;
    /* The square of a Gaussian has half its variance in each direction. */
    shape.sigma = sqrt(fmax(0, spread / squares - shape.row * shape.row - shape.column * shape.column));
    return shape;
}

/* The window along one axis: pixels 0 .. n - 1, of which those within [place - half, place + half] count. */
struct span {
    double scale;               /* -1 / (2 sigma^2) */
    double place, half;
    double squares, spread;     /* sums of w^2 and of w^2 times the square of the offset, over the pixels weighed so far */
};

static struct span span_of(double place, int64_t n, double scale)
{
    return (struct span){.scale = scale, .place = place, .half = fmin(place + 0.5, (double)n - 0.5 - place)};
}

/* Return w of pixel i. Of a pixel at an end of the span a part counts. @param offset  set to the distance of its middle from the
 * place */
static double weigh(struct span *span, int64_t i, double *offset)
{
    const double begin = fmax((double)i - 0.5 - span->place, -span->half), end = fmin((double)i + 0.5 - span->place, span->half);
    *offset = (begin + end) / 2;
    const double w = fmax(0, end - begin) * exp(span->scale * *offset * *offset);
    span->squares += w * w;
    span->spread += w * w * *offset * *offset;
    return w;
}

/* Return the step of the place from the mean offset of the light: it would end at the middle of a Gaussian of width sigma. In a
 * wide window the step is twice the mean. A span of one pixel moves nothing. */
static double step_of(const struct span *span, double mean)
{
    const double variance = -0.5 / span->scale;
    return span->spread > 1e-9 * variance * span->squares ? mean * variance * span->squares / span->spread : mean;
}

bool lw_source_find(const double *pixels, int64_t rows, int64_t columns, double sigma, double *scratch, double at[2])
{
    enum { MOST_STEPS = 50 };
    const double stands = 1e-4, reach = fmax(2, sigma), scale = -0.5 / (sigma * sigma);
    double *const weights = scratch, *const offsets = scratch + columns, y = at[0], x = at[1];
    bool stood = false;
    for (int step = 0; step < MOST_STEPS && !stood; step++) {
        struct span down = span_of(y, rows, scale), right = span_of(x, columns, scale);
        double light = 0, dy = 0, dx = 0;
        for (int64_t j = 0; j < columns; j++)
            weights[j] = weigh(&right, j, &offsets[j]);
        for (int64_t i = 0; i < rows; i++) {
            double offset, its_light = 0, its_dx = 0;
            const double w = weigh(&down, i, &offset);
            for (int64_t j = 0; j < columns; j++) {
                const double weighted = weights[j] * pixels[i * columns + j];
                its_light += weighted;
                its_dx += weighted * offsets[j];
            }
            light += w * its_light;
            dy += w * its_light * offset;
            dx += w * its_dx;
        }
        dy = step_of(&down, dy / light);
        dx = step_of(&right, dx / light);
        y += dy;
        x += dx;
        stood = hypot(dy, dx) < stands;
        if (!(hypot(y - at[0], x - at[1]) <= reach))
            return false;
    }
    if (stood) {
        at[0] = y;
        at[1] = x;
    }
    return stood;
}
