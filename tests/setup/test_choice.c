/* test_choice.c - tests of the rule by which --engine auto takes the CPU or a device, on models that are made up. */
#include "../check.h"
#include "setup/choice.h"

#include <math.h>

/* A device that needs 0.3 s to start; the CPU needs none. */
static const struct {
    const char *what;
    struct lw_run_model cpu, device;
    bool is_cpu;
} cases[] = {
    {"a small file: the start counts", {.compute = 0.02}, {.start = 0.3, .compute = 0.001}, true},
    {"files limit both engines", {.compute = 0.08, .files = 0.64}, {.start = 0.3, .copy = 0.1, .files = 0.64}, true},
    {"computing limits the CPU", {.compute = 4, .files = 0.64}, {.start = 0.3, .copy = 0.1, .files = 0.64}, false},
    {"filters are prepared before", {.prepare = 1, .compute = 0.1}, {.start = 0.3, .prepare = 0.05, .compute = 0.01}, false},
    {"the link limits the device", {.compute = 1.2}, {.start = 0.3, .compute = 0.1, .copy = 1.5}, true},
    {"hours of files: less than a tenth is no gain", {.files = 3600}, {.start = 0.3, .files = 3600}, false},
    {"equal times", {.compute = 1}, {.compute = 1}, false},
    {"a tenth less", {.compute = 0.89}, {.compute = 1}, true},
    {"nothing to do", {.start = 0}, {.start = 0}, false},
};

int main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(lw_choice_is_cpu(&cases[i].cpu, &cases[i].device) == cases[i].is_cpu, "%s: the wrong engine", cases[i].what);
    const struct lw_run_model model = {.start = 1, .prepare = 2, .compute = 30, .copy = 500, .files = 70};
    CHECK(fabs(lw_run_model_seconds(&model) - 503) < 1e-12, "start, filters and the longest of the rest are %g s, not 503",
          lw_run_model_seconds(&model));
    return check_result("choice");
}
