/* terra15.c - files of Terra15's Treble: [time x distance] in /data_product/data, or, of version 4, in the group that the attribute
 * data_product names. The times tell the rate: the attribute dT is that of the computer, off by as much as 1 in 1000. */
#include "io/hdf5/conventions/convention.h"

#include <stdio.h>
#include <string.h>

static bool is_data(hid_t file, const char *path)
{
    struct lw_error broken = {0};
    char product[64] = "";
    const char *const group = path[0] == '/' ? path + 1 : path;
    const size_t length = strcspn(group, "/");
    lw_place_text(file, "@data_product", product, sizeof product, &broken);
    return (length == strlen("data_product") && strncmp(group, "data_product", length) == 0) ||
           (length == strlen(product) && strncmp(group, product, length) == 0);
}

static int describe(struct lw_subject *subject)
{
    double version, first, step;
    char text[LW_PLACE];
    struct lw_dataset_info *const info = subject->info;
    if (lw_subject_real(subject, "@file_version", &version))
        snprintf(info->convention, sizeof info->convention, "Terra15 %.0f", version);
    lw_subject_name(subject, 0, "distance");
    if (lw_subject_real(subject, "@sensing_range_start", &first) && lw_subject_real(subject, "@dx", &step))
        lw_subject_distance(subject, first, step, "m");
    if (!lw_subject_times(subject, lw_place_above(info->path, 1, "gps_time", text), "s"))
        lw_subject_times(subject, lw_place_above(info->path, 1, "posix_time", text), "s");
    if (lw_subject_text(subject, "@data_product_units", text, sizeof text))
        lw_subject_unit(subject, text);
    lw_subject_gauge(subject, "@gauge_length", NULL);
    lw_subject_identify(subject, "serial number", "@serial_number");
    return LW_OK;
}

const struct lw_convention lw_convention_terra15 = {
    .name = "Terra15",
    .mark = {"@file_version", "@data_product", "@sensing_range_start"},
    .pattern = "*/data",
    .is_das = true,
    .is_data = is_data,
    .describe = describe,
};
