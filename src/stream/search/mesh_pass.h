/* mesh_pass.h - background and noise of images in the cells of a mesh: a pass over all pixels before the rounds.
 *
 * Each rank reads a share of the rows of cells, its threads share the cells (signal/mesh_cells.h). Then all ranks get all nodes,
 * and make the tables of both maps. Pixels that are not finite in float32, or have weight 0 in the map of weights, do not count. No
 * bit of the tables depends on ranks, threads, rounds or memory. */
#pragma once

#include "setup/setup.h"

/** Return the host bytes per rank of the tables, which stay allocated, and of the measurement, which do not; 0 without a mesh. */
int64_t lw_mesh_kept_bytes(const struct lw_job *job);
int64_t lw_mesh_pass_bytes(const struct lw_job *job, const struct lw_engine *engine, const struct lw_reader *reader,
                           const struct lw_reader *map, int n_ranks);

/** Return the estimated seconds of the pass on all ranks' threads, files aside. */
double lw_mesh_pass_seconds(const struct lw_job *job, int64_t n_threads);

/** Measure the mesh of a job, if it has one. Selects other views of the readers. LW_ESYSTEM; errors of lw_reader_begin. Collective.
 * @param map        reader of the map of weights; NULL: none
 * @param n_threads  threads of this rank */
int lw_mesh_measure(struct lw_comm *comm, struct lw_reader *reader, struct lw_reader *map, struct lw_job *job, int n_threads,
                    struct lw_error *err);

/** Write the map of product number `product`; the ranks share its rows. LW_ESYSTEM, LW_EIO. Collective. */
int lw_mesh_write(struct lw_comm *comm, struct lw_writer *writer, const struct lw_job *job, int product, int n_threads,
                  struct lw_error *err);
