/* conv2d.c - the job `conv2d`: 2-D convolution of an image, or of each image of a stack, with each kernel of a bank. */
#include "job/choose.h"
#include "job/coordinates.h"
#include "job/mesh.h"
#include "job/search.h"
#include "job/selection.h"
#include "job/weights.h"
#include "jobs/aliasing.h"
#include "jobs/conv2d_kernel.h"
#include "jobs/jobs.h"
#include "jobs/synth/synth.h"

#include <assert.h>
#include <float.h>
#include <inttypes.h>
#include <stdio.h>

static const struct lw_option options[] = {
    {.name = "kernel", .kind = LW_OPTION_NAMES, .argument = "FILE:/dataset",
     .help = "Kernel, or bank of kernels, [kernel x] rows x columns. It is real or complex, may have any size, and be larger than "
             "the image. Up to 8 files make one bank: zeros around smaller kernels make all as large as the largest, "
             "with their middles on its middle. Or give --gaussian."},
    {.name = "gaussian", .kind = LW_OPTION_TEXT, .argument = "PIXELS,...",
     .help = "Make a Gaussian of this full width at half maximum. Widths are 0.5 to 500; several, separated by commas, make a "
             "bank. It reaches out to 5 standard deviations, has the sum 1, and is stored in the result as /kernel."},
    {.name = "background", .kind = LW_OPTION_TEXT, .argument = "mesh|PIXELS",
     .help = "How to leave out the background. mesh: it is measured in cells, in a pass before, by the definition of SExtractor, "
             "and taken off the image; the map /background has it. PIXELS: size of a --gaussian that ignores the background, an "
             "odd number of rows and columns. The kernel's mean is taken off. An output is the height, above the background, of "
             "the Gaussian that fits best around the pixel (DAOFIND's density enhancement). Use it with --boundary edge or "
             "reflect, since zeros beyond the sides would be a step. Default: the background stays."},
    LW_MESH_OPTIONS,
    {.name = "mode", .kind = LW_OPTION_CHOICE, .choices = "full|same|valid", .fallback = "same",
     .help = "Part of the convolution to keep. full: all n+k-1 rows and columns. same: those of the image (see --origin). valid: "
             "the n-k+1 that need no pixel beyond the sides."},
    {.name = "boundary", .kind = LW_OPTION_TEXT, .argument = "zero|edge|wrap|reflect|constant=V", .fallback = "zero",
     .help = "Pixels beyond the four sides. It goes with --mode same and full. zero: zeros. edge: the pixel of the edge "
             "repeated. wrap: the image repeated. reflect: the image mirrored, with its edge. (numpy.pad's constant, edge, wrap "
             "and symmetric.) constant=V: the value V."},
    {.name = "origin", .kind = LW_OPTION_TEXT, .argument = "ROW,COLUMN",
     .help = "Centre of the kernel, with --mode same. Output (i, j) is output (i + ROW, j + COLUMN) of --mode full. Default: "
             "(rows - 1) / 2 and (columns - 1) / 2, rounded down."},
    {.name = "correlate", .kind = LW_OPTION_FLAG,
     .help = "Correlate instead of convolving. The kernel is conjugated and turned by 180 degrees."},
    {.name = "normalize", .kind = LW_OPTION_CHOICE, .choices = "none|sum", .fallback = "none",
     .help = "Whether to divide kernels by their sum."},
    {.name = "nan", .group = LW_GROUP_INPUT, .kind = LW_OPTION_CHOICE, .choices = "propagate|zero|error|interpolate",
     .fallback = "propagate",
     .help = "How pixels that are NaN or infinite count. propagate: exactly the outputs whose kernel covers one become NaN. "
             "zero: they count as 0. error: the run ends with an error. interpolate: they are left out. The kernel's elements on "
             "finite pixels are then scaled to the sum of all (as astropy.convolution does). Where less than 1e-6 of that sum is "
             "left, the output is NaN."},
    {.name = "decimate", .group = LW_GROUP_OWN, .kind = LW_OPTION_INT, .argument = "D", .fallback = "1", .minimum = 1,
     .maximum = LW_POST_MOST_EVERY,
     .help = "Keep every D-th row and every D-th column. The first ones are kept. The kernel must leave nothing beyond half the "
             "new rate in either direction; one that leaves more than 1% of its energy there causes a warning."},
    {.name = "products", .group = LW_GROUP_PRODUCTS, .kind = LW_OPTION_TEXT, .argument = "LIST", .fallback = "convolved",
     .help = "What to write: convolved, peaks, best. Give one or more, separated by commas. convolved: the convolved image, "
             "/convolved. peaks: a table of the sources in it, /peaks. best: for each pixel the kernel that responds most, "
             "/best/value and /best/kernel. Peaks and best are made of the image before --decimate."},
    LW_SEARCH_OPTIONS("pixel", "rows and columns of the same image and kernel", "image and kernel", "peaks and best",
                      "positive; of complex ones both", "|mesh",
                      "mesh: that of each pixel, measured in cells like --background mesh. Outputs are signal-to-noise ratios, "
                      "as with --noise-map. Its map is /noise. It is nowhere below half the least noise of the cells around. "),
    {.name = "cluster-kernels", .kind = LW_OPTION_FLAG, .within = "cluster", .word = "kernels",
     .help = "peaks of all kernels of an image compete, so that a source has one row, with the kernel that fits it best."},
    LW_WEIGHTS_OPTIONS,
    {.name = "saturate", .kind = LW_OPTION_REAL, .argument = "V", .minimum = -1e300, .maximum = 1e300,
     .help = "Value from which on a pixel is saturated. Sources with such a pixel in their window get the bit 4 of `flags`. It "
             "goes with --products peaks. Default: none is."},
    {.name = "algorithm", .group = LW_GROUP_OWN, .kind = LW_OPTION_CHOICE, .choices = "auto|direct|tiles|full|separable|padded",
     .fallback = "auto",
     .help = "How to compute the convolution. direct: sums. tiles: transforms of tiles. full: transforms of bands as wide as the "
             "image (on a GPU: of large tiles in three passes). separable: two passes, if the kernel is the product of a column "
             "and a row. padded: one transform of the whole padded image, or of few bands where it is very large; it suits kernels "
             "of thousands of rows, and takes memory for the image. 'lapwing plan conv2d' shows what auto chooses."},
    {.name = "padding", .kind = LW_OPTION_CHOICE, .choices = "smooth|paper", .fallback = "smooth", .is_rare = true,
     .help = "Size of the transforms of --algorithm padded. smooth: the image and the kernel, rounded up to 2^a 3^b 5^c 7^d. "
             "paper: to a power of two up to 1024, above to a multiple of 512 (Podlozhnyuk, NVIDIA, 2007)."},
    {.name = "band", .kind = LW_OPTION_INT, .argument = "ROWS", .minimum = 1, .maximum = 9e18, .is_rare = true,
     .help = "Most rows of the result that a transform of --algorithm padded makes. Bands take less memory than the whole image, "
             "and several ranks can share them. Default: all rows, if the padded image has less than 2 GB, else as many."},
    {.name = "start", .group = LW_GROUP_PART, .kind = LW_OPTION_INT, .argument = "ROW", .fallback = "0", .minimum = 0,
     .maximum = 9e18,
     .help = "First row of the image to use."},
    {.name = "count", .kind = LW_OPTION_INT, .argument = "ROWS", .minimum = 1, .maximum = 9e18,
     .help = "Rows to use. Default: all from --start on."},
    {.name = "channels", .kind = LW_OPTION_RANGE, .argument = "A:B:STEP",
     .help = "Images of a stack to use, from A to before B, every STEP-th. Parts may be left out. A alone is one image. Default: "
             "all."},
    {.name = "split", .group = LW_GROUP_RESOURCES, .kind = LW_OPTION_CHOICE, .choices = "auto|axis|channels", .fallback = "auto",
     .is_neutral = true,
     .help = "Whether the ranks share the rows (axis) or the images of a stack (channels). auto takes the rows unless they are "
             "too few to keep all ranks busy."},
    {.name = "axis", .kind = LW_OPTION_NONE},
    {0},
};

