/* jobfile.c - fuzz target of job files and of the values of their options. */
#include "target.h"

#include "base/memory.h"
#include "cli/commands.h"
#include "cli/jobfile.h"

#include <string.h>

static void apply(const struct lw_options_file *jobfile, const struct lw_job_ops *job)
{
    struct lw_options *options;
    struct lw_error err = {0};
    REQUIRE(lw_command_options(LW_ACTION_RUN, job, NULL, &options, &err) == LW_OK, "%s", err.message);
    const int rc = lw_jobfile_apply(jobfile, options, &err);
    REQUIRE(rc == LW_OK || rc == LW_ECONFIG, "code %d: %s", rc, err.message);
    if (rc == LW_OK)
        lw_free(lw_options_resolved(options, "", &err));
    lw_options_destroy(options);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char path[] = "job.ini", variables[] = "HOME=/home/fuzz\0EMPTY=\0";
    struct lw_options_file jobfile = {.path = path, .bytes = (int64_t)size, .variables = variables};
    const struct lw_job_ops *job = NULL;
    struct lw_error err = {0};
    if (memchr(data, '\0', size))           /* the program refuses null bytes before it parses */
        return 0;
    jobfile.text = malloc(size + 1);
    memcpy(jobfile.text, data, size);
    jobfile.text[size] = '\0';
    const int rc = lw_jobfile_job(&jobfile, &job, &err);
    REQUIRE(rc == LW_OK || (rc == LW_ECONFIG && err.message[0]), "code %d: %s", rc, err.message);
    if (rc == LW_OK)
        apply(&jobfile, job);
    free(jobfile.text);
    return 0;
}
