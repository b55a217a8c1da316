#include "cli/jobfile.h"

#include "base/file.h"
#include "base/memory.h"
#include "cli/commands.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* A longer file is taken for data: even two million characters of file names make a job file of only 3 MiB. */
enum { MAX_BYTES = 64 << 20 };

/* ---- reading ---- */

/* Read a regular file of the size that the system reports; what is appended meanwhile is not read. */
static int read_open(struct lw_options_file *jobfile, FILE *file, struct lw_error *err)
{
    struct stat status = {0};
    fstat(fileno(file), &status);
    if (status.st_size > MAX_BYTES)
        return lw_fail(err, LW_ECONFIG, "%s: not a job file: it is longer than 64 MiB", jobfile->path);
    if (!(jobfile->text = lw_alloc((size_t)status.st_size + 1, "the job file", err)))
        return LW_ESYSTEM;
    errno = 0;
    jobfile->bytes = (int64_t)fread(jobfile->text, 1, (size_t)status.st_size, file);
    if (ferror(file))
        return lw_fail(err, LW_EIO, "%s: cannot read the job file: %s", jobfile->path, strerror(errno));
    if (memchr(jobfile->text, '\0', (size_t)jobfile->bytes))
        return lw_fail(err, LW_ECONFIG, "%s: not a job file: it holds null bytes; 'lapwing info FILE' shows what is in a "
                       "data file", jobfile->path);
    return LW_OK;
}

static int read_text(struct lw_options_file *jobfile, struct lw_error *err)
{
    char why[96];
    const int fd = lw_file_open(jobfile->path, why);
    FILE *const file = fd < 0 ? NULL : fdopen(fd, "r");
    if (fd >= 0 && !file)
        close(fd);
    if (!file)
        return lw_fail(err, LW_EIO, "%s: cannot read the job file: %s", jobfile->path, fd < 0 ? why : strerror(errno));
    const int rc = read_open(jobfile, file, err);
    fclose(file);
    return rc;
}

/* Find the value of an option in a configuration. Only the value's first line is used. @return  NULL: none */
static const char *find_value(const char *configuration, const char *name)
{
    const size_t length = strlen(name);
    for (const char *line = configuration; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, length) == 0 && strncmp(line + length, " = ", 3) == 0)
            return line + length + 3;
    }
    return NULL;
}

const char *lw_jobfile_added(const struct lw_listing_origin *origin, char lines[LW_JOBFILE_ADDED])
{
    const char *const said = origin->configuration, *const products = find_value(said, "products");
    const struct lw_job_ops *const job = lw_job_find(origin->job);
    char words[80] = "";
    if (products)
        snprintf(words, sizeof words, "%.*s", (int)strcspn(products, "\n"), products);
    const bool has_no_sign = (strstr(words, "peaks") || strstr(words, "best")) && !find_value(said, "sign");
    const bool was_measured = has_no_sign && !find_value(said, "noise") && !find_value(said, "whiten");
    const bool was_isolated = job && !job->is_isolated && !find_value(said, "isolated");
    snprintf(lines, LW_JOBFILE_ADDED, "%s%s%s%s", has_no_sign ? "sign = both\n" : "", was_measured ? "noise = rms\n" : "",
             find_value(said, "overlap") ? "" : "overlap = first\n", was_isolated ? "isolated = yes\n" : "");
    return lines;
}

static int take_origin(struct lw_options_file *jobfile, struct lw_error *err)
{
    struct lw_listing_origin origin;
    int rc = LW_OK;
    if (!lw_list_origin(jobfile->path, &origin)) {
        rc = lw_fail(err, LW_EDATA, "'%.600s' contains no job file, so its job is unknown", jobfile->path);
    } else {
        char lines[LW_JOBFILE_ADDED];
        const char *const added = lw_jobfile_added(&origin, lines);
        const size_t room = strlen(origin.job) + strlen(origin.configuration) + strlen(added) + sizeof "[]\n";
        jobfile->text = lw_alloc(room, "the job file", err);
        rc = jobfile->text ? LW_OK : LW_ESYSTEM;
        if (rc == LW_OK)
            jobfile->bytes = snprintf(jobfile->text, room, "[%s]\n%s%s", origin.job, origin.configuration, added);
    }
    lw_list_origin_release(&origin);
    return rc;
}