/* The index of a choice is the value of the enumeration. */
static_assert(LW_MODE_FULL == 0 && LW_MODE_SAME == 1 && LW_MODE_VALID == 2, "order of --mode");
static_assert(LW_NAN_PROPAGATE == 0 && LW_NAN_ZERO == 1 && LW_NAN_ERROR == 2 && LW_NAN_INTERPOLATE == 3, "order of --nan");
static_assert(LW_CONV2D_ALGORITHM_AUTO == 0 && LW_CONV2D_ALGORITHM_DIRECT == 1 && LW_CONV2D_ALGORITHM_TILES == 2 &&
              LW_CONV2D_ALGORITHM_FULL == 3 &&
              LW_CONV2D_ALGORITHM_SEPARABLE == 4 && LW_CONV2D_ALGORITHM_PADDED == 5, "order of --algorithm");
static_assert(LW_PADDING_SMOOTH == 0 && LW_PADDING_PAPER == 1, "order of --padding");

/* ---- input: the last two dimensions are rows and columns -------------------------------------------------------------- */

static int choose_view(const struct lw_options *given, const struct lw_dataset_info *input, struct lw_job *job,
                       struct lw_error *err)
{
    struct lw_view_spec *const view = &job->view;
    const int n_dims = input->n_dims;
    if (n_dims != 2 && n_dims != 3)
        return lw_fail(err, LW_EDATA, "%s has %d dimension%s: conv2d takes 2 (an image) or 3 (a stack of images)",
                       lw_dataset_name(input).text, n_dims, n_dims == 1 ? "" : "s");
    view->axis = n_dims - 2;
    view->has_rows = true;
    int rc;
    if ((rc = lw_job_choose_piece(given, input, view->axis, view, err)) ||
        (rc = lw_job_choose_channels(given, input, n_dims == 3 ? 0 : -1, &view->channels, err)))
        return rc;
    job->op.layout = LW_TIME_FAST;
    job->op.n_channels = lw_range_length(&view->channels);
    job->window_start = view->start;
    job->window_count = view->count;
    job->op.conv2d.columns = input->dims[n_dims - 1];
    return LW_OK;
}

