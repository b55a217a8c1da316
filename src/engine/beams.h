/* beams.h - the operation behind beams (signal/array.h), which takes them for its channels: in the computing precision, with time
 * fast. An engine sums the beams of a block, and lets this operation filter them. */
#pragma once

#include "engine/engine.h"

LW_C_BEGIN

struct lw_op_spec lw_op_behind_beams(const struct lw_op_spec *spec);

struct lw_op_plan lw_op_plan_behind_beams(const struct lw_op_spec *spec, const struct lw_op_plan *plan);

LW_C_END
