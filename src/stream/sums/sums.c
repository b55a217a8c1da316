#include "stream/sums/sums.h"

#include "base/integers.h"
#include "base/memory.h"
#include "io/codecs/hash.h"
#include "stream/pipeline.h"

#include <stdio.h>

struct lw_sums {
    const struct lw_setup *setup;
    const struct lw_plan *plan;
    char *gather;                   /* owned; work space of lw_sums_of_block; NULL if time varies fastest */
    uint64_t *values[LW_MAX_DEPTH]; /* owned; ring of the sums of blocks being written, [all arrays] each */
    int newest;                     /* place of the newest block in the ring */
    int64_t used;                   /* number of sums of the newest block so far */
};

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

/* Least elements and outputs of a grid block, and most outputs to which it is extended for LEAST_ELEMENTS. */
enum { LEAST_ELEMENTS = 512, LEAST_OUTPUTS = 4096, MOST_OUTPUTS = 1 << 16 };

int64_t lw_sums_unit(const struct lw_job *job, const struct lw_op_plan *op)
{
    int64_t wanted = 0;
    for (int p = 0; job->has_sums && p < op->n_products; p++)
        if (op->products[p].n_planes > 0) {
            const int64_t thinned = lw_min64(op->products[p].every, MOST_OUTPUTS / LEAST_ELEMENTS) * LEAST_ELEMENTS;
            wanted = lw_max64(wanted, lw_divide_up(lw_max64(LEAST_OUTPUTS, thinned), op->products[p].width));
        }
    return op->unit * lw_max64(1, lw_divide_up(wanted, op->unit));
}

static struct lw_sums_shape shape_of(const struct lw_plan *plan, const struct lw_job *job, int product)
{
    const struct lw_op_product *const p = &plan->op.products[product];
    return (struct lw_sums_shape){
        .layout = lw_op_output_layout(&job->op), .n_planes = p->n_planes, .n_channels = job->op.n_channels,
        .n_outputs = job->n_outputs, .unit = plan->rounds.grid.unit, .channel_unit = plan->op.channel_unit, .rate = p->rate,
        .every = p->every, .width = p->width, .value_bytes = (int64_t)lw_type_bytes(p->type),
    };
}

/* Return the number of sums of a block with these outputs and channels, of all arrays. */
static int64_t count_sums(const struct lw_plan *plan, const struct lw_job *job, int64_t n_outputs, int64_t n_channels)
{
    int64_t count = 0;
    for (int p = 0; p < plan->op.n_products; p++) {
        const struct lw_sums_shape shape = shape_of(plan, job, p);
        count += shape.n_planes * lw_sums_blocks(&shape, n_outputs) * lw_sums_channel_blocks(&shape, n_channels);
    }
    return count;
}

/* ---- datasets ---------------------------------------------------------------------------------------------------- */

static void declare(const struct lw_plan *plan, struct lw_job *job, int product)
{
    const struct lw_sums_shape shape = shape_of(plan, job, product);
    const struct lw_product *const array = &job->products[product];
    struct lw_job_sums *const its = &job->sums[job->n_sums++];
    *its = (struct lw_job_sums){.product_number = product};
    snprintf(its->path, sizeof its->path, LW_SUMS_GROUP "%s", array->dataset.path);
    its->product.dataset = (struct lw_writer_dataset){.path = its->path, .holds_words = true};
    /* The dimensions are those of the array, with grid blocks in place of outputs and channels; for images without the columns. */
    struct lw_writer_dataset *const dataset = &its->product.dataset;
    its->product.channel_dim = its->product.axis_dim = -1;
    for (int d = 0; d < array->dataset.n_dims; d++) {
        const int at = dataset->n_dims;
        if (shape.width > 1 && d == array->axis_dim + 1)
            continue;
        dataset->dims[at] = array->dataset.dims[d];
        dataset->dim_names[at] = array->dataset.dim_names[d];
        if (d == array->axis_dim) {
            its->product.axis_dim = at;
            dataset->dims[at] = lw_sums_blocks(&shape, shape.n_outputs);
            dataset->dim_names[at] = "block";
        } else if (d == array->channel_dim) {
            its->product.channel_dim = at;
            dataset->dims[at] = lw_sums_channel_blocks(&shape, shape.n_channels);
            dataset->dim_names[at] = "channel_block";
        }
        dataset->n_dims++;
    }
    its->product.has_filters = array->has_filters;
    lw_product_note_text(&its->product, "checksum_of", array->dataset.path);
    lw_product_note_text(&its->product, "algorithm", LW_HASH_NAME);
    lw_product_note_int(&its->product, "block_outputs", shape.unit);
    lw_product_note_int(&its->product, "block_channels", shape.channel_unit);
    lw_product_note_int(&its->product, "elements_per_output", shape.rate);
    lw_product_note_int(&its->product, "outputs_per_element", shape.every);
}

