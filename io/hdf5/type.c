#include "io/hdf5/library.h"

#include "base/text.h"

#include <stdio.h>

static bool is_swapped(hid_t stored)
{
    return H5Tget_size(stored) > 1 && H5Tget_order(stored) != H5Tget_order(H5T_NATIVE_INT);
}

/* Make the type IEEE 754 binary16 in this machine's byte order, which HDF5 1.10 lacks. The caller closes it. */
static hid_t make_half(void)
{
    const hid_t type = H5Tcopy(H5T_NATIVE_FLOAT);
    if (type < 0 || (H5Tset_fields(type, 15, 10, 5, 0, 10) >= 0 && H5Tset_size(type, 2) >= 0 && H5Tset_ebias(type, 15) >= 0))
        return type;
    H5Tclose(type);
    return -1;
}

/* Return this machine's type for a scalar. Integers have 1, 2, 4 or 8 bytes, others 4 or 8. */
static hid_t native_type(enum lw_scalar scalar)
{
    const size_t bytes = lw_scalar_bytes(scalar);
    if (!lw_scalar_is_integer(scalar))
        return bytes == 4 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
    const bool is_signed = lw_scalar_is_signed(scalar);
    switch (bytes) {
    case 1: return is_signed ? H5T_NATIVE_INT8 : H5T_NATIVE_UINT8;
    case 2: return is_signed ? H5T_NATIVE_INT16 : H5T_NATIVE_UINT16;
    case 4: return is_signed ? H5T_NATIVE_INT32 : H5T_NATIVE_UINT32;
    default: return is_signed ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64;
    }
}

/* Make a scalar's type in the wanted byte order. The caller closes it. */
static hid_t ordered_type(enum lw_scalar scalar, bool swapped)
{
    const hid_t type = scalar == LW_FLOAT16 ? make_half() : H5Tcopy(native_type(scalar));
    const H5T_order_t native = H5Tget_order(H5T_NATIVE_INT);
    if (type >= 0 && swapped && lw_scalar_bytes(scalar) > 1)
        H5Tset_order(type, native == H5T_ORDER_LE ? H5T_ORDER_BE : H5T_ORDER_LE);
    return type;
}

/* HDF5 compares the whole types, so types that only look alike are refused: padded integers, floats with other exponents. */
static bool parse_scalar(hid_t stored, struct lw_type *out)
{
    const bool swapped = is_swapped(stored);
    for (int s = 0; s < LW_N_RESULT_SCALARS; s++) {
        LW_CLOSED const hid_t candidate = ordered_type((enum lw_scalar)s, swapped);
        if (H5Tequal(stored, candidate) > 0) {
            *out = (struct lw_type){.scalar = (enum lw_scalar)s, .is_swapped = swapped};
            return true;
        }
    }
    return false;
}

static bool member_is_named(hid_t compound, unsigned member, const char *name)
{
    char *const found = H5Tget_member_name(compound, member);
    const bool same = found && strcmp(found, name) == 0;
    H5free_memory(found);
    return same;
}

/* Return whether a compound has two floating-point members with one of the three pairs of names, the real part first. */
static bool has_complex_members(hid_t compound)
{
    static const char *const names[][2] = {{"r", "i"}, {"re", "im"}, {"real", "imag"}};

    if (H5Tget_class(compound) != H5T_COMPOUND || H5Tget_nmembers(compound) != 2 ||
        H5Tget_member_class(compound, 0) != H5T_FLOAT || H5Tget_member_class(compound, 1) != H5T_FLOAT)
        return false;
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        if (member_is_named(compound, 0, names[n][0]) && member_is_named(compound, 1, names[n][1]))
            return true;
    return false;
}

static bool parse_complex(hid_t stored, struct lw_type *out)
{
    if (!has_complex_members(stored))
        return false;

    struct lw_type parts[2];
    bool known = true;
    for (unsigned m = 0; m < 2; m++) {
        LW_CLOSED const hid_t member = H5Tget_member_type(stored, m);
        known = known && parse_scalar(member, &parts[m]);
    }
    if (!known || parts[0].scalar != parts[1].scalar || parts[0].is_swapped != parts[1].is_swapped)
        return false;

    const size_t part = lw_scalar_bytes(parts[0].scalar);
    if (H5Tget_member_offset(stored, 0) != 0 || H5Tget_member_offset(stored, 1) != part || H5Tget_size(stored) != 2 * part)
        return false;
    *out = parts[0];
    out->is_complex = true;
    return true;
}

