#include "plot/plot.h"

#include "base/log.h"
#include "job/hints.h"
#include "job/selection.h"
#include "plot/kinds.h"
#include "plot/picture.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

const struct lw_option lw_plot_options[] = {
    {.name = "output", .kind = LW_OPTION_FILE, .argument = "NAME",
     .help = "Picture to make. Its ending chooses .png, .pdf, .svg, or .gp: gnuplot's own text with all data in it, to edit and "
             "to draw by 'gnuplot NAME.gp > NAME.png'. Default: FILE without its ending, the dataset's name, and .png."},
    LW_OPTION_OVERWRITE,
    {.name = "kind", .kind = LW_OPTION_CHOICE, .choices = "auto|series|waterfall|image|spectrum|peaks|filters|detection|fold",
     .fallback = "auto",
     .help = "What to draw. auto draws tables of sfft as spectrum, tables of peaks as peaks, and banks of filters as filters. It "
             "draws pixels as image, up to 8 channels of samples as series, and more as waterfall. detection draws the strongest "
             "of a stack's peaks, from --from to --to: the channels around it, moved by their delays, and their mean. A table of "
             "candidates is drawn as fold: the series of the candidate of --row, averaged by its phase."},
    {.name = "row", .kind = LW_OPTION_INT, .argument = "N", .fallback = "0", .minimum = 0, .maximum = 9e15,
     .help = "Row of a table of candidates to draw. Row 0 is the most significant one."},
    {.name = "with-input", .kind = LW_OPTION_FLAG,
     .help = "Draw the input above the result. It is the part of the input that the result shows. Default: yes if that file is "
             "still there and has not changed; --with-input=no draws the result alone."},
    {.name = "from", .kind = LW_OPTION_TEXT, .argument = "TIME",
     .help = "Where the picture begins. A time in UTC such as 2015-09-14T09:50:45.4, seconds of GPS (1e8 and more), or a time "
             "since the start of the data such as 2.5, 10ms or 3min. For spectra and filters it is a frequency such as 50 or "
             "1.2kHz."},
    {.name = "to", .kind = LW_OPTION_TEXT, .argument = "TIME",
     .help = "Where the picture ends. It is written as for --from."},
    {.name = "start", .kind = LW_OPTION_INT, .argument = "SAMPLE", .fallback = "0", .minimum = 0, .maximum = 9e18,
     .help = "First sample of the axis, or first column of an image."},
    {.name = "count", .kind = LW_OPTION_INT, .argument = "SAMPLES", .minimum = 1, .maximum = 9e18,
     .help = "Samples of the axis, or columns of an image."},
    {.name = "channels", .kind = LW_OPTION_RANGE, .argument = "A:B:STEP",
     .help = "Channels to show, or rows of an image, from A to before B, every STEP-th. A alone is one. Default: all."},
    LW_OPTIONS_COORDINATES,
    {.name = "filters", .kind = LW_OPTION_RANGE, .argument = "A:B:STEP",
     .help = "Filters to show, or images of a stack. Default: the first ones that have room."},
    {.name = "axis", .kind = LW_OPTION_INT, .argument = "DIMENSION", .minimum = 0, .maximum = 3,
     .help = "Dimension that is the axis (time). Default: from the file's metadata, else the longest."},
    {.name = "log", .kind = LW_OPTION_FLAG,
     .help = "Logarithmic scale. It is the vertical axis, or the colours; for filters it is the frequencies. Values below zero "
             "count by their magnitude."},
    {.name = "limits", .kind = LW_OPTION_TEXT, .argument = "LOW:HIGH",
     .help = "Values of the first and the last colour. Either may be left out. Default: the 1st and the 99th percentile, "
             "symmetric about zero for values of both signs; for peaks the least and the largest."},
    {.name = "title", .kind = LW_OPTION_TEXT, .argument = "TEXT",
     .help = "Title. Default: the names of file and dataset."},
    {.name = "size", .kind = LW_OPTION_TEXT, .argument = "WxH",
     .help = "Width and height in pixels; of a PDF in hundredths of an inch. Default: what suits the picture."},
    {.name = "read", .kind = LW_OPTION_BYTES, .argument = "BYTES", .fallback = "256M", .minimum = 1 << 20,
     .help = "Most bytes of the dataset to read, about. A larger dataset is drawn from blocks of samples spread evenly over the "
             "axis. If a little of every row lies in too many places of the file (one for each 16 KiB of BYTES), a lattice of "
             "channels and times is drawn. The picture tells which part of the samples it shows: what lies between, such as a "
             "short spike, may be missing. More BYTES show more."},
    LW_OPTIONS_HINTS,
    {.name = NULL},
};