void lw_sums_declare(const struct lw_plan *plan, struct lw_job *job)
{
    job->n_sums = 0;
    for (int p = 0; job->has_sums && p < job->n_products; p++)
        if (plan->op.products[p].n_planes > 0)
            declare(plan, job, p);
}

/* ---- lifecycle --------------------------------------------------------------------------------------------------- */

static int64_t gather_bytes(const struct lw_job *job, int n_threads)
{
    return lw_op_output_layout(&job->op) == LW_TIME_SLOW ? lw_max64(1, n_threads) * LW_SUMS_GATHER_BYTES : 0;
}

int64_t lw_sums_bytes(const struct lw_plan *plan, const struct lw_job *job, int n_threads)
{
    if (!job->has_sums)
        return 0;
    const int64_t sums = count_sums(plan, job, plan->rounds.slice, plan->rounds.group);
    return (int64_t)sizeof(struct lw_sums) + LW_MAX_DEPTH * sums * (int64_t)sizeof(uint64_t) + gather_bytes(job, n_threads);
}

int lw_sums_create(const struct lw_setup *setup, const struct lw_plan *plan, struct lw_sums **out, struct lw_error *err)
{
    const struct lw_job *const job = &setup->job;
    if (job->n_sums == 0)
        return LW_OK;
    struct lw_sums *const sums = *out = lw_alloc(sizeof *sums, "checksums", err);
    if (!sums)
        return LW_ESYSTEM;
    *sums = (struct lw_sums){.setup = setup, .plan = plan};
    const int64_t gathered = gather_bytes(job, setup->pool ? lw_pool_threads(setup->pool) : 1);
    bool is_whole = gathered == 0 || (sums->gather = lw_alloc((size_t)gathered, "checksums", err));
    for (int i = 0; i < LW_MAX_DEPTH && is_whole; i++)
        is_whole = (sums->values[i] = lw_alloc_array(count_sums(plan, job, plan->rounds.slice, plan->rounds.group),
                                                     sizeof *sums->values[i], "checksums", err));
    return is_whole ? LW_OK : LW_ESYSTEM;
}

void lw_sums_destroy(struct lw_sums *sums)
{
    if (!sums)
        return;
    for (int i = 0; i < LW_MAX_DEPTH; i++)
        lw_free(sums->values[i]);
    lw_free(sums->gather);
    lw_free(sums);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

void lw_sums_next(struct lw_sums *sums)
{
    sums->newest = (sums->newest + 1) % LW_MAX_DEPTH;
    sums->used = 0;
}

void lw_sums_compute(struct lw_sums *sums, const struct lw_slot *slot, int product, struct lw_sums_part *part)
{
    const struct lw_job *const job = &sums->setup->job;
    const struct lw_block *const block = &slot->block;
    const struct lw_sums_shape shape = shape_of(sums->plan, job, product);
    int s = 0;
    while (job->sums[s].product_number != product)
        s++;
    const struct lw_product *const its = &job->sums[s].product;
    uint64_t *const values = sums->values[sums->newest] + sums->used;
    const int64_t blocks = lw_sums_blocks(&shape, block->count), channel_blocks = lw_sums_channel_blocks(&shape, block->n_channels);
    *part = (struct lw_sums_part){.values = values, .dataset = job->n_products + job->n_given + s};
    for (int d = 0; d < its->dataset.n_dims; d++)
        part->count[d] = its->dataset.dims[d];
    if (its->has_filters) {
        part->first[0] = block->filter;
        part->count[0] = block->n_filters;
    }
    part->first[its->axis_dim] = block->first / shape.unit;
    part->count[its->axis_dim] = blocks;
    if (its->channel_dim >= 0) {
        part->first[its->channel_dim] = block->channel / shape.channel_unit;
        part->count[its->channel_dim] = channel_blocks;
    }
    lw_sums_of_block(&shape, block, slot->products[product].data, sums->gather, sums->setup->pool, values);
    sums->used += shape.n_planes * blocks * channel_blocks;
}
