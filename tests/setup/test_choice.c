/* test_choice.c - tests of the rule by which --engine auto takes the CPU or a device, on models that are made up. */
#include "../check.h"
#include "setup/choice.h"

#include <math.h>
#include <string.h>

/* A device that needs 0.3 s to start; the CPU needs none. */
static const struct {
    const char *what;
    struct lw_run_model cpu, device;
    bool is_cpu;
} cases[] = {
    {"a small file: the start counts", {.compute = 0.02}, {.start = 0.3, .compute = 0.001}, true},
    {"files limit both engines", {.compute = 0.08, .read = 0.64}, {.start = 0.3, .copy = 0.1, .read = 0.64}, true},
    {"computing limits the CPU", {.compute = 4, .write = 0.64}, {.start = 0.3, .copy = 0.1, .write = 0.64}, false},
    {"filters are prepared before", {.prepare = 1, .compute = 0.1}, {.start = 0.3, .prepare = 0.05, .compute = 0.01}, false},
    {"the link limits the device", {.compute = 1.2}, {.start = 0.3, .compute = 0.1, .copy = 1.5}, true},
    {"hours of files: less than a tenth is no gain", {.read = 3600}, {.start = 0.3, .read = 3600}, false},
    {"equal times", {.compute = 1}, {.compute = 1}, false},
    {"a tenth less", {.compute = 0.89}, {.compute = 1}, true},
    {"nothing to do", {.start = 0}, {.start = 0}, false},
};

int main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(lw_choice_is_cpu(&cases[i].cpu, &cases[i].device) == cases[i].is_cpu, "%s: the wrong engine", cases[i].what);
    const struct lw_run_model model = {.start = 1, .prepare = 2, .compute = 30, .copy = 500, .read = 40, .write = 30, .halo = 4,
                                       .messages = 5};
    CHECK(fabs(lw_run_model_seconds(&model) - 512) < 1e-12, "all stages and the longest of those that overlap are %g s, not 512",
          lw_run_model_seconds(&model));
    struct lw_run_model limited = model;
    CHECK(strcmp(lw_run_model_limit(&limited), "copies") == 0, "copies do not limit, but %s", lw_run_model_limit(&limited));
    limited.copy = 60;          /* less than reading and writing together */
    CHECK(strcmp(lw_run_model_limit(&limited), "reading") == 0, "reading does not limit, but %s", lw_run_model_limit(&limited));
    limited.is_in_turn = true;
    CHECK(strcmp(lw_run_model_limit(&limited), "copies") == 0, "copies do not limit, but %s", lw_run_model_limit(&limited));
    CHECK(fabs(lw_run_model_seconds(&limited) - (12 + 30 + 60 + 70)) < 1e-12, "%g s in turn", lw_run_model_seconds(&limited));
    limited.messages = 61;
    CHECK(strcmp(lw_run_model_limit(&limited), "messages") == 0, "messages do not limit, but %s", lw_run_model_limit(&limited));
    return check_result("choice");
}
