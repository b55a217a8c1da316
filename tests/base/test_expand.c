/* test_expand.c - tests of ${VARIABLE} and {PLACE} in texts: every form, every error, and a buffer that is too short. */
#include "../check.h"
#include "base/memory.h"
#include "options/words.h"

#include <stdio.h>
#include <string.h>

static const char *variable(const char *name, const void *context)
{
    static const char *const set[][2] = {{"DATA", "/data"}, {"_x9", "nine"}, {"EMPTY", ""}, {"ODD", "${DATA} \\# ; \\${"}};
    CHECK(strcmp(context, "test") == 0, "the function gets another context");
    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        if (strcmp(name, set[i][0]) == 0)
            return set[i][1];
    return NULL;
}

static void test_variables(void)
{
    static const char *const cases[][2] = {
        {"", ""},
        {"plain $DATA $ {DATA} }", "plain $DATA $ {DATA} }"},
        {"${DATA}", "/data"},
        {"${DATA}/${_x9}.h5:/a", "/data/nine.h5:/a"},
        {"<${EMPTY}>", "<>"},
        {"${NONE:-}", ""},
        {"${NONE:-a b:-{$}", "a b:-{$"},
        {"${EMPTY:-default}", "default"},
        {"${DATA:-default}}", "/data}"},
        {"${ODD}", "${DATA} \\# ; \\${"},
        {"\\${DATA}", "${DATA}"},
        {"\\\\${DATA}", "\\${DATA}"},
        {"a \\# \\; \\x \\", "a # ; \\x \\"},
        {"\\$DATA", "\\$DATA"},
    };
    char out[64];
    struct lw_error err;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int rc = lw_expand_variables(cases[i][0], variable, "test", "here", out, sizeof out, &err);
        CHECK(rc == LW_OK && strcmp(out, cases[i][1]) == 0, "'%s' became '%s'", cases[i][0], out);
    }
}

static void test_refused(void)
{
    static const char *const cases[][2] = {
        {"${NONE}", "here: the variable NONE is not set: set it (mpirun passes it on to other nodes with -x NONE), or write "
                    "${NONE:-default}"},
        {"a${", "here: a ${ has no }; if it is part of the value, write \\${"},
        {"${DATA", "here: a ${ has no }; if it is part of the value, write \\${"},
        {"${}", "here: '${}' is neither ${NAME} nor ${NAME:-default}; if it is part of the value, write \\${"},
        {"${9a}", "here: '${9a}' is neither ${NAME} nor ${NAME:-default}; if it is part of the value, write \\${"},
        {"${DATA-x}", "here: '${DATA-x}' is neither ${NAME} nor ${NAME:-default}; if it is part of the value, write \\${"},
        {"${DATA }", "here: '${DATA }' is neither ${NAME} nor ${NAME:-default}; if it is part of the value, write \\${"},
        {"${:-x}", "here: '${:-x}' is neither ${NAME} nor ${NAME:-default}; if it is part of the value, write \\${"},
    };
    char out[64];
    struct lw_error err;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK(lw_expand_variables(cases[i][0], variable, "test", "here", out, sizeof out, &err) == LW_EUSAGE, "'%s'", cases[i][0]);
        CHECK(strcmp(err.message, cases[i][1]) == 0, "'%s': '%s'", cases[i][0], err.message);
    }
    char name[300];
    snprintf(name, sizeof name, "${%0250d}", 0);
    name[2] = 'A';
    CHECK(lw_expand_variables(name, variable, "test", "here", out, sizeof out, &err) == LW_EUSAGE,
          "a variable's name of 250 letters is not refused");
}

/* The buffer has room for five characters and the null byte. */
static void test_room(void)
{
    char out[7] = "......";
    struct lw_error err;
    CHECK(lw_expand_variables("${DATA}", variable, "test", "here", out, 6, &err) == LW_OK, "a value that just fits");
    CHECK(strcmp(out, "/data") == 0, "'%s'", out);
    CHECK(lw_expand_variables("${DATA}", variable, "test", "here", out, 5, &err) == LW_EUSAGE,
          "a value longer than the buffer is not refused");
    CHECK(strcmp(err.message, "here: the value with its variables expanded is longer than 4 characters") == 0, "'%s'", err.message);
    CHECK(lw_expand_variables("123456", variable, "test", "here", out, 6, &err) == LW_EUSAGE,
          "a text longer than the buffer is not refused");
    CHECK(lw_expand_variables("${NONE:-123456}", variable, "test", "here", out, 6, &err) == LW_EUSAGE,
          "a default longer than the buffer is not refused");
    CHECK(out[6] == '\0', "a byte was written beyond the buffer");
}

static void check_home(const char *text, const char *home, const char *expected)
{
    char *out = NULL;
    struct lw_error err;
    const int rc = lw_expand_home(text, home, "--input", &out, &err);
    CHECK(expected ? rc == LW_OK && out && strcmp(out, expected) == 0 : rc == LW_EUSAGE && !out, "'%s' became '%s'", text,
          out ? out : "nothing");
    lw_free(out);
}

static void test_home(void)
{
    check_home("~/a.h5:/b", "/home/me", "/home/me/a.h5:/b");
    check_home("~", "/home/me", "/home/me");
    check_home("~other/a", "/home/me", "~other/a");
    check_home("a/~/b", "/home/me", "a/~/b");
    check_home("", NULL, "");
    check_home("a", NULL, "a");
    check_home("~/a", NULL, NULL);
    check_home("~/a", "", NULL);
}

static void check_homes(const char *text, const char *home, const char *expected)
{
    char *out = NULL;
    struct lw_error err;
    const int rc = lw_expand_homes(text, home, "--input", &out, &err);
    CHECK(expected ? rc == LW_OK && out && strcmp(out, expected) == 0 : rc == LW_EUSAGE && !out, "'%s' became '%s'", text,
          out ? out : "nothing");
    lw_free(out);
}

static void test_homes(void)
{
    check_homes("~/a.h5:/b ~/c  d ~", "/home/me", "/home/me/a.h5:/b /home/me/c d /home/me");
    check_homes("a\\ b\\\\c ~/d\\ e", "/home/my self", "a\\ b\\\\c /home/my\\ self/d\\ e");
    check_homes("@~/list a@~/b ~c", "/home/me", "@/home/me/list a@~/b ~c");
    check_homes("~~~~/ ~/~/~", "/h", "~~~~/ /h/~/~");
    check_homes("", NULL, "");
    check_homes("a b", NULL, "a b");
    check_homes("a ~/b", NULL, NULL);
}

int main(void)
{
    test_variables();
    test_refused();
    test_room();
    test_home();
    test_homes();
    return check_result("expand");
}
