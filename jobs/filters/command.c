#include "jobs/filters/kinds.h"

#include "base/log.h"
#include "jobs/filters/bank.h"

const struct lw_option lw_bank_options[] = {
    {.name = "output", .kind = LW_OPTION_FILE, .argument = "FILE", .is_required = true,
     .help = "HDF5 file to make, with the dataset /taps."},
    LW_OPTION_OVERWRITE,
    {.name = "type", .kind = LW_OPTION_CHOICE, .choices = "float64|float32", .fallback = "float64",
     .help = "Type of the taps. What is said of a filter is measured on the taps that are written."},
    {0},
};

/* ---- type --------------------------------------------------------------------------------------------------------- */

static void round_to_single(const struct lw_bank *bank)
{
    for (int64_t i = 0; i < bank->n_filters * lw_bank_values(bank); i++)
        bank->taps[i] = (double)(float)bank->taps[i];
}

/* ---- all of it ----------------------------------------------------------------------------------------------------- */

static int make(const struct lw_filter_kind *kind, const struct lw_options *given, struct lw_bank *bank, struct lw_error *err)
{
    bank->kind = kind;
    bank->rate_hz = lw_options_real(given, "rate");
    bank->norm = lw_options_choice(given, "norm") == 1 ? "energy" : "gain";
    int rc;
    if ((rc = kind->design(given, bank, err)) || (rc = lw_bank_scale(bank, err)))
        return rc;
    if (lw_options_choice(given, "type") == 1)
        round_to_single(bank);
    return lw_bank_measure(bank, err);
}

/* The others learn the shape, which is all that the file's collective calls need of them. */
static void share_shape(struct lw_comm *comm, struct lw_bank *bank)
{
    int64_t shape[3] = {bank->n_filters, bank->n_taps, bank->is_complex};
    lw_comm_broadcast(comm, shape, sizeof shape);
    bank->n_filters = (int)shape[0];
    bank->n_taps = shape[1];
    bank->is_complex = shape[2] != 0;
}

int lw_filters_run(struct lw_comm *comm, const struct lw_filter_kind *kind, const struct lw_options *given,
                   const char *command_line, struct lw_error *err)
{
    struct lw_bank bank = {0};
    const bool is_mine = lw_comm_rank(comm) == 0;
    int rc = lw_comm_agree(comm, is_mine ? make(kind, given, &bank, err) : LW_OK, err);
    if (rc == LW_OK) {
        share_shape(comm, &bank);
        rc = lw_bank_write(comm, &bank, given, command_line, err);
    }
    if (rc == LW_OK && is_mine) {
        lw_bank_report(&bank, lw_options_choice(given, "type") == 1);
        lw_log_info("Next: lapwing ols --input FILE:/dataset --filters %s:/taps --output filtered.h5",
                    lw_options_text(given, "output"));
    }
    lw_bank_release(&bank);
    return rc;
}