/* ---- the input of a result ----------------------------------------------------------------------------------------- */

bool lw_plot_find(const struct lw_plot_subject *subject, const char *option, char *name, size_t size)
{
    const char *const input = lw_said_text(&subject->notes->file, option);
    const char *const slash = strrchr(subject->info.file, '/');
    struct lw_object object;
    snprintf(name, size, "%s", input);
    if (!input[0] || lw_object_parse(input, &object, NULL) != LW_OK)
        return false;
    if (access(object.file, R_OK) == 0 || input[0] == '/' || !slash)
        return access(object.file, R_OK) == 0;
    snprintf(name, size, "%.*s/%s", (int)(slash - subject->info.file), subject->info.file, input);
    return lw_object_parse(name, &object, NULL) == LW_OK && access(object.file, R_OK) == 0;
}

static int open_input(struct lw_plot *plot, struct lw_error *err)
{
    const struct lw_plot_subject *const subject = &plot->subject;
    char name[2 * LW_MAX_PATH];
    const bool has_filters = subject->z >= 0 && subject->z < subject->x;
    const char *const given = strstr(lw_said_text(&subject->notes->file, "configuration"), "\naxis = ");
    const int of_run = given ? atoi(given + strlen("\naxis = ")) : -1;
    const bool has_own = !subject->is_image && !subject->is_table && lw_plot_n_summed(subject) == 0;    /* the input's axis */
    const struct lw_subject_hints hints = {
        .axis = subject->is_image ? -1 : has_own ? subject->x - has_filters : of_run,
        .shape = subject->is_image ? LW_SHAPE_IMAGE : LW_SHAPE_SERIES,
    };
    const char *const named = lw_said_text(&subject->notes->file, "input");
    struct lw_attribute first;
    struct lw_object object;
    struct stat status;
    if (!named[0] || (!lw_said_find(&subject->notes->dataset, "first_input_sample", &first) &&
                      !lw_said_find(&subject->notes->dataset, "first_input_row", &first)))
        return lw_fail(err, LW_EDATA, "--with-input: %.500s does not name its input", subject->name);
    if (!lw_plot_find(subject, "input", name, sizeof name))
        return lw_fail(err, LW_EIO, "--with-input: %.400s, the input of %.400s, cannot be found", named, subject->name);
    if (lw_object_parse(name, &object, NULL) != LW_OK || stat(object.file, &status) != 0 ||
        (double)status.st_size != lw_said_real(&subject->notes->file, "input_file_bytes", 0))
        return lw_fail(err, LW_EDATA, "--with-input: %.400s has changed since %.400s was made from it", name, subject->name);
    return lw_subject_open(name, &hints, &plot->input, err);
}

/* Open the input if it is to be drawn, or if a table of sources needs it for places on the sky. An input that cannot be opened is
 * an error only if the user asked for it. */
static int choose_input(struct lw_plot *plot, struct lw_error *err)
{
    const bool is_given = lw_options_given(plot->given, "with-input");
    const bool is_wanted = lw_options_flag(plot->given, "with-input") && !plot->subject.is_table;
    if ((is_given && !is_wanted && !plot->subject.is_image) ||
        (!is_given && plot->kind == LW_PLOT_SERIES && lw_plot_n_summed(&plot->subject) > 0))    /* no channel is that of a sum */
        return LW_OK;
    struct lw_error reason;
    const int rc = open_input(plot, &reason);
    plot->has_input = rc == LW_OK && (is_wanted || !is_given) && !plot->subject.is_table;
    if (rc == LW_OK)
        return LW_OK;
    lw_subject_release(&plot->input);
    if (is_wanted)
        *err = reason;
    return is_wanted ? rc : LW_OK;
}

/* ---- kind of the picture ----------------------------------------------------------------------------------------------- */

