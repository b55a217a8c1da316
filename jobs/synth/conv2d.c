/* conv2d.c - `lapwing synth conv2d`: write the synthetic sky of sky.h and its point-spread function to a file. */
#include "base/integers.h"
#include "base/log.h"
#include "base/memory.h"
#include "jobs/synth/sky.h"
#include "jobs/synth/synth.h"

#include <inttypes.h>
#include <stdio.h>

const struct lw_option lw_conv2d_synth_options[] = {
    {.name = "output", .kind = LW_OPTION_FILE, .argument = "FILE", .is_required = true,
     .help = "HDF5 file to make, with the datasets /image and /psf."},
    LW_OPTION_OVERWRITE,
    {.name = "rows", .kind = LW_OPTION_INT, .argument = "H", .fallback = "2048", .minimum = 1, .maximum = 1e9,
     .help = "Rows of an image."},
    {.name = "columns", .kind = LW_OPTION_INT, .argument = "W", .fallback = "2048", .minimum = 1, .maximum = 1 << 27,
     .help = "Columns of an image."},
    {.name = "images", .kind = LW_OPTION_INT, .argument = "N", .fallback = "1", .minimum = 1, .maximum = 1 << 20,
     .help = "Images of the stack. With 1, /image has two dimensions."},
    {.name = "sources", .kind = LW_OPTION_INT, .argument = "S", .fallback = "8", .minimum = 0, .maximum = 10000,
     .help = "Point sources in each image."},
    {.name = "psf-size", .kind = LW_OPTION_INT, .argument = "K", .fallback = "31", .minimum = 1, .maximum = 4096,
     .help = "Rows and columns of the point-spread function."},
    {.name = "type", .kind = LW_OPTION_CHOICE, .choices = "float32|float64|int16|uint16|int32", .fallback = "float32",
     .help = "Type of the pixels. The noise has a standard deviation of 1, 256 (16 bits) or 65536 (32 bits)."},
    {.name = "seed", .kind = LW_OPTION_INT, .argument = "S", .fallback = "1", .minimum = 0, .maximum = 9e18,
     .help = "Seed of the noise and of the places of the sources."},
    {0},
};

enum { IMAGE, PSF, N_DATASETS, MAX_NOTES = 64, NOTE_SIZE = 200, BLOCK_PIXELS = 1 << 20 };

static int read_options(const struct lw_options *given, struct lw_synth_sky *sky, struct lw_error *err)
{
    *sky = (struct lw_synth_sky){
        .n_images = lw_options_int(given, "images"), .rows = lw_options_int(given, "rows"),
        .columns = lw_options_int(given, "columns"), .psf_size = lw_options_int(given, "psf-size"),
        .n_sources = (int)lw_options_int(given, "sources"), .seed = (uint64_t)lw_options_int(given, "seed"),
    };
    const bool is_known = lw_scalar_parse(lw_options_text(given, "type"), &sky->scalar);
    int64_t bytes;
    if (is_known && !__builtin_mul_overflow(sky->rows * sky->columns, sky->n_images * 8, &bytes))
        return LW_OK;
    return lw_fail(err, LW_EUSAGE, "%" PRId64 " images of %" PRId64 " x %" PRId64 " %s pixels are more than a file can hold",
                   sky->n_images, sky->rows, sky->columns, lw_options_text(given, "type"));
}

/* Attributes of the image, which describe its first sources, and the storage of their texts. */
struct notes {
    struct lw_attribute attributes[MAX_NOTES + 2];
    int n;
    char names[MAX_NOTES][24];
    char texts[MAX_NOTES][NOTE_SIZE];
};

struct work {
    struct lw_synth_sky sky;
    struct notes *notes;
    double *psf;                /* [psf_size x psf_size] point-spread function */
    double *line;               /* [columns] a row of an image */
    char *pixels;               /* [block][columns] in the stored type */
    int64_t block;              /* rows of a block */
    struct lw_writer *writer;
};

static int create_file(const struct lw_options *given, struct lw_comm *comm, struct work *work, struct lw_error *err)
{
    const struct lw_synth_sky *const sky = &work->sky;
    const int64_t size = sky->psf_size, dims[3] = {sky->n_images, sky->rows, sky->columns};
    static const char *const names[3] = {"image", "row", "column"};
    struct lw_writer_dataset datasets[N_DATASETS] = {
        [IMAGE] = {.path = "/image", .type = {.scalar = sky->scalar}, .attributes = work->notes->attributes,
                   .n_attributes = work->notes->n},
        [PSF] = {.path = "/psf", .n_dims = 2, .dims = {size, size}, .dim_names = {"row", "column"}, .type = {.scalar = LW_FLOAT64}},
    };
    struct lw_writer_dataset *const image = &datasets[IMAGE];
    for (int d = sky->n_images > 1 ? 0 : 1; d < 3; d++) {       /* no dimension `image` for a single image */
        image->dim_names[image->n_dims] = names[d];
        image->dims[image->n_dims++] = dims[d];
    }
    return lw_synth_create(given, comm, "synthetic sky for lapwing conv2d", datasets, N_DATASETS, &work->writer, err);
}