/* Return whether the text contains ${NAME} or ${NAME:..., for the variable NAME in `variable`, "NAME=value". */
static bool has_variable(const char *text, const char *variable)
{
    const size_t length = strcspn(variable, "=");
    for (const char *at = text; (at = strstr(at, "${")); at += 2)
        if (strncmp(at + 2, variable, length) == 0 && (at[2 + length] == '}' || at[2 + length] == ':'))
            return true;
    return false;
}

/* Collect the environment variables that the text names. @param bytes  set to their length with a last null byte */
static char *gather_variables(const char *text, int64_t *bytes, struct lw_error *err)
{
    char *variables = NULL;
    size_t size = 0;
    FILE *const file = open_memstream(&variables, &size);
    for (char **variable = environ; file && *variable; variable++)
        if (has_variable(text, *variable))
            fwrite(*variable, 1, strlen(*variable) + 1, file);
    if (file)
        fputc('\0', file);
    const bool is_whole = file && !ferror(file);
    if (!file || fclose(file) != 0 || !is_whole) {
        lw_free(variables);
        lw_fail(err, LW_ESYSTEM, "no memory for the variables of the job file");
        return NULL;
    }
    *bytes = (int64_t)size;
    return variables;       /* lw_free may free this: it is free(), and open_memstream uses malloc() */
}

/* Send rank 0's text to the other ranks, which allocate it. @param bytes  length with the last null byte. Collective. */
static int share_text(struct lw_comm *comm, char **text, int64_t bytes, struct lw_error *err)
{
    lw_comm_broadcast(comm, &bytes, sizeof bytes);
    if (lw_comm_rank(comm) != 0)
        *text = lw_alloc((size_t)bytes, "the job file", err);
    const int code = lw_comm_agree(comm, *text ? LW_OK : LW_ESYSTEM, err);
    if (code == LW_OK)
        lw_comm_broadcast(comm, *text, bytes);
    return code;
}

int lw_jobfile_read(struct lw_comm *comm, const char *path, bool is_result, struct lw_options_file *jobfile, struct lw_error *err)
{
    int64_t variables_bytes = 0;
    *jobfile = (struct lw_options_file){.path = lw_alloc(strlen(path) + 1, "a file name", err)};
    int code = jobfile->path ? LW_OK : LW_ESYSTEM;
    if (code == LW_OK)
        strcpy(jobfile->path, path);
    const bool reads = code == LW_OK && lw_comm_rank(comm) == 0;
    if (reads && (code = is_result ? take_origin(jobfile, err) : read_text(jobfile, err)) == LW_OK)
        code = (jobfile->variables = gather_variables(jobfile->text, &variables_bytes, err)) ? LW_OK : LW_ESYSTEM;
    if ((code = lw_comm_agree(comm, code, err)))
        return code;
    lw_comm_broadcast(comm, &jobfile->bytes, sizeof jobfile->bytes);
    if ((code = share_text(comm, &jobfile->text, jobfile->bytes + 1, err)) == LW_OK)
        code = share_text(comm, &jobfile->variables, variables_bytes, err);
    return code;
}

void lw_jobfile_release(struct lw_options_file *jobfile)
{
    lw_free(jobfile->path);
    lw_free(jobfile->text);
    lw_free(jobfile->variables);
    *jobfile = (struct lw_options_file){0};
}

/* ---- the job ---- */

static bool is_job(const char *section, char why[LW_SECTION_WHY])
{
    char names[LW_WORD_LIST];
    if (lw_job_find(section))
        return true;
    lw_word_list(LW_WORD_JOB, ", ", names);
    if (section[0])
        snprintf(why, LW_SECTION_WHY, "[%s] is no job; the jobs are: %s", section, names);
    else
        snprintf(why, LW_SECTION_WHY, "an option before the section that names the job (one of: %s)", names);
    return false;
}

int lw_jobfile_job(const struct lw_options_file *jobfile, const struct lw_job_ops **out, struct lw_error *err)
{
    char section[LW_SECTION_NAME];
    const int code = lw_options_file_section(jobfile, is_job, section, err);
    if (code == LW_OK)
        *out = lw_job_find(section);
    return code;
}

int lw_jobfile_apply(const struct lw_options_file *jobfile, struct lw_options *options, struct lw_error *err)
{
    return lw_options_file_apply(jobfile, is_job, options, err);
}
