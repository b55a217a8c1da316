/* test_base.c - tests of error codes and messages, scalar types, half precision and checked memory. */
#include "../check.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/type.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void check_errors(void)
{
    struct lw_error err = {0};
    CHECK(lw_fail(&err, LW_EDATA, "value %d", 7) == LW_EDATA, "lw_fail returns another code than it was given");
    CHECK(err.code == 65 && strcmp(err.message, "value 7") == 0, "message '%s'", err.message);
    CHECK(lw_fail(NULL, LW_EIO, "ignored") == 74, "lw_fail with err = NULL returns another code than it was given");
    char big[3000];
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    lw_fail(&err, LW_EIO, "%s", big);
    CHECK(strlen(err.message) == sizeof err.message - 1, "cut at %zu", strlen(err.message));

    CHECK(!err.list[0] && lw_error_add(&err, "/a %d", 1) && lw_error_add(&err, "/b\nlapwing: \033") && lw_error_add(NULL, "none"),
          "adding lines to an error's list");
    CHECK(strcmp(err.list, "/a 1\n/b\\x0alapwing: \\x1b\n") == 0, "list '%s'", err.list);
    int n_lines = 2;
    while (lw_error_add(&err, "%.300s", big))
        n_lines++;
    CHECK(n_lines == 2 + (int)(sizeof err.list - 1 - 28) / 301 && err.list[strlen(err.list) - 1] == '\n', "%d lines", n_lines);
    lw_fail(&err, LW_EIO, "another");
    CHECK(!err.list[0], "a new error has the list of the one before");
}

static void check_types(void)
{
    char text[40];
    const struct lw_type complex_big = {LW_FLOAT64, true, true};
    CHECK(lw_type_bytes(complex_big) == 16, "%zu bytes", lw_type_bytes(complex_big));
    CHECK(strncmp(lw_type_text(complex_big, text), "complex float64 (", 17) == 0, "'%s'", text);
    enum lw_scalar scalar;
    for (int i = 0; i < LW_N_RESULT_SCALARS; i++) {
        lw_type_text((struct lw_type){.scalar = (enum lw_scalar)i}, text);
        CHECK(lw_scalar_parse(text, &scalar) && (int)scalar == i, "'%s' read back", text);
    }
    CHECK(!lw_scalar_parse("int64", &scalar), "int64 is not a sample type");
    CHECK(lw_scalar_is_integer(LW_INT32) && !lw_scalar_is_integer(LW_FLOAT32), "int32 must be an integer type, float32 must not");
    CHECK(lw_scalar_is_signed(LW_INT8) && !lw_scalar_is_signed(LW_UINT16) && lw_scalar_is_signed(LW_FLOAT64),
          "int8 must be signed, uint16 must not");
    CHECK(!lw_scalar_is_integer(LW_FLOAT16) && lw_scalar_is_signed(LW_FLOAT16) && lw_scalar_saturates(LW_FLOAT16) &&
          !lw_scalar_saturates(LW_FLOAT32) && lw_type_bytes((struct lw_type){LW_FLOAT16, true, false}) == 4,
          "properties of float16");
    CHECK(strcmp(LW_FLOATS(LW_SCALAR_TEXT, "|") "|" LW_INTEGERS(LW_SCALAR_TEXT, "|"),
                 "float32|float64|int8|uint8|int16|uint16|int32") == 0, "the list of all sample types");
}