/* Make and write a block of rows. */
static int write_block(void *context, int64_t image, int64_t first, int64_t count, struct lw_error *err)
{
    struct work *const work = context;
    const struct lw_synth_sky *const sky = &work->sky;
    for (int64_t i = 0; i < count; i++) {
        lw_sky_line(sky, image, first + i, work->line);
        for (int64_t j = 0; j < sky->columns; j++)
            lw_type_put((struct lw_type){.scalar = sky->scalar}, work->pixels, i * sky->columns + j, work->line[j]);
    }
    const int64_t at[3] = {image, first, 0}, size[3] = {1, count, sky->columns};
    const int skip = sky->n_images > 1 ? 0 : 1;
    return lw_writer_write(work->writer, IMAGE, at + skip, size + skip, work->pixels, err);
}

static int prepare(struct work *work, struct lw_error *err)
{
    const struct lw_synth_sky *const sky = &work->sky;
    work->block = lw_min64(BLOCK_PIXELS / sky->columns + 1, sky->rows);
    if (!(work->psf = lw_alloc_array(sky->psf_size * sky->psf_size, sizeof *work->psf, "the point-spread function", err)) ||
        !(work->line = lw_alloc_array(sky->columns, sizeof *work->line, "synthetic pixels", err)) ||
        !(work->pixels = lw_alloc_array(work->block * sky->columns, lw_scalar_bytes(sky->scalar), "synthetic pixels", err)) ||
        !(work->notes = lw_alloc(sizeof *work->notes, "attributes", err)))
        return LW_ESYSTEM;
    struct notes *const notes = work->notes;
    notes->attributes[notes->n++] =
        (struct lw_attribute){.name = "noise_sigma", .kind = LW_ATTRIBUTE_REAL, .real = lw_synth_sigma(sky->scalar)};
    const int64_t all = sky->n_images * sky->n_sources;
    for (int i = 0; i < all && i < MAX_NOTES; i++) {
        snprintf(notes->names[i], sizeof notes->names[i], "hidden_%d", i);
        notes->attributes[notes->n++] = (struct lw_attribute){
            .name = notes->names[i], .kind = LW_ATTRIBUTE_TEXT,
            .text = lw_sky_source_text(sky, i / sky->n_sources, i % sky->n_sources, notes->texts[i], NOTE_SIZE),
        };
    }
    return LW_OK;
}

int lw_conv2d_synth(const struct lw_options *given, struct lw_comm *comm, struct lw_error *err)
{
    const char *const file = lw_options_text(given, "output");
    struct work work = {0};
    int rc = read_options(given, &work.sky, err);
    if (rc != LW_OK)
        return rc;
    const int64_t size = lw_comm_rank(comm) == 0 ? work.sky.psf_size : 0;
    rc = lw_comm_agree(comm, prepare(&work, err), err);
    const struct lw_synth_turns turns = {
        .n = work.sky.rows, .block = work.block, .n_axes = work.sky.n_images, .weight = work.sky.columns,
        .bytes = work.sky.n_images * work.sky.rows * work.sky.columns * (int64_t)lw_scalar_bytes(work.sky.scalar),
    };
    if (rc == LW_OK && size > 0)
        lw_sky_psf(&work.sky, work.psf);
    (void)(rc || (rc = create_file(given, comm, &work, err)) ||
           (rc = lw_writer_write(work.writer, PSF, (int64_t[]){0, 0}, (int64_t[]){size, size}, work.psf, err)) ||
           (rc = lw_synth_in_turns(comm, &turns, write_block, &work, err)) || (rc = lw_writer_finish(work.writer, NULL, 0, err)));
    lw_writer_destroy(work.writer);
    if (rc == LW_OK) {
        lw_log_info("%s holds /image and /psf. Sources hidden in /image:", file);
        for (int i = 0; i + 1 < work.notes->n && i < MAX_NOTES; i++)
            lw_log_info("  %s", work.notes->texts[i]);
        lw_log_info("Next: lapwing conv2d --input %s:/image --kernel %s:/psf --correlate --output convolved.h5", file, file);
    }
    lw_free(work.psf);
    lw_free(work.line);
    lw_free(work.pixels);
    lw_free(work.notes);
    return rc;
}
