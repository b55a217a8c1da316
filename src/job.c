#include "job.h"

#include "post.h"

#include <assert.h>
#include <sys/stat.h>

static struct lw_attribute *add(struct lw_job *job, const char *name, enum lw_attribute_kind kind)
{
    assert(job->n_attributes < LW_JOB_ATTRIBUTES);
    struct lw_attribute *const attribute = &job->attributes[job->n_attributes++];
    *attribute = (struct lw_attribute){.name = name, .kind = kind};
    return attribute;
}

void lw_job_note_text(struct lw_job *job, const char *name, const char *text)
{
    add(job, name, LW_ATTRIBUTE_TEXT)->text = text;
}

void lw_job_note_int(struct lw_job *job, const char *name, int64_t value)
{
    add(job, name, LW_ATTRIBUTE_INT)->integer = value;
}

void lw_job_note_real(struct lw_job *job, const char *name, double value)
{
    add(job, name, LW_ATTRIBUTE_REAL)->real = value;
}

void lw_job_place(const struct lw_job *job, const struct lw_block *block, int64_t first[LW_MAX_DIMS],
                  int64_t count[LW_MAX_DIMS])
{
    for (int d = 0; d < job->result.n_dims; d++) {
        first[d] = 0;
        count[d] = job->result.dims[d];
    }
    first[job->axis_dim] = block->first * (job->op.kind == LW_OP_OLS ? lw_post_rate(job->op.ols.post) : 1);
    count[job->axis_dim] = lw_op_outputs(&job->op, block);
    if (job->channel_dim >= 0) {
        first[job->channel_dim] = block->channel;
        count[job->channel_dim] = block->n_channels;
    }
}

int lw_job_check_output(const struct lw_job *job, const char *output, struct lw_error *err)
{
    struct stat result, input;
    if (stat(output, &result) != 0)
        return LW_OK;
    for (int i = 0; i < job->n_inputs; i++)
        if (stat(job->inputs[i].file, &input) == 0 && input.st_dev == result.st_dev && input.st_ino == result.st_ino)
            return lw_fail(err, LW_EUSAGE, "--output %s is also the %s: give the result a file of its own", output,
                           job->input_names[i]);
    return LW_OK;
}