/* ---- sides and output ----------------------------------------------------------------------------------------------- */

static int choose_boundary(const struct lw_options *given, struct lw_job *job, struct lw_error *err)
{
    static const char constant[] = "constant=";
    const char *const text = lw_options_text(given, "boundary");
    struct lw_conv2d_spec *const c = &job->op.conv2d;
    const int choice = lw_parse_choice("zero|edge|wrap|reflect", text);
    c->boundary = choice >= 0 ? (enum lw_boundary)choice : LW_BOUNDARY_ZERO;
    if (choice < 0 && (strncmp(text, constant, strlen(constant)) != 0 ||
                       lw_parse_real(text + strlen(constant), &c->outside) != LW_PARSE_OK))
        return lw_fail(err, LW_EUSAGE, "--boundary %s is none of zero, edge, wrap, reflect and constant=V with a number V", text);
    if (job->op.precision == LW_SINGLE && fabs(c->outside) > (double)FLT_MAX)
        return lw_fail(err, LW_ECONFIG, "--boundary %s does not fit single precision, whose largest number is %g; use --precision "
                       "double", text, (double)FLT_MAX);
    if (lw_options_choice(given, "mode") == LW_MODE_VALID && (choice != LW_BOUNDARY_ZERO))
        return lw_fail(err, LW_EUSAGE, "--boundary %s goes with --mode same and full: --mode valid uses no pixels beyond the sides",
                       text);
    job->boundary = c->boundary;
    return LW_OK;
}

static int choose_origin(const struct lw_options *given, struct lw_job *job, struct lw_error *err)
{
    const enum lw_mode mode = (enum lw_mode)lw_options_choice(given, "mode");
    struct lw_conv2d_spec *const c = &job->op.conv2d;
    c->look_ahead_rows = lw_mode_look_ahead(mode, c->kernel_rows);
    c->look_ahead_columns = lw_mode_look_ahead(mode, c->kernel_columns);
    job->reference_tap = lw_middle_tap(c->kernel_rows);
    const char *const text = lw_options_text(given, "origin");
    if (!text)
        return LW_OK;
    if (mode != LW_MODE_SAME)
        return lw_fail(err, LW_EUSAGE, "--origin goes with --mode same only, not with --mode %s", lw_mode_text(mode));
    char row[32] = "";
    const char *const comma = strchr(text, ',');
    if (comma && (size_t)(comma - text) < sizeof row)
        memcpy(row, text, (size_t)(comma - text));
    if (!comma || lw_parse_int(row, &c->look_ahead_rows) != LW_PARSE_OK ||
        lw_parse_int(comma + 1, &c->look_ahead_columns) != LW_PARSE_OK)
        return lw_fail(err, LW_EUSAGE, "--origin %s is not of the form ROW,COLUMN, such as 3,4", text);
    if (c->look_ahead_rows < 0 || c->look_ahead_rows >= c->kernel_rows || c->look_ahead_columns < 0 ||
        c->look_ahead_columns >= c->kernel_columns)
        return lw_fail(err, LW_ECONFIG, "--origin %s is not in the kernel: rows are 0..%" PRId64 ", columns 0..%" PRId64, text,
                       c->kernel_rows - 1, c->kernel_columns - 1);
    job->reference_tap = c->look_ahead_rows;
    return LW_OK;
}

