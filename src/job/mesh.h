/* mesh.h - options for a background and a noise of images that vary from place to place, and the maps of them in the result.
 *
 * Both are measured in the cells of a mesh, in a pass before the rounds (stream/search/mesh_pass.h). The cells divide the whole
 * image: a window (--start, --count) has the values that it has in the whole. With --isolated the window counts as an image. */
#pragma once

#include "job/job.h"

#define LW_MESH_CELL 64
#define LW_MESH_MOST_CELL 4096

/* Entries for a job's table of options. */
#define LW_MESH_OPTIONS                                                                                                        \
    {.name = "mesh", .kind = LW_OPTION_INT, .argument = "CELL", .minimum = 2, .maximum = LW_MESH_MOST_CELL,                    \
     .help = "Side of the cells of a mesh, in pixels. --background mesh and --noise mesh measure in them. Choose it wider than " \
             "sources, and narrower than the structure of the background. Default: 64."},                                      \
    {.name = "no-maps", .kind = LW_OPTION_FLAG, .is_rare = true,                                                               \
     .help = "Leave the maps of --background mesh and --noise mesh out of the result."}

/** Read the options for a mesh, set job->mesh and the operation's members that refer to it. View, window and outputs are chosen
 * before. LW_EUSAGE, LW_ECONFIG, LW_ESYSTEM. */
int lw_job_choose_mesh(const struct lw_options *given, struct lw_job *job, struct lw_error *err);

/** Declare the maps behind all other products. */
void lw_job_shape_maps(const struct lw_options *given, struct lw_job *job);

void lw_job_release_mesh(struct lw_job *job);
