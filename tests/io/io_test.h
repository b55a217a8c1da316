/* io_test.h - helpers of the tests of files: a temporary folder, predictable sample bytes, every sample type. */
#pragma once

#include "../check.h"
#include "base/type.h"
#include "comm/comm.h"

#include <hdf5.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Rank 0 makes a new folder, and all ranks get its name; "": it cannot be made. */
static inline void make_folder(struct lw_comm *comm, char folder[256])
{
    if (lw_comm_rank(comm) == 0) {
        const char *const parent = getenv("TMPDIR");
        snprintf(folder, 256, "%s/lapwing-io-XXXXXX", parent ? parent : "/tmp");
        if (!mkdtemp(folder))
            folder[0] = '\0';
    }
    lw_comm_broadcast(comm, folder, 256);
}

/* Byte number `index` of the test data: a hash, so that a misplaced sample is noticed. */
static inline unsigned char test_byte(uint64_t index)
{
    index = (index ^ (index >> 31)) * 0x9e3779b97f4a7c15u;
    return (unsigned char)(index >> 56);
}

static inline void fill_bytes(void *data, uint64_t first, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ((unsigned char *)data)[i] = test_byte(first + i);
}

/* Every sample type in both byte orders. */
#define N_TEST_TYPES (2 * (LW_N_SCALARS + 2))

static inline struct lw_type test_type(int number)
{
    const int kind = number / 2;
    struct lw_type type = {.scalar = (enum lw_scalar)kind, .is_swapped = number % 2};
    if (kind >= LW_N_SCALARS)
        type = (struct lw_type){.scalar = kind == LW_N_SCALARS ? LW_FLOAT32 : LW_FLOAT64, .is_complex = true,
                                .is_swapped = number % 2};
    if (lw_scalar_bytes(type.scalar) == 1)
        type.is_swapped = false;
    return type;
}

/* HDF5's own handle of a scalar type; do not close it. */
static inline hid_t test_scalar(enum lw_scalar scalar, bool big)
{
    switch (scalar) {
    case LW_INT8: return big ? H5T_STD_I8BE : H5T_STD_I8LE;
    case LW_UINT8: return big ? H5T_STD_U8BE : H5T_STD_U8LE;
    case LW_INT16: return big ? H5T_STD_I16BE : H5T_STD_I16LE;
    case LW_UINT16: return big ? H5T_STD_U16BE : H5T_STD_U16LE;
    case LW_INT32: return big ? H5T_STD_I32BE : H5T_STD_I32LE;
    case LW_FLOAT32: return big ? H5T_IEEE_F32BE : H5T_IEEE_F32LE;
    default: return big ? H5T_IEEE_F64BE : H5T_IEEE_F64LE;
    }
}

/* The stored type, made without the code under test. `naming` selects the names of a complex type's members. */
static inline hid_t test_hdf5_type(struct lw_type type, int naming)
{
    static const char *const names[3][2] = {{"r", "i"}, {"re", "im"}, {"real", "imag"}};
    const uint16_t probe = 1;
    const bool is_big = (*(const uint8_t *)&probe == 0) != type.is_swapped;
    const hid_t part = test_scalar(type.scalar, is_big);
    if (!type.is_complex)
        return H5Tcopy(part);
    const hid_t compound = H5Tcreate(H5T_COMPOUND, 2 * H5Tget_size(part));
    H5Tinsert(compound, names[naming % 3][0], 0, part);
    H5Tinsert(compound, names[naming % 3][1], H5Tget_size(part), part);
    return compound;
}

/* HDF5 numbers the handles of a kind in order: a handle after the mark that is still valid was not closed. */
struct handle_mark {
    hid_t space, list, type;
};

static inline struct handle_mark mark_handles(void)
{
    return (struct handle_mark){H5Screate(H5S_SCALAR), H5Pcreate(H5P_DATASET_XFER), H5Tcopy(H5T_NATIVE_INT)};
}

static inline int count_handles(hid_t after, hid_t before)
{
    int open = 0;
    for (hid_t id = after + 1; id < before; id++)
        open += H5Iis_valid(id) > 0;
    return open;
}

static inline void check_handles(struct handle_mark start)
{
    const struct handle_mark end = mark_handles();
    const int spaces = count_handles(start.space, end.space), lists = count_handles(start.list, end.list);
    const int types = count_handles(start.type, end.type);
    const int objects = (int)H5Fget_obj_count(
        (hid_t)H5F_OBJ_ALL, H5F_OBJ_FILE | H5F_OBJ_DATASET | H5F_OBJ_GROUP | H5F_OBJ_ATTR);
    CHECK(end.space > start.space && spaces + lists + types + objects == 0,
          "left open: %d dataspaces, %d property lists, %d types, %d files and objects", spaces, lists, types, objects);
}

/* Combine the verdicts of all ranks. */
static inline int test_end(struct lw_comm *comm, const char *name)
{
    const int failed = check_result(name);
    const int any = (int)lw_comm_max(comm, failed);
    lw_comm_stop(comm);
    return any;
}
