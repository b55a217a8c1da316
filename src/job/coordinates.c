#include "job/coordinates.h"

#include "base/memory.h"

#include <ctype.h>
#include <stdio.h>

static struct lw_writer_scale scale_time(const struct lw_axis_metadata *axis, struct lw_steps steps)
{
    struct lw_writer_scale scale = {.kind = LW_SCALE_TIMES, .step = steps.every, .units = "s", .long_name = "time"};
    int64_t denominator;
    if (axis->period.numerator == 0 || __builtin_mul_overflow(steps.first, (int64_t)steps.rate, &scale.first) ||
        __builtin_mul_overflow(axis->period.denominator, (int64_t)steps.rate, &denominator) ||
        !lw_period_make(axis->period.numerator, denominator, &scale.period))
        return (struct lw_writer_scale){        /* no usable rate: number the samples of the input */
            .kind = LW_SCALE_PLACES, .step = steps.every, .origin = (double)steps.first, .distance = 1.0 / steps.rate,
            .units = "1", .long_name = "sample of the input",
        };
    if (axis->scale != LW_TIME_UNKNOWN) {
        /* Dates are written to the microsecond, the precision that readers keep; the remainder goes to the values. */
        const int64_t microsecond = LW_ATTOSECONDS / 1000000;
        const struct lw_instant utc = axis->scale == LW_TIME_GPS ? lw_instant_from_gps(axis->instant) : axis->instant;
        const int64_t rest = utc.attoseconds % microsecond;
        char text[LW_INSTANT_TEXT];
        lw_instant_text((struct lw_instant){utc.seconds, utc.attoseconds - rest}, text);
        snprintf(scale.units, sizeof scale.units, "seconds since %s", text);
        scale.origin = (double)rest / (double)LW_ATTOSECONDS;
        scale.is_dated = true;
        scale.start = utc;
    } else if (axis->has_start && (!axis->start_unit[0] || lw_sampling_unit_seconds(axis->start_unit) == 1))
        scale.origin = axis->start;
    return scale;
}

/* Number the elements of one dimension: first + i x every. @param what  name of an element, "row"; static storage */
static void count_elements(struct lw_product *product, int dimension, int64_t first, int64_t every, const char *what)
{
    product->dataset.scales[dimension] = (struct lw_writer_scale){.kind = LW_SCALE_NUMBERS, .first = first, .step = every,
                                                                  .units = "1", .long_name = what};
}

void lw_coordinates_place(struct lw_product *product, int dimension, struct lw_writer_scale scale)
{
    scale.kind = LW_SCALE_PLACES;
    product->dataset.has_scales = true;
    product->dataset.scales[dimension] = scale;
}

void lw_coordinates_channels(const struct lw_coordinate *places, const struct lw_range *channels, const char *what,
                             struct lw_writer_dataset *dataset, int dimension)
{
    struct lw_writer_scale *const scale = &dataset->scales[dimension];
    *scale = (struct lw_writer_scale){.kind = LW_SCALE_NUMBERS, .first = channels->begin, .step = channels->step, .units = "1",
                                      .long_name = what};
    if (!places || !places->is_regular || !places->name[0])
        return;
    scale->kind = LW_SCALE_PLACES;
    scale->origin = places->first;
    scale->distance = places->step;
    scale->long_name = NULL;
    snprintf(scale->units, sizeof scale->units, "%s", places->unit);
    /* Take over the name only if netCDF accepts its first character and HDF5 does not take it for a path. */
    const unsigned char first = (unsigned char)places->name[0];
    if ((isalnum(first) || first == '_' || first >= 128) && !strchr(places->name, '/'))
        dataset->dim_names[dimension] = places->name;
}

static void scale_channels(const struct lw_job *job, struct lw_product *product)
{
    const struct lw_job_array *const array = job->array;
    struct lw_writer_scale *const scale = &product->dataset.scales[product->channel_dim];
    if (array)                  /* beams have coordinates of their own, or are numbered */
        count_elements(product, product->channel_dim, 0, 1, product->dataset.dim_names[product->channel_dim]);
    if (array && array->trials) {
        *scale = (struct lw_writer_scale){.kind = LW_SCALE_VALUES, .step = 1, .values = array->trials};
        snprintf(scale->units, sizeof scale->units, "%s", array->unit);
    }
    if (array)
        return;
    /* Dimension of the input that holds the channels: neither the axis nor, in images, the pixels of a row; -1: none. */
    const int n_dims = job->inputs[0].n_dims - (job->view.has_rows ? 1 : 0);
    const int from = n_dims < 2 ? -1 : job->view.axis == 0 ? 1 : 0;
    lw_coordinates_channels(from >= 0 ? &job->inputs[0].coordinates[from] : NULL, &job->view.channels, job->ops->channel,
                            &product->dataset, product->channel_dim);
}

void lw_coordinates_set(const struct lw_job *job, struct lw_steps steps, struct lw_product *product)
{
    struct lw_writer_dataset *const dataset = &product->dataset;
    dataset->has_scales = true;
    if (dataset->n_columns > 0)
        return;
    for (int d = 0; d < dataset->n_dims; d++)
        if (d == product->axis_dim)
            product->dataset.scales[product->axis_dim] = scale_time(&job->inputs[0].axis, steps);
        else if (d == product->channel_dim)
            scale_channels(job, product);
        else
            count_elements(product, d, 0, 1, dataset->dim_names[d]);
}

void lw_coordinates_images(const struct lw_job *job, const int64_t first[2], const int64_t size[2], int64_t every,
                           struct lw_product *product)
{
    static const char *const names[2] = {"row", "column"};
    struct lw_writer_dataset *const images = &product->dataset;
    struct lw_pixel_map *const map = &images->map;
    product->channel_dim = -1;
    if (job->inputs[0].n_dims == 3) {
        const int image = product->channel_dim = images->n_dims++;
        map->first[image] = (double)job->view.channels.begin;
        map->every[image] = (double)job->view.channels.step;
        images->dim_names[image] = "image";
        images->dims[image] = job->op.n_channels;
    }
    product->axis_dim = images->n_dims;
    for (int d = 0; d < 2; d++) {
        const int dim = images->n_dims++;
        images->dim_names[dim] = names[d];
        images->dims[dim] = size[d];
        map->first[dim] = (double)first[d];
        map->every[dim] = (double)every;
    }
    lw_coordinates_set(job, (struct lw_steps){0}, product);
    for (int d = 0; d < 2; d++)
        count_elements(product, product->axis_dim + d, first[d], every, names[d]);
}

int lw_coordinates_read(struct lw_comm *comm, const struct lw_dataset_info *info, int dimension, double **values, char unit[32],
                        struct lw_error *err)
{
    const int group = (int)(strlen(info->path) - strlen(lw_last_part(info->path)));
    char path[2 * LW_MAX_PATH];
    struct lw_dataset_info scale;
    struct lw_error none;
    snprintf(path, sizeof path, "%.*s%s", group, info->path, info->coordinates[dimension].name);
    const int rc = lw_reader_read_numbers(comm, lw_name_of(info->file, path).text, 1, &scale, values, &none);
    if (rc == LW_ESYSTEM)
        *err = none;
    else if (rc == LW_OK)
        snprintf(unit, 32, "%.31s", scale.axis.unit);
    if (rc || scale.type.is_complex || scale.dims[0] != info->dims[dimension]) {
        lw_free(*values);
        *values = NULL;
    }
    return rc == LW_ESYSTEM ? rc : LW_OK;
}
