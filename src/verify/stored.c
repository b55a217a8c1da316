#include "verify/state.h"

#include "base/memory.h"
#include "io/format.h"
#include "io/read/box.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct lw_verify_stored {
    struct lw_dataset_info info;
    struct lw_boxes *samples;
    double unit;            /* of integers of FITS, which are read as what they stand for; 0: they are read as they are stored */
};

static void shape_text(int n_dims, const int64_t *dims, char text[128])
{
    text[0] = '\0';
    for (int d = 0; d < n_dims; d++)
        snprintf(text + strlen(text), 128 - strlen(text), "%s%" PRId64, d ? " x " : "", dims[d]);
}

static int check_shape(const struct lw_verify_stored *stored, const struct lw_writer_dataset *dataset, struct lw_error *err)
{
    const struct lw_dataset_info *const info = &stored->info;
    char found[128], wanted[128];
    bool is_same = info->n_dims == dataset->n_dims && info->type.is_complex == dataset->type.is_complex;
    for (int d = 0; is_same && d < info->n_dims; d++)
        is_same = info->dims[d] == dataset->dims[d];
    if (is_same)
        return LW_OK;
    shape_text(info->n_dims, info->dims, found);
    shape_text(dataset->n_dims, dataset->dims, wanted);
    return lw_fail(err, LW_EDATA, "%.500s has %s %s values, and its configuration makes %s %s ones", lw_dataset_name(info).text,
                   found, info->type.is_complex ? "complex" : "real", wanted, dataset->type.is_complex ? "complex" : "real");
}

int lw_verify_stored_open(const struct lw_verify *verify, const struct lw_writer_dataset *dataset, struct lw_verify_stored **out,
                          struct lw_error *err)
{
    struct lw_verify_stored *const stored = lw_alloc(sizeof *stored, "the result's dataset", err);
    if (!stored)
        return LW_ESYSTEM;
    int rc = lw_examine_dataset(lw_verify_name(verify, dataset->path).text, NULL, LW_USE_NUMBERS, &stored->info, err);
    if (verify->is_fits && lw_scalar_saturates(dataset->type.scalar))
        stored->unit = verify->job.op.output_scale;
    if (rc == LW_OK)
        rc = check_shape(stored, dataset, err);
    stored->info.packing.is_on = false;
    const struct lw_boxes_spec spec = {.info = &stored->info, .keeps_parts = true};
    if (rc == LW_OK)
        rc = lw_boxes_open(&spec, &stored->samples, err);
    if (rc)
        lw_verify_stored_close(stored);
    else
        *out = stored;
    return rc;
}

void lw_verify_stored_close(struct lw_verify_stored *stored)
{
    if (!stored)
        return;
    lw_boxes_close(stored->samples);
    lw_free(stored);
}

int lw_verify_stored_read(struct lw_verify_stored *stored, const int64_t *place, double complex *value, struct lw_error *err)
{
    struct lw_sample_box box = {.count = {1, 1, 1, 1}, .step = {1, 1, 1, 1}};
    double parts[2] = {0};
    memcpy(box.first, place, (size_t)stored->info.n_dims * sizeof *place);
    const int rc = lw_boxes_read(stored->samples, &box, 1, parts, err);
    if (rc)
        return rc;
    *value = CMPLX(parts[0], parts[1]);
    if (stored->unit > 0)
        *value = nearbyint(creal(*value) / stored->unit);
    return LW_OK;
}