/* Conversion to half precision at chosen numbers. tests/engine/ols.c tests the numbers next to the midpoints between halves. */
static void check_halves(void)
{
    static const struct {
        double number;
        uint16_t half;
    } cases[] = {{1, 0x3c00},
                 {-2, 0xc000},
                 {1.0 / 3, 0x3555},
                 {65504, 0x7bff},
                 {65519.999999999, 0x7bff},
                 {65520, 0x7c00},
                 {-1e300, 0xfc00},
                 {INFINITY, 0x7c00},
                 {-INFINITY, 0xfc00},
                 {0x1p-14, 0x0400},
                 {0x1.ff8p-15, 0x03ff},
                 {0x1.ffcp-15, 0x0400},
                 {0x1p-24, 0x0001},
                 {0x1p-25, 0x0000},
                 {0x1.0000000000001p-25, 0x0001},
                 {-1e-300, 0x8000},
                 {1 + 0x1p-11, 0x3c00},
                 {1 + 0x1p-11 + 0x1p-52, 0x3c01},
                 {1 + 0x1.8p-10 - 0x1p-52, 0x3c01},
                 {1 + 0x1.8p-10, 0x3c02}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint16_t half = lw_half_of_double(cases[i].number), rounded = lw_half_of_float((float)cases[i].number);
        CHECK(half == cases[i].half, "%.17g became %#x", cases[i].number, half);
        CHECK((double)(float)cases[i].number != cases[i].number || rounded == half, "%.17g became %#x", cases[i].number, rounded);
    }
    for (int half = 0; half < 1 << 16; half++) {
        uint16_t stored = (uint16_t)half;
        const double value = lw_half_value(stored);
        const bool is_nan = (half & 0x7fff) > 0x7c00;
        const uint16_t back = lw_half_of_double(value);
        CHECK(is_nan ? isnan(value) && (back & 0x7fff) > 0x7c00 : back == half, "%#x is %g, and %#x", half, value, back);
        CHECK(is_nan || back == lw_half_of_float((float)value), "%#x from a float", half);
        const double read = lw_type_number((struct lw_type){.scalar = LW_FLOAT16}, &stored, 0);
        CHECK(is_nan ? isnan(read) : read == value, "%#x read as %g", half, read);
    }
}

static void check_memory(void)
{
    struct lw_error err = {0};
    unsigned char *const memory = lw_alloc(1000, "test", &err);
    CHECK(memory && (uintptr_t)memory % LW_ALIGNMENT == 0, "memory is missing or misaligned");
    for (int i = 0; memory && i < 1000; i++)
        CHECK(memory[i] == 0, "byte %d is not zero", i);
    lw_free(memory);
    CHECK(!lw_alloc_array(INT64_MAX, 16, "far too much", &err) && err.code == LW_ESYSTEM,
          "an array of more than SIZE_MAX bytes is not refused");
    CHECK(strstr(err.message, "far too much"), "'%s'", err.message);
    CHECK(!lw_alloc_array(-1, 1, "negative", &err), "a negative count is not refused");

    char text[24];
    CHECK(strcmp(lw_bytes_text(1536, text), "1.5 KiB") == 0, "'%s'", text);
    CHECK(strcmp(lw_bytes_text(7, text), "7 B") == 0, "'%s'", text);

    const struct lw_memory_limit all = lw_memory_available();
    CHECK(all.bytes > 0 && all.source, "%lld bytes", (long long)all.bytes);
    setenv("SLURM_MEM_PER_NODE", "3", 1);
    struct lw_memory_limit granted = lw_memory_available();
    CHECK(granted.bytes == 3 << 20 && strcmp(granted.source, "Slurm's grant") == 0, "%lld", (long long)granted.bytes);
    setenv("SLURM_MEM_PER_NODE", "9223372036854775807", 1);
    granted = lw_memory_available();
    CHECK(granted.bytes > 0 && strcmp(granted.source, "Slurm's grant") != 0, "%lld", (long long)granted.bytes);
    unsetenv("SLURM_MEM_PER_NODE");
    setenv("SLURM_MEM_PER_CPU", "2", 1);
    setenv("SLURM_CPUS_ON_NODE", "4", 1);
    granted = lw_memory_available();
    CHECK(granted.bytes == 8 << 20, "%lld", (long long)granted.bytes);
    const int64_t resident = lw_memory_resident_bytes();
    CHECK(resident > 0 && lw_memory_peak_bytes() >= resident, "the peak is below the current resident memory");
}

int main(void)
{
    check_errors();
    check_types();
    check_halves();
    check_memory();
    return check_result("base");
}
