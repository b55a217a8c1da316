/* identity.h - what makes a run the same as another: what it was asked, of what, by which program on which processor or GPU. Runs
 * with one identity have the same result, bit by bit, on any ranks and with any memory. */
#pragma once

#include "io/journal/journal.h"
#include "setup/setup.h"

/** Bytes that the identity takes in a journal, at most. */
int64_t lw_identity_bytes(const struct lw_setup *setup);

/** Add it. The setup is planned: its algorithm is known. */
void lw_identity_add(const struct lw_setup *setup, struct lw_journal *journal);

/** LW_ECONFIG: a journal is that of another run; the message names the first key that differs, and both values.
 * @param result  the name of the result, for the message */
int lw_identity_check(const struct lw_setup *setup, const struct lw_journal *journal, const char *result, struct lw_error *err);