static bool is_bank(const struct lw_plot_subject *subject)
{
    const struct lw_dataset_info *const info = &subject->info;
    return info->n_dims <= 2 && (strcmp(lw_subject_dimension(subject, info->n_dims - 1), "tap") == 0 ||
                                 strcmp(lw_last_part(info->path), "taps") == 0);
}

static int choose_table(const struct lw_plot_subject *subject, enum lw_plot_kind *kind, struct lw_error *err)
{
    static const char *const spectrum[] = {"channel", "frequency", "magnitude", NULL};
    static const char *const peaks[] = {"index", "time", "filter", "channel", "snr", NULL};
    static const char *const candidates[] = {"channel", "harmonics", "sigma", "r", "z", "w", NULL};
    static const char *const sources[] = {"image", "row", "column", "snr", NULL};
    if (lw_notes_have_columns(subject->notes, spectrum))
        *kind = LW_PLOT_SPECTRUM;
    else if (lw_notes_have_columns(subject->notes, peaks) || lw_notes_have_columns(subject->notes, sources))
        *kind = LW_PLOT_PEAKS;
    else if (lw_notes_have_columns(subject->notes, candidates))
        *kind = LW_PLOT_FOLD;
    else
        return lw_fail(err, LW_EDATA, "%.500s is a table with neither the columns of lines (channel, frequency, magnitude) nor "
                       "those of peaks (channel, filter, index, time, snr; or image, row, column, snr) or of candidates (channel, "
                       "harmonics, sigma, r, z, w)", subject->name);
    return LW_OK;
}

static int choose_kind(const struct lw_plot *plot, enum lw_plot_kind *kind, struct lw_error *err)
{
    enum { MOST_SERIES = 8 };
    const struct lw_plot_subject *const subject = &plot->subject;
    if (subject->is_table)
        return choose_table(subject, kind, err);
    struct lw_option_range channels = {0};
    const int rc = is_bank(subject) ? LW_OK : lw_plot_channels(plot, &channels, err);
    if (rc)
        return rc;
    if (is_bank(subject))
        *kind = LW_PLOT_FILTERS;
    else if (subject->is_image)
        *kind = LW_PLOT_IMAGE;
    else
        *kind = (channels.end - channels.begin - 1) / channels.step < MOST_SERIES ? LW_PLOT_SERIES : LW_PLOT_WATERFALL;
    return LW_OK;
}

/* Set the kind of picture; refuse a --kind as which the dataset cannot be drawn. */
static int settle_kind(struct lw_plot *plot, struct lw_error *err)
{
    const struct lw_plot_subject *const subject = &plot->subject;
    const int wanted = lw_options_choice(plot->given, "kind");
    enum lw_plot_kind suggested = LW_PLOT_SERIES;
    const int rc = choose_kind(plot, &suggested, err);
    if (rc)
        return rc;
    plot->kind = wanted > 0 ? (enum lw_plot_kind)wanted : suggested;
    const bool is_detection = plot->kind == LW_PLOT_DETECTION, is_fold = plot->kind == LW_PLOT_FOLD;
    const bool is_of_table = plot->kind == LW_PLOT_SPECTRUM || plot->kind == LW_PLOT_PEAKS || is_detection || is_fold;
    if (is_of_table != subject->is_table || (is_of_table && (is_detection ? LW_PLOT_PEAKS : plot->kind) != suggested))
        return lw_fail(err, LW_ECONFIG, "--kind %s: %.500s is %s", lw_options_text(plot->given, "kind"), subject->name,
                       !subject->is_table ? "no table" : suggested == LW_PLOT_PEAKS ? "a table of peaks" :
                       suggested == LW_PLOT_FOLD ? "a table of candidates" : "a table of lines");
    if (is_detection || is_fold)
        return open_input(plot, err);
    if ((subject->is_table && !subject->is_image) || plot->kind == LW_PLOT_FILTERS)
        return LW_OK;
    if (!subject->is_axis_known && !subject->is_image)
        lw_log_info("%s has no metadata on its axis: the longest dimension, %d, is taken; --axis chooses another",
                    subject->name, subject->x);
    return choose_input(plot, err);
}

/* ---- the steps together ------------------------------------------------------------------------------------------------ */

