#include "job/mesh.h"

#include "base/memory.h"
#include "job/choose.h"
#include "job/coordinates.h"

static int make_mesh(struct lw_mesh mesh, const char *what, struct lw_mesh *out, struct lw_error *err)
{
    *out = mesh;
    out->tables = lw_alloc_array(lw_mesh_values(&mesh), sizeof *out->tables, what, err);
    return out->tables ? LW_OK : LW_ESYSTEM;
}

int lw_job_choose_mesh(const struct lw_options *given, struct lw_job *job, struct lw_error *err)
{
    struct lw_conv2d_spec *const c = &job->op.conv2d;
    const char *const background = lw_options_text(given, "background");
    const bool has_background = background && strcmp(background, "mesh") == 0, has_noise = job->search.noise == LW_NOISE_MESH;
    if (!has_background && !has_noise)
        return lw_options_given(given, "mesh") || lw_options_flag(given, "no-maps")
            ? lw_fail(err, LW_EUSAGE, "--%s goes with --background mesh and --noise mesh: give one of them, or leave it out",
                      lw_options_given(given, "mesh") ? "mesh" : "no-maps") : LW_OK;
    if (job->op.input.is_complex || (has_noise && c->kernel_complex))
        return lw_fail(err, LW_ECONFIG, "--%s mesh is for real images%s", has_background ? "background" : "noise",
                       has_noise ? " and real kernels" : "");
    if (has_noise && job->map)
        return lw_fail(err, LW_EUSAGE, "--noise mesh and a map of weights exclude each other: give one of them");
    if (has_noise && (job->op.nan == LW_NAN_ZERO || job->op.nan == LW_NAN_INTERPOLATE))
        return lw_fail(err, LW_EUSAGE, "--nan %s goes without --noise mesh, with which pixels that are not finite have weight 0",
                       lw_options_text(given, "nan"));
    const int64_t cell = lw_options_given(given, "mesh") ? lw_options_int(given, "mesh") : LW_MESH_CELL;
    struct lw_mesh mesh = lw_mesh_of(lw_job_data_length(given, job), c->columns, cell, job->op.n_channels);
    if (!(job->mesh = lw_alloc(sizeof *job->mesh, "a mesh", err)))
        return LW_ESYSTEM;
    job->mesh->start = lw_options_flag(given, "isolated") ? job->window_start : -job->inputs[0].before;
    mesh.first_row = job->view.start - job->mesh->start;
    int rc;
    if ((rc = make_mesh(mesh, "the background", &job->mesh->background, err)) ||
        (rc = make_mesh(mesh, "the noise", &job->mesh->noise, err)))
        return rc;
    job->mesh->noise.is_noise = true;
    c->background = has_background ? &job->mesh->background : NULL;
    if (has_noise) {
        c->sigma = &job->mesh->noise;
        c->weights = LW_WEIGHTS_MESH;
    }
    return LW_OK;
}

static void shape_map(struct lw_job *job, const char *path, const struct lw_mesh *mesh)
{
    const struct lw_dataset_info *const input = &job->inputs[0];
    struct lw_product *const product = &job->products[job->n_products + job->n_given++];
    product->dataset = (struct lw_writer_dataset){.path = path, .type = {.scalar = LW_FLOAT32}};
    product->mesh = mesh;
    lw_coordinates_images(job, (const int64_t[]){job->window_start, 0}, (const int64_t[]){job->window_count, mesh->columns}, 1,
                          product);
    lw_product_note_int(product, "mesh_pixels", mesh->cell);
    if (input->axis.unit[0])
        lw_product_note_unit(product, input->axis.unit);
}

void lw_job_shape_maps(const struct lw_options *given, struct lw_job *job)
{
    const struct lw_conv2d_spec *const c = &job->op.conv2d;
    if (!job->mesh || lw_options_flag(given, "no-maps"))
        return;
    if (c->background)
        shape_map(job, "/background", c->background);
    if (c->sigma)
        shape_map(job, "/noise", c->sigma);
}

void lw_job_release_mesh(struct lw_job *job)
{
    if (!job->mesh)
        return;
    lw_free(job->mesh->background.tables);
    lw_free(job->mesh->noise.tables);
    lw_free(job->mesh);
    job->mesh = NULL;
}
