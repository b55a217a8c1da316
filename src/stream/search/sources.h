/* sources.h - measures the sources at an image's peaks: place, flux, brightest light, flags, and the place on the sky.
 *
 * A slot still holds the pixels under the kernel of each of its peaks, the halo's rows included, so that a measurement depends
 * neither on ranks nor on rounds. The window of a source is the part of the kernel's extent within 4 sigma of its middle
 * (signal/source.h), LW_SOURCE_REACH pixels at most. Pixels beyond the image's sides are not looked at. */
#pragma once

#include "io/archive/fits/sky.h"
#include "job/search.h"

#define LW_SOURCE_REACH 128

struct lw_sources;

/** Return the host bytes of lw_sources_create; 0 if the job has no table of sources. */
int64_t lw_sources_bytes(const struct lw_job *job, const struct lw_engine *engine);

/** Create what measures. *out: NULL if the job has no table of sources, or complex pixels. LW_ESYSTEM. Not collective.
 * @param job, op, sky  borrowed for its life; sky: coordinates of the input; NULL, or without `wcs`: places stay unknown
 * @param engine  its host threads measure; NULL: one thread does */
int lw_sources_create(const struct lw_job *job, const struct lw_op_plan *op, const struct lw_engine *engine,
                      const struct lw_sky *sky, struct lw_sources **out, struct lw_error *err);
void lw_sources_destroy(struct lw_sources *sources);        /* NULL is legal */

/** Set the measured columns of rows from n peaks of a slot's block; NULL: nothing is done. @param rows  [n], of these peaks */
void lw_sources_measure(const struct lw_sources *sources, const struct lw_slot *slot, const struct lw_peak *peaks, int64_t n,
                        struct lw_source_row *rows);

/** Set right ascension and declination of measured rows, if there are coordinates; NULL: nothing is done. */
void lw_sources_place(const struct lw_sources *sources, struct lw_source_row *rows, int64_t n);
