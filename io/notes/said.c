#include "io/notes/said.h"

#include <string.h>

/* ---- add ------------------------------------------------------------------------------------------------------------- */

static int copy_bytes(struct lw_said *said, const char *text)
{
    const size_t bytes = strlen(text) + 1;
    const int at = said->n_bytes;
    memcpy(said->bytes + at, text, bytes);
    said->n_bytes += (int)bytes;
    return at;
}

void lw_said_add(const struct lw_attribute *attribute, void *context)
{
    struct lw_said *const said = context;
    struct lw_attribute known;
    const bool is_text = attribute->kind == LW_ATTRIBUTE_TEXT;
    const double number = attribute->kind == LW_ATTRIBUTE_INT ? (double)attribute->integer : attribute->real;
    const double *const reals = attribute->kind == LW_ATTRIBUTE_REALS ? attribute->reals : &number;
    const int n_reals = is_text ? 0 : attribute->kind == LW_ATTRIBUTE_REALS ? attribute->n_reals : 1;
    const size_t bytes = strlen(attribute->name) + 1 + (is_text ? strlen(attribute->text) + 1 : 0);
    if (said->n == LW_SAID_MOST || bytes > (size_t)(LW_SAID_BYTES - said->n_bytes) || n_reals > LW_SAID_REALS - said->n_reals ||
        lw_said_find(said, attribute->name, &known))
        return;
    struct lw_said_one *const one = &said->all[said->n++];
    *one = (struct lw_said_one){.kind = attribute->kind, .first = said->n_reals, .count = n_reals, .integer = attribute->integer,
                                .real = attribute->real};
    one->name = copy_bytes(said, attribute->name);
    one->text = is_text ? copy_bytes(said, attribute->text) : one->name;
    if (n_reals > 0)
        memcpy(said->reals + one->first, reals, (size_t)n_reals * sizeof *reals);
    said->n_reals += n_reals;
}

/* ---- find ------------------------------------------------------------------------------------------------------------ */

struct lw_attribute lw_said_get(const struct lw_said *said, int a)
{
    const struct lw_said_one *const one = &said->all[a];
    return (struct lw_attribute){
        .name = said->bytes + one->name, .kind = one->kind, .text = said->bytes + one->text, .integer = one->integer,
        .real = one->real, .reals = said->reals + one->first, .n_reals = one->count,
    };
}

bool lw_said_find(const struct lw_said *said, const char *name, struct lw_attribute *out)
{
    for (int a = 0; a < said->n; a++)
        if (strcmp(said->bytes + said->all[a].name, name) == 0) {
            *out = lw_said_get(said, a);
            return true;
        }
    return false;
}

const char *lw_said_text(const struct lw_said *said, const char *name)
{
    struct lw_attribute found;
    return lw_said_find(said, name, &found) && found.kind == LW_ATTRIBUTE_TEXT ? found.text : "";
}

double lw_said_real(const struct lw_said *said, const char *name, double fallback)
{
    struct lw_attribute found;
    return lw_said_find(said, name, &found) && found.n_reals > 0 ? found.reals[0] : fallback;
}