/* Enumerations are taken as their numbers, because h5py stores booleans as enumerations. */
bool lw_hdf5_type_parse(hid_t stored, struct lw_type *out)
{
    LW_CLOSED const hid_t named = H5Tget_class(stored) == H5T_ENUM ? H5Tget_super(stored) : -1;
    return parse_scalar(stored, out) || (named >= 0 && parse_scalar(named, out)) || parse_complex(stored, out);
}

static hid_t complex_type(const char *real, const char *imaginary, hid_t part)
{
    const size_t bytes = H5Tget_size(part);
    const hid_t compound = H5Tcreate(H5T_COMPOUND, 2 * bytes);
    if (compound >= 0) {
        H5Tinsert(compound, real, 0, part);
        H5Tinsert(compound, imaginary, bytes, part);
    }
    return compound;
}

hid_t lw_hdf5_type_make(struct lw_type type)
{
    const hid_t part = ordered_type(type.scalar, type.is_swapped);
    if (part < 0 || !type.is_complex)
        return part;
    /* h5py takes {r, i} for a complex number, but numpy has no complex float16, so h5py could not read {r, i} of float16. */
    const bool is_half = type.scalar == LW_FLOAT16;
    const hid_t compound = complex_type(is_half ? "re" : "r", is_half ? "im" : "i", part);
    H5Tclose(part);
    return compound;
}

hid_t lw_hdf5_type_as_float64(hid_t stored, bool *is_complex)
{
    const H5T_class_t class = H5Tget_class(stored);
    *is_complex = has_complex_members(stored);
    if (class == H5T_INTEGER || class == H5T_FLOAT || class == H5T_ENUM)
        return H5Tcopy(H5T_NATIVE_DOUBLE);
    if (!*is_complex)
        return -1;

    /* HDF5 converts compounds member by member, matched by name. */
    char *const real = H5Tget_member_name(stored, 0);
    char *const imaginary = H5Tget_member_name(stored, 1);
    const hid_t type = real && imaginary ? complex_type(real, imaginary, H5T_NATIVE_DOUBLE) : -1;
    H5free_memory(real);
    H5free_memory(imaginary);
    return type;
}

static void number_text(hid_t stored, char *text, size_t size)
{
    const bool is_float = H5Tget_class(stored) == H5T_FLOAT;
    const char *const name = is_float ? "float" : H5Tget_sign(stored) == H5T_SGN_NONE ? "uint" : "int";
    const char *const order = !is_swapped(stored)                         ? ""
                              : H5Tget_order(stored) == H5T_ORDER_BE ? " (big endian)"
                                                                     : " (little endian)";
    snprintf(text, size, "%s%zu%s", name, H5Tget_precision(stored), order);
}

static void compound_text(hid_t stored, char *text, size_t size)
{
    const int n_members = H5Tget_nmembers(stored);
    snprintf(text, size, "compound {");
    for (int m = 0; m < n_members; m++) {
        char *const name = H5Tget_member_name(stored, (unsigned)m);
        lw_append(text, size, "%s%s", m ? ", " : "", name ? name : "?");
        H5free_memory(name);
    }
    lw_append(text, size, "}");
}

const char *lw_hdf5_type_text(hid_t stored, char *text, size_t size)
{
    static const char *const others[H5T_NCLASSES] = {
        [H5T_STRING] = "text", [H5T_ENUM] = "enumeration", [H5T_ARRAY] = "array", [H5T_VLEN] = "variable-length array",
        [H5T_REFERENCE] = "reference", [H5T_OPAQUE] = "opaque", [H5T_BITFIELD] = "bit field", [H5T_TIME] = "HDF5 time",
    };
    struct lw_type type;
    char known[40];
    const H5T_class_t class = H5Tget_class(stored);
    if (lw_hdf5_type_parse(stored, &type))
        snprintf(text, size, "%s", lw_type_text(type, known));
    else if (class == H5T_INTEGER || class == H5T_FLOAT)
        number_text(stored, text, size);
    else if (class == H5T_COMPOUND)
        compound_text(stored, text, size);
    else
        snprintf(text, size, "%s", class >= 0 && class < H5T_NCLASSES && others[class] ? others[class] : "unknown type");
    return text;
}
