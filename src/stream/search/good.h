/* good.h - --mask good-data=TESTS: samples that do not pass tests of which the input files themselves keep the results
 * (io/notes/quality.h). */
#pragma once

#include "io/read/reader.h"

/** One bit for each sample of the axis, set where a test is not passed or nothing is said of the sample; eight in a byte, the first
 * in the highest place. On every rank. Collective. LW_EDATA: a file has no such series, or its times or the input's are not known;
 * those of lw_quality_find and lw_reader_read_numbers.
 * @param bits  returned, release with lw_free */
int lw_good_data_read(struct lw_comm *comm, const struct lw_reader *input, int axis, const char *tests, unsigned char **bits,
                      struct lw_error *err);