static int draw(struct lw_plot *plot, struct lw_picture_file *file, struct lw_error *err)
{
    static int (*const kinds[])(struct lw_plot *plot, struct lw_error *err) = {
        [LW_PLOT_SERIES] = lw_plot_series,     [LW_PLOT_WATERFALL] = lw_plot_waterfall, [LW_PLOT_IMAGE] = lw_plot_waterfall,
        [LW_PLOT_SPECTRUM] = lw_plot_spectrum, [LW_PLOT_PEAKS] = lw_plot_peaks,         [LW_PLOT_FILTERS] = lw_plot_filters,
        [LW_PLOT_DETECTION] = lw_plot_detection, [LW_PLOT_FOLD] = lw_plot_fold,
    };
    const int rc = kinds[plot->kind](plot, err);
    if (rc)
        return rc;
    if (fflush(plot->script.file) != 0 || ferror(plot->script.file))
        return lw_fail(err, LW_ESYSTEM, "no memory for the picture");
    return plot->script.picture == LW_PICTURE_TEXT ? lw_picture_copy(file, plot->script.file, err)
                                                   : lw_gnuplot_draw(plot->script.file, file->fd, err);
}

/* Make the picture. Its file is created before samples are read, so that a wrong name is reported at once. */
static int make(struct lw_plot *plot, const char *output, struct lw_error *err)
{
    char title[4 * LW_MAX_PATH];
    struct lw_picture_file file = {.fd = -1};
    int rc;
    const char *const given = lw_options_text(plot->given, "title");
    const struct lw_name name = lw_name_of(lw_last_part(plot->subject.info.file), plot->subject.info.path);
    snprintf(title, sizeof title, "%s", given ? given : name.text);
    const size_t length = strlen(title);
    if (!given && plot->n_files > 1)
        snprintf(title + length, sizeof title - length, " and %" PRId64 " more files", plot->n_files - 1);
    plot->script.title = title;
    if ((rc = settle_kind(plot, err)) || (rc = lw_picture_create(output, lw_options_flag(plot->given, "overwrite"), &file, err)))
        return rc;              /* no file to discard yet */
    const int fd = memfd_create("gnuplot's text", MFD_CLOEXEC);
    plot->script.file = fd >= 0 ? fdopen(fd, "w+") : NULL;
    if (!plot->script.file)
        rc = lw_fail(err, LW_ESYSTEM, "no memory for the picture: %s", strerror(errno));
    else if ((rc = draw(plot, &file, err)) == LW_OK)
        rc = lw_picture_publish(&file, err);
    if (plot->script.file)
        fclose(plot->script.file);
    else if (fd >= 0)
        close(fd);
    lw_picture_discard(&file);
    return rc;
}

/* Read --limits LOW:HIGH. Either LOW or HIGH may be left out. */
static int read_limits(struct lw_plot *plot, struct lw_error *err)
{
    const char *const text = lw_options_text(plot->given, "limits"), *const colon = text ? strchr(text, ':') : NULL;
    char low[64];
    plot->low = plot->high = NAN;
    if (!text)
        return LW_OK;
    snprintf(low, sizeof low, "%.*s", colon ? (int)(colon - text) : 0, text);
    if (!colon || (low[0] && lw_parse_real(low, &plot->low) != LW_PARSE_OK) ||
        (colon[1] && lw_parse_real(colon + 1, &plot->high) != LW_PARSE_OK))
        return lw_fail(err, LW_EUSAGE, "--limits: '%s' is not LOW:HIGH, two numbers such as -2:2.5", text);
    if (plot->low >= plot->high)
        return lw_fail(err, LW_EUSAGE, "--limits %s: LOW is not below HIGH", text);
    if (plot->is_log && (plot->low <= 0 || plot->high <= 0))
        return lw_fail(err, LW_EUSAGE, "--limits %s: with --log both must be above 0", text);
    return LW_OK;
}

static int read_options(struct lw_plot *plot, struct lw_error *err)
{
    const char *const size = lw_options_text(plot->given, "size"), *const output = lw_options_text(plot->given, "output");
    int rc = LW_OK;
    plot->is_log = lw_options_flag(plot->given, "log");
    if (size)
        rc = lw_picture_parse_size(size, &plot->width, &plot->height, err);
    rc = rc ? rc : read_limits(plot, err);
    if (rc == LW_OK && output)
        rc = lw_picture_kind(output, &plot->script.picture, err);
    return rc || plot->script.picture == LW_PICTURE_TEXT ? rc : lw_gnuplot_check(err);
}