static int choose_outputs(const struct lw_options *given, struct lw_job *job, struct lw_error *err)
{
    const enum lw_mode mode = (enum lw_mode)lw_options_choice(given, "mode");
    struct lw_conv2d_spec *const c = &job->op.conv2d;
    const int64_t rows = lw_job_data_length(given, job);
    if (mode == LW_MODE_VALID && (c->kernel_rows > rows || c->kernel_columns > c->columns))
        return lw_fail(err, LW_ECONFIG, "--mode valid: the kernel has %" PRId64 " x %" PRId64 " elements and the image only %"
                       PRId64 " x %" PRId64 " pixels, so no output is valid; use --mode same or full", c->kernel_rows,
                       c->kernel_columns, rows, c->columns);
    const int rc = lw_job_choose_outputs(given, mode, c->kernel_rows, c->look_ahead_rows, job, err);
    if (rc)
        return rc;
    c->rows = job->n_samples;
    c->look_ahead_rows = job->look_ahead;
    c->output_columns = lw_mode_length(mode, c->columns, c->kernel_columns);
    return LW_OK;
}

/* ---- search --------------------------------------------------------------------------------------------------------- */

static int choose_search(const struct lw_options *given, struct lw_job *job, struct lw_error *err)
{
    static const struct lw_search_word words[] = {{"convolved", LW_FILTERED}, {"peaks", LW_PEAKS}, {"best", LW_BEST}, {0}};
    struct lw_conv2d_spec *const c = &job->op.conv2d;
    int rc;
    c->every = (int)lw_options_int(given, "decimate");
    job->search.saturation = lw_options_given(given, "saturate") ? lw_options_real(given, "saturate") : (double)INFINITY;
    if ((rc = lw_search_choose(given, words, job, &c->search, err)) ||
        (rc = lw_search_choose_sign(given, job->op.input.is_complex || c->kernel_complex, true, job, &c->search, err)))
        return rc;
    if (lw_options_given(given, "saturate") && !(lw_search_products(&c->search) & LW_PEAKS))
        return lw_fail(err, LW_EUSAGE, "--saturate goes with --products peaks only");
    c->search.clusters_filters = lw_options_flag(given, "cluster-kernels");
    if (c->search.clusters_filters && !(c->search.products & LW_PEAKS))
        return lw_fail(err, LW_EUSAGE, "--cluster W,kernels goes with --products peaks only");
    if (c->every > 1 && !(lw_search_products(&c->search) & LW_FILTERED))
        return lw_fail(err, LW_EUSAGE, "--decimate %d only affects the product convolved: add it to --products, or leave "
                       "--decimate out", c->every);
    return LW_OK;
}

/* ---- result --------------------------------------------------------------------------------------------------------- */

/* Return the column of the kernel that gives an output its place: the middle column; with mode same the look-ahead (--origin). */
static int64_t origin_column(enum lw_mode mode, const struct lw_conv2d_spec *c)
{
    return mode == LW_MODE_SAME ? c->look_ahead_columns : lw_middle_tap(c->kernel_columns);
}

/* Return the column of the input at the place of output column 0; negative: it lies left of the image. */
static int64_t first_column(enum lw_mode mode, const struct lw_conv2d_spec *c)
{
    return c->look_ahead_columns - origin_column(mode, c);
}

/* Note the pixel of the input at the place of row 0, column 0 of a product. */
static void note_first(enum lw_mode mode, const struct lw_job *job, struct lw_product *product)
{
    lw_product_note_int(product, "first_input_row", job->first_input);
    lw_product_note_int(product, "first_input_column", first_column(mode, &job->op.conv2d));
}

