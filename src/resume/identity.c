#include "resume/identity.h"

#include "base/memory.h"
#include "version.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- all of it, key by key ----------------------------------------------------------------------------------------------- */

struct visitor {
    void (*take)(struct visitor *visitor, const char *key, const char *value);
    struct lw_journal *journal;             /* that is added to, */
    const struct lw_journal *earlier;       /* or compared */
    int64_t bytes;
    char key[80];                           /* the first that differs; "": none */
    char was[200], is[200];
};

static void visit_option(const struct lw_option *option, const char *value, void *context)
{
    struct visitor *const visitor = context;
    char key[80];
    if (option->is_neutral)
        return;
    snprintf(key, sizeof key, "--%s%s%s", option->within ? option->within : option->name, option->within ? ", " : "",
             option->within ? option->word : "");
    visitor->take(visitor, key, value ? value : "");
}

static void visit_all(const struct lw_setup *setup, struct visitor *visitor)
{
    char architecture[128];
    const int used = snprintf(architecture, sizeof architecture, "%s ", setup->engine->ops->name);
    setup->engine->ops->architecture(setup->engine, architecture + used, sizeof architecture - (size_t)used);
    visitor->take(visitor, "version", LW_VERSION " " LW_COMMIT);
    visitor->take(visitor, "job", setup->job.ops->name);
    visitor->take(visitor, "processor or GPU", architecture);
    visitor->take(visitor, "algorithm", setup->algorithm);
    char value[LW_MAX_PATH + 128];
    for (int i = 0; i < setup->job.n_inputs; i++) {
        const struct lw_dataset_info *const info = &setup->job.inputs[i];
        snprintf(value, sizeof value, "%.*s, %" PRId64 " bytes, modified %" PRId64 ".%09" PRId64, LW_MAX_PATH,
                 lw_dataset_name(info).text, info->file_bytes, info->modified_ns / 1000000000, info->modified_ns % 1000000000);
        visitor->take(visitor, setup->job.input_names[i], value);
    }
    lw_options_each(setup->options, visit_option, visitor);
}

/* ---- written ------------------------------------------------------------------------------------------------------------- */

static void count(struct visitor *visitor, const char *key, const char *value)
{
    visitor->bytes += (int64_t)(strlen(key) + 4 * strlen(value) + sizeof " = \n");
}

int64_t lw_identity_bytes(const struct lw_setup *setup)
{
    struct visitor visitor = {.take = count};
    visit_all(setup, &visitor);
    return visitor.bytes;
}

static void add(struct visitor *visitor, const char *key, const char *value)
{
    lw_journal_add(visitor->journal, key, value);
}

void lw_identity_add(const struct lw_setup *setup, struct lw_journal *journal)
{
    struct visitor visitor = {.take = add, .journal = journal};
    visit_all(setup, &visitor);
}

/* ---- compared -------------------------------------------------------------------------------------------------------------- */

static void keep(char into[200], const char *value)
{
    snprintf(into, 200, "%.160s%s", value[0] ? value : "not given", strlen(value) > 160 ? " ..." : "");
}

static void compare(struct visitor *visitor, const char *key, const char *value)
{
    const char *const was = lw_journal_find(visitor->earlier, key);
    if (visitor->key[0] || (was && strcmp(was, value) == 0))
        return;
    snprintf(visitor->key, sizeof visitor->key, "%s", key);
    keep(visitor->was, was ? was : "");
    keep(visitor->is, value);
}

int lw_identity_check(const struct lw_setup *setup, const struct lw_journal *journal, const char *result, struct lw_error *err)
{
    struct visitor visitor = {.take = compare, .earlier = journal};
    visit_all(setup, &visitor);
    if (!visitor.key[0])
        return LW_OK;
    return lw_fail(err, LW_ECONFIG,
                   "'%.300s' was begun by another run: %s was %s, and is %s; give what it had, to go on, or start over with "
                   "--resume never",
                   result, visitor.key, visitor.was, visitor.is);
}
