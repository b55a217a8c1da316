#include "io/hdf5/shape.h"

int lw_hdf5_shape(hid_t dataset, hsize_t dims[H5S_MAX_RANK])
{
    const hid_t space = H5Dget_space(dataset);
    const int n_dims = H5Sget_simple_extent_dims(space, dims, NULL);
    H5Sclose(space);
    return n_dims;
}

hsize_t lw_hdf5_length(hid_t dataset)
{
    hsize_t dims[H5S_MAX_RANK] = {0};
    return lw_hdf5_shape(dataset, dims) == 1 ? dims[0] : 0;
}

bool lw_hdf5_is_all_there(hid_t dataset)
{
    const hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    hsize_t needed = H5Tget_size(type);
    H5Sclose(space);
    H5Tclose(type);
    return count >= 0 && !__builtin_mul_overflow(needed, (hsize_t)count, &needed) && H5Dget_storage_size(dataset) >= needed;
}

bool lw_hdf5_read_list(hid_t dataset, hid_t type, hsize_t first, hsize_t stride, hsize_t count, void *into)
{
    hsize_t dims[H5S_MAX_RANK], starts[H5S_MAX_RANK], strides[H5S_MAX_RANK], counts[H5S_MAX_RANK];
    const int n_dims = lw_hdf5_shape(dataset, dims);
    for (int d = 0; d < n_dims; d++) {
        const bool is_its = n_dims == 1 || dims[d] != 1;
        starts[d] = is_its ? first : 0;
        strides[d] = is_its ? stride : 1;
        counts[d] = is_its ? count : 1;
    }
    const hid_t stored = H5Dget_space(dataset), memory = H5Screate_simple(1, &count, NULL);
    const bool done = H5Sselect_hyperslab(stored, H5S_SELECT_SET, starts, strides, counts, NULL) >= 0 &&
                      H5Dread(dataset, type, memory, stored, H5P_DEFAULT, into) >= 0;
    H5Sclose(memory);
    H5Sclose(stored);
    return done;
}