/* Add an array product of images that keep every D-th row and column, behind a dimension `kernel` if has_kernels. */
static void add_images(const struct lw_options *given, const char *path, struct lw_type type, bool has_kernels, int every,
                       struct lw_job *job)
{
    const enum lw_mode mode = (enum lw_mode)lw_options_choice(given, "mode");
    const struct lw_conv2d_spec *const c = &job->op.conv2d;
    const struct lw_post thinned = {.every = every};
    struct lw_product *const product = &job->products[job->n_products++];
    struct lw_writer_dataset *const result = &product->dataset;
    *result = (struct lw_writer_dataset){.path = path, .type = type};
    if (has_kernels) {
        product->has_filters = true;
        result->dim_names[result->n_dims] = "kernel";
        result->dims[result->n_dims++] = c->n_kernels;
    }
    const int64_t first[] = {job->first_input, first_column(mode, c)};
    const int64_t size[] = {lw_post_length(thinned, job->n_outputs), lw_post_length(thinned, c->output_columns)};
    lw_coordinates_images(job, first, size, every, product);
    note_first(mode, job, product);
    if (has_kernels)
        lw_conv2d_describe_kernels(given, job, product);
}

/* Note the input's unit in the product that was added last. */
static void note_unit(struct lw_job *job)
{
    if (job->inputs[0].axis.unit[0])
        lw_product_note_unit(&job->products[job->n_products - 1], job->inputs[0].axis.unit);
}

static void shape_result(const struct lw_options *given, struct lw_job *job)
{
    static const struct lw_type number = {.scalar = LW_INT32};
    const struct lw_conv2d_spec *const c = &job->op.conv2d;
    const unsigned wanted = lw_search_products(&c->search);
    const struct lw_type computed = {.scalar = lw_computed_scalar(job->op.precision),
                                     .is_complex = lw_op_is_complex(&job->op)};
    if (wanted & LW_FILTERED) {
        add_images(given, "/convolved", job->op.output, job->has_filter_dim, c->every, job);
        note_unit(job);
    }
    if (wanted & LW_PEAKS) {
        struct lw_product *const peaks = &job->products[job->n_products++];
        lw_search_shape_peaks(job, peaks);
        note_first((enum lw_mode)lw_options_choice(given, "mode"), job, peaks);
        note_unit(job);
        lw_search_describe_peaks(job, &c->search, peaks);
        lw_product_note_int(peaks, "cluster_kernels", c->search.clusters_filters);
    }
    if (wanted & LW_BEST) {
        add_images(given, "/best/value", computed, false, 1, job);
        note_unit(job);
        lw_product_note_text(&job->products[job->n_products - 1], "sign", lw_sign_text(c->search.sign));
        add_images(given, "/best/kernel", number, false, 1, job);
        lw_conv2d_describe_kernels(given, job, &job->products[job->n_products - 1]);
    }
    lw_search_shape_noise(job);
    lw_job_shape_maps(given, job);
    lw_conv2d_shape_kernels(given, job);
}

static void describe_result(const struct lw_options *given, const struct lw_dataset_info *input, struct lw_job *job)
{
    const enum lw_mode mode = (enum lw_mode)lw_options_choice(given, "mode");
    const struct lw_conv2d_spec *const c = &job->op.conv2d;
    const bool is_constant = c->outside != 0, normalizes = lw_options_choice(given, "normalize") == 1;
    const char *const boundary = is_constant ? "constant" : lw_boundary_text(c->boundary);

    lw_job_note_text(job, "mode", lw_mode_text(mode));
    lw_job_note_text(job, "boundary", boundary);
    if (is_constant)
        lw_job_note_real(job, "boundary_value", c->outside);
    lw_job_note_int(job, "origin_row", job->reference_tap);
    lw_job_note_int(job, "origin_column", origin_column(mode, c));
    lw_job_note_int(job, "decimate", c->every);
    lw_job_note_scale(job);
    lw_job_note_text(job, "kernel_normalized", normalizes ? "sum" : "none");
    if (input->n_dims == 3) {
        lw_job_note_int(job, "first_image", job->view.channels.begin);
        lw_job_note_int(job, "image_step", job->view.channels.step);
    }
    char several[32] = "kernel of";
    if (c->n_kernels > 1)
        snprintf(several, sizeof several, "%d kernels of", c->n_kernels);
    snprintf(job->summary, sizeof job->summary, "%s %" PRId64 " x %" PRId64 " %s elements%s, mode %s, boundary %s%s", several,
             c->kernel_rows, c->kernel_columns, c->kernel_complex ? "complex" : "real", normalizes ? " (sum 1)" : "",
             lw_mode_text(mode), boundary, lw_options_flag(given, "correlate") ? ", correlation" : "");
    if (job->map)
        strncat(job->summary, ", weighted pixels", sizeof job->summary - strlen(job->summary) - 1);
    lw_post_describe((struct lw_post){.every = c->every}, job->summary, sizeof job->summary);
    lw_search_describe(&c->search, "rows and columns", "kernel", job->summary, sizeof job->summary);
}

