#include "jobs/filters/masses.h"

#include "base/memory.h"
#include "io/notes/notes.h"
#include "io/read/box.h"
#include "jobs/filters/bank.h"

#include <inttypes.h>
#include <stdio.h>

/* The members of struct lw_binary. */
enum { FIELDS = 4, SPINS = 2 };         /* members from SPINS on are spins */

static const struct {
    const char *option, *names[2];      /* names of columns or datasets: this program's and PyCBC's */
    const char *unit;
    double least, most;
} fields[FIELDS] = {
    {"mass-1", {"mass_1", "mass1"}, "solar masses", 1e-3, 1e6}, {"mass-2", {"mass_2", "mass2"}, "solar masses", 1e-3, 1e6},
    {"spin-1", {"spin_1", "spin1z"}, "G m^2 / c", -1, 1}, {"spin-2", {"spin_2", "spin2z"}, "G m^2 / c", -1, 1},
};

/* Read the numbers of a list, or none of spins that are not given. */
static int read_list(const struct lw_options *given, int field, double **numbers, int64_t *count, struct lw_error *err)
{
    const char *const option = fields[field].option;
    const struct lw_bank_list list = {option, fields[field].unit, fields[field].least, fields[field].most, false, NULL};
    int n = 0;
    if (field < SPINS && !lw_options_given(given, option))
        return lw_fail(err, LW_EUSAGE, "--%s is missing: give --bank FILE:/table, or --mass-1 and --mass-2", option);
    const int rc = lw_options_given(given, option) ? lw_bank_read_list(given, &list, numbers, &n, err) : LW_OK;
    *count = n;
    return rc;
}

/* Read a column of a table, or nothing of spins that it does not have. */
static int read_column(const char *name, const struct lw_notes *table, int field, double **numbers, int64_t *count,
                       struct lw_error *err)
{
    const char *const *const names = fields[field].names;
    *count = table->n_rows;
    for (int i = 0; i < 2; i++)
        if (lw_notes_have_columns(table, (const char *const[]){names[i], NULL}))
            return lw_notes_read_column(name, table, names[i], numbers, err);
    return field >= SPINS ? LW_OK : lw_fail(err, LW_EDATA, "%.600s has no column %s or %s", name, names[0], names[1]);
}

/* Read a dataset of a file or group. */
static int read_dataset(const char *name, int field, double **numbers, int64_t *count, struct lw_error *err)
{
    struct lw_object group;
    struct lw_dataset_info info;
    char path[LW_MAX_PATH + LW_NOTE_NAME];
    int rc = lw_object_parse(name, &group, err), found = rc;
    for (int i = 0; i < 2 && rc == LW_OK && (i == 0 || found); i++) {
        snprintf(path, sizeof path, "%s/%s", group.path, fields[field].names[i]);
        lw_free(*numbers);
        *numbers = NULL;
        found = lw_numbers_read(lw_name_of(group.file, path).text, 1, &info, numbers, err);
    }
    if ((rc = rc ? rc : found))
        return rc;
    *count = info.dims[0];
    return info.type.is_complex ? lw_fail(err, LW_EDATA, "%s must have real numbers", lw_dataset_name(&info).text) : LW_OK;
}

static int take(const char *name, int field, const double *numbers, int64_t count, struct lw_binary *binaries, struct lw_error *err)
{
    for (int64_t f = 0; f < count; f++) {
        if (!(numbers[f] >= fields[field].least && numbers[f] <= fields[field].most))
            return lw_fail(err, LW_EDATA, "row %" PRId64 " of %.600s has %s = %.6g, which is not in %.12g..%.12g %s: correct the "
                           "table", f, name, fields[field].names[0], numbers[f], fields[field].least, fields[field].most,
                           fields[field].unit);
        ((double *)&binaries[f])[field] = numbers[f];
    }
    return LW_OK;
}

/* Read lists or a table. Rank 0 only. */
static int read_all(const struct lw_options *given, struct lw_binary **binaries, int64_t *count, struct lw_error *err)
{
    const char *const name = lw_options_text(given, "bank");
    LW_FREED struct lw_notes *const table = lw_alloc(sizeof *table, "masses", err);
    int rc = table ? LW_OK : LW_ESYSTEM;
    if (rc == LW_OK && name && lw_notes_read(name, NULL, table, &(struct lw_error){0}))
        table->n_columns = 0;           /* a file or group: its datasets are read, with their errors */
    for (int i = 0; rc == LW_OK && i < FIELDS; i++)
        if (name && lw_options_given(given, fields[i].option))
            rc = lw_fail(err, LW_EUSAGE, "--bank and --%s exclude each other: the table has masses and spins", fields[i].option);
    for (int i = 0; rc == LW_OK && i < FIELDS; i++) {
        LW_FREED double *numbers = NULL;
        int64_t n = 0;
        rc = !name                  ? read_list(given, i, &numbers, &n, err)
             : table->n_columns > 0 ? read_column(name, table, i, &numbers, &n, err)
                                    : read_dataset(name, i, &numbers, &n, err);
        if (rc == LW_OK && numbers && i > 0 && n != *count)
            rc = lw_fail(err, name ? LW_EDATA : LW_EUSAGE, "there are %" PRId64 " numbers of %s and %" PRId64 " of %s: give one of "
                         "each for each filter", *count, fields[0].names[0], n, fields[i].names[0]);
        if (rc == LW_OK && i == 0) {
            *count = n;
            rc = n < 1 || n > LW_MASSES_MOST
                ? lw_fail(err, LW_EDATA, "%.600s has %" PRId64 " rows; a bank has 1 to %d templates", name, n, LW_MASSES_MOST)
                : (*binaries = lw_alloc_array(n, sizeof **binaries, "masses", err)) ? LW_OK : LW_ESYSTEM;
        }
        if (rc == LW_OK && numbers)
            rc = take(name, i, numbers, n, *binaries, err);
    }
    return rc;
}

int lw_masses_read(const struct lw_options *given, struct lw_comm *comm, struct lw_binary **binaries, int *count,
                   struct lw_error *err)
{
    const bool reads = lw_comm_rank(comm) == 0;
    int64_t n = 0;
    *binaries = NULL;
    int rc = lw_comm_agree(comm, reads ? read_all(given, binaries, &n, err) : LW_OK, err);
    if (rc)
        return rc;
    lw_comm_broadcast(comm, &n, sizeof n);
    if (!reads)
        *binaries = lw_alloc_array(n, sizeof **binaries, "masses", err);
    *count = (int)n;
    if ((rc = lw_comm_agree(comm, *binaries ? LW_OK : LW_ESYSTEM, err)))
        return rc;
    lw_comm_broadcast(comm, *binaries, n * (int64_t)sizeof **binaries);
    return LW_OK;
}