static int plot_alone(const char *name, const struct lw_subject_hints *hints, const struct lw_options *given, struct lw_error *err)
{
    struct lw_plot plot = {.given = given, .n_files = hints->joined ? lw_reader_info(hints->joined)->n_files : 1};
    char made[4 * LW_MAX_PATH];
    int rc;
    if ((rc = read_options(&plot, err)) || (rc = lw_subject_open(name, hints, &plot.subject, err)))
        goto done;
    /* The default name for survey.h5:/strain/raw is survey.strain-raw.png. */
    const char *const file = plot.subject.info.file, *const dot = strrchr(lw_last_part(file), '.');
    const size_t length = dot && dot != lw_last_part(file) ? (size_t)(dot - file) : strlen(file);
    const char *const path = plot.subject.info.path + strspn(plot.subject.info.path, "/");
    snprintf(made, sizeof made, "%.*s%s%s.png", (int)length, file, path[0] ? "." : "", path);
    for (char *at = made + length; *at; at++)
        if (*at == '/' || iscntrl((unsigned char)*at))
            *at = '-';
    const char *const output = lw_options_given(given, "output") ? lw_options_text(given, "output") : made;
    if ((rc = make(&plot, output, err)) == LW_OK)
        lw_log_info("%s shows %s%s%s", output, plot.subject.name, plot.script.note[0] ? ": " : "", plot.script.note);
done:
    lw_subject_release(&plot.subject);
    lw_subject_release(&plot.input);
    return rc;
}

/* Draw several files that form one axis. All ranks describe the files; rank 0 draws. */
static int plot_joined(struct lw_comm *comm, const char *names, struct lw_subject_hints *hints, const struct lw_options *given,
                       struct lw_error *err)
{
    const bool is_image = hints->shape == LW_SHAPE_IMAGE;
    const struct lw_reader_request request = {
        .names = names, .hints = hints->file, .least_dims = 1, .most_dims = LW_MAX_DIMS, .gaps = LW_GAPS_ZERO,
        .overlap = LW_OVERLAP_FIRST, .join = is_image ? LW_JOIN_ROWS : hints->axis >= 0 ? hints->axis : LW_JOIN_TIME,
    };
    struct lw_reader *reader;
    int rc = lw_reader_describe(comm, &request, &reader, err);
    if (rc)
        return rc;
    hints->joined = reader;
    if (!is_image)
        hints->axis = lw_reader_axis(&request, lw_reader_info(reader));
    rc = lw_comm_agree(comm, lw_comm_rank(comm) == 0 ? plot_alone("", hints, given, err) : LW_OK, err);
    lw_reader_close(reader);
    return rc;
}

int lw_plot_run(struct lw_comm *comm, const char *names, const struct lw_options *given, struct lw_error *err)
{
    const int kind = lw_options_choice(given, "kind");
    struct lw_subject_hints hints = {
        .axis = lw_options_given(given, "axis") ? (int)lw_options_int(given, "axis") : -1,
        .shape = kind == LW_PLOT_IMAGE ? LW_SHAPE_IMAGE : kind > 0 ? LW_SHAPE_SERIES : LW_SHAPE_AUTO,
    };
    struct lw_names found = {0};
    struct lw_dataset_info info;
    struct lw_error none;           /* ignored: plot_alone meets and reports the same error */
    int rc;
    if ((rc = lw_hints_take(given, &hints.file, err)) || (rc = lw_names_find(comm, names, &found, err)))
        return rc;
    const char *const first = lw_names_next(&found, NULL);
    bool is_joined = found.n > 1;
    if (lw_comm_rank(comm) == 0 && !is_joined && lw_examine_dataset(first, &hints.file, LW_USE_NUMBERS, &info, &none) == LW_OK)
        is_joined = info.n_stretches > 1;
    lw_comm_broadcast(comm, &is_joined, sizeof is_joined);
    if (is_joined)
        rc = plot_joined(comm, names, &hints, given, err);
    else
        rc = lw_comm_agree(comm, lw_comm_rank(comm) == 0 ? plot_alone(first, &hints, given, err) : LW_OK, err);
    lw_names_release(&found);
    return rc;
}