static int warn(const struct lw_job *job, struct lw_error *err)
{
    lw_job_warn_if_long(job, "the kernel's columns are", job->op.conv2d.kernel_rows, job->n_samples);
    return lw_conv2d_warn_of_aliasing(&job->op.conv2d, err);
}

static int prepare(const struct lw_options *given, struct lw_comm *comm, struct lw_pool *pool, const struct lw_dataset_info *input,
                   struct lw_job *job, struct lw_error *err)
{
    (void)pool;
    *job = (struct lw_job){.ops = &lw_job_conv2d, .inputs = {*input}, .input_names = {"input"}, .n_inputs = 1};
    job->op.kind = LW_OP_CONV2D;
    job->makes_images = true;
    job->op.input = input->type;
    int rc;
    if ((rc = choose_view(given, input, job, err)) ||
        (rc = lw_conv2d_get_kernels(given, comm, job, err)) ||
        (rc = lw_job_choose_output_type(given, input->type.is_complex || job->op.conv2d.kernel_complex, &job->op, err)) ||
        (rc = choose_boundary(given, job, err)) ||
        (rc = choose_origin(given, job, err)) ||
        (rc = lw_weights_choose(given, job, err)) ||
        (rc = choose_search(given, job, err)) || (rc = lw_search_make_noise(job, comm, &job->op.conv2d.search, err)) ||
        (rc = choose_outputs(given, job, err)) || (rc = lw_comm_agree(comm, lw_job_choose_mesh(given, job, err), err)) ||
        (rc = lw_comm_rank(comm) == 0 ? warn(job, err) : LW_OK))
        return rc;
    shape_result(given, job);
    describe_result(given, &job->inputs[0], job);
    return LW_OK;
}

const struct lw_job_ops lw_job_conv2d = {
    .name = "conv2d", .way = LW_WAY_STREAMED, .title = "convolve a large image, or a stack of images, with kernels",
    .description = "Convolves an image [rows x columns], or each image of a stack [image x rows x columns], with one kernel or "
                   "several, real or complex. lapwing transforms overlapping tiles or, where that is faster, sums directly. The "
                   "ranks share the rows, and pass each other the rows beyond their own over MPI. The result is /convolved, with "
                   "the rows and columns that --mode keeps, and a first dimension `kernel` for a bank. --products peaks finds "
                   "the sources in it and writes a table of them. An --output whose name ends with .fits becomes a FITS file with "
                   "the sky coordinates of the input.",
    .paper = "V. Podlozhnyuk: FFT-based 2D convolution. NVIDIA, 2007.",
    .remedy = "--algorithm tiles, direct, or padded with a small --band", .sample = "row", .channel = "image", .filter = "kernel",
    .value = "column",
    .least_dims = 2, .most_dims = 3, .join = LW_JOIN_ROWS, .taps = "kernel", .options = options,
    .synth_options = lw_conv2d_synth_options,
    .example = "lapwing synth conv2d --output sky.h5\n"
               "mpirun -np 2 lapwing conv2d --input sky.h5:/image \\\n"
               "    --kernel sky.h5:/psf --output convolved.h5\n"
               "lapwing conv2d --input M51.fits --gaussian 4 --boundary edge \\\n"
               "    --output smooth.fits",
    .prepare = prepare, .release = lw_job_release_taps, .synth = lw_conv2d_synth,
};
