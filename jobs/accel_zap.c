#include "jobs/accel_zap.h"

#include "base/file.h"
#include "base/integers.h"
#include "base/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ZAPS = 1 << 16 };

static int add(struct lw_accel_request *request, double seconds, double frequency, double width, struct lw_error *err)
{
    const double middle = frequency * seconds, half = fmax(0.5, width * seconds / 2), n_bins = (double)request->plan.n_bins;
    if (middle - half >= n_bins)
        return LW_OK;
    if (request->n_zaps == MOST_ZAPS)
        return lw_fail(err, LW_EDATA, "--zap: there are more than %d frequencies: join neighbours to wider ones", MOST_ZAPS);
    request->zaps[request->n_zaps++] = (struct lw_accel_zap){
        .first = lw_max64(0, (int64_t)ceil(middle - half)), .end = (int64_t)fmin(n_bins, floor(middle + half) + 1),
    };
    return LW_OK;
}

static int add_line(struct lw_accel_request *request, double seconds, const char *text, const char *name, int64_t number,
                    struct lw_error *err)
{
    double frequency, width;
    long harmonics = 1;
    int grows = 0, rc = LW_OK;
    if (sscanf(text + (*text == 'B'), "%lf%*[ \t,]%lf%*[ \t,]%ld%*[ \t,]%d", &frequency, &width, &harmonics, &grows) < 2 ||
        !isfinite(frequency) || frequency < 0 || !(width >= 0 && width < INFINITY) || harmonics < 1 || harmonics > MOST_ZAPS)
        return lw_fail(err, LW_EDATA, "--zap %.600s, line %" PRId64 ": '%.*s' is no frequency and width in Hz, with a number of "
                       "harmonics behind them or not", name, number, (int)strcspn(text, "\r\n"), text);
    for (long h = 1; rc == LW_OK && h <= harmonics; h++)
        rc = add(request, seconds, (double)h * frequency, grows ? (double)h * width : width, err);
    return rc;
}

static int by_first(const void *a, const void *b)
{
    const struct lw_accel_zap *const x = a, *const y = b;
    return lw_compare64(x->first, y->first);
}

/* Join bins that touch. */
static void join(struct lw_accel_request *request)
{
    struct lw_accel_zap *const zaps = request->zaps;
    int64_t n = 0;
    qsort(zaps, (size_t)request->n_zaps, sizeof *zaps, by_first);
    for (int64_t i = 0; i < request->n_zaps; i++)
        if (n > 0 && zaps[i].first <= zaps[n - 1].end)
            zaps[n - 1].end = lw_max64(zaps[n - 1].end, zaps[i].end);
        else
            zaps[n++] = zaps[i];
    request->n_zaps = n;
}

/* Read the file. Rank 0 only. */
static int read_file(const char *name, double seconds, struct lw_accel_request *request, struct lw_error *err)
{
    char line[512];
    int fd, rc = lw_file_open_input(name, &fd, err);
    FILE *const file = rc ? NULL : fdopen(fd, "r");
    if (!file)
        return rc ? rc : lw_fail(err, LW_ESYSTEM, "--zap %.600s: no memory", name);
    for (int64_t number = 1; rc == LW_OK && fgets(line, sizeof line, file); number++) {
        const char *const text = line + strspn(line, " \t\r\n");
        if (*text && *text != '#' && *text != 'P')
            rc = add_line(request, seconds, text, name, number, err);
    }
    fclose(file);
    join(request);
    return rc;
}

int lw_accel_read_zaps(struct lw_comm *comm, const char *name, double seconds, struct lw_accel_request *request,
                       struct lw_error *err)
{
    request->zaps = lw_alloc_array(MOST_ZAPS, sizeof *request->zaps, "frequencies of interference", err);
    int rc = lw_comm_agree(comm, request->zaps ? LW_OK : LW_ESYSTEM, err);
    if (rc == LW_OK)
        rc = lw_comm_agree(comm, lw_comm_rank(comm) == 0 ? read_file(name, seconds, request, err) : LW_OK, err);
    if (rc)
        return rc;
    lw_comm_broadcast(comm, &request->n_zaps, sizeof request->n_zaps);
    lw_comm_broadcast(comm, request->zaps, request->n_zaps * (int64_t)sizeof *request->zaps);
    return LW_OK;
}
