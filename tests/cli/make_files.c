/* make_files.c - makes the unusual files that the command-line tests give to the program: make_files FOLDER writes
 * FOLDER/odd.h5. */
#include <hdf5.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1000, M = 9, F = 2 };

static hid_t check(hid_t id, const char *what)
{
    if (id < 0) {
        fprintf(stderr, "make_files: cannot make %s\n", what);
        exit(1);
    }
    return id;
}

static void make(hid_t file, const char *path, hid_t stored, hid_t memory, int n_dims, const hsize_t *dims, const void *data)
{
    const hid_t space = check(n_dims < 0 ? H5Screate(H5S_NULL) : H5Screate_simple(n_dims, dims, NULL), path);
    const hid_t dataset = check(H5Dcreate2(file, path, stored, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), path);
    if (data)
        check(H5Dwrite(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), path);
    H5Dclose(dataset);
    H5Sclose(space);
}

static void make_real(hid_t file, const char *path, int n_dims, const hsize_t *dims, const double *data)
{
    make(file, path, H5T_IEEE_F32LE, H5T_NATIVE_DOUBLE, n_dims, dims, data);
}

/* Write a smooth signal and filters, none of them symmetric. */
static void make_good(hid_t file)
{
    double signal[N], taps[F * M];
    for (int i = 0; i < N; i++)
        signal[i] = sin(0.01 * i * i) + 0.001 * i;
    for (int i = 0; i < F * M; i++)
        taps[i] = (double)(i * i % 7) - 2.5;
    make_real(file, "/signal", 1, (hsize_t[]){N}, signal);
    make_real(file, "/channels", 2, (hsize_t[]){4, N / 4}, signal);
    make_real(file, "/row", 2, (hsize_t[]){1, N}, signal);
    make_real(file, "/filters", 2, (hsize_t[]){F, M}, taps);
    make_real(file, "/group/deeper/taps", 1, (hsize_t[]){M}, taps);
    make_real(file, "/long_taps", 1, (hsize_t[]){N}, signal);
}

static void make_not_finite(hid_t file)
{
    double signal[N] = {1};
    signal[500] = NAN;
    make_real(file, "/nan_signal", 1, (hsize_t[]){N}, signal);
    signal[500] = INFINITY;
    make_real(file, "/inf_signal", 1, (hsize_t[]){N}, signal);
    make_real(file, "/nan_taps", 1, (hsize_t[]){3}, (double[]){1, NAN, 2});
    make_real(file, "/inf_taps", 2, (hsize_t[]){2, 2}, (double[]){1, 2, 3, -INFINITY});
}

static void make_wrong(hid_t file)
{
    const hid_t text = H5Tcopy(H5T_C_S1), pair = H5Tcreate(H5T_COMPOUND, 16);
    H5Tset_size(text, 8);
    H5Tinsert(pair, "x", 0, H5T_IEEE_F64LE);
    H5Tinsert(pair, "y", 8, H5T_IEEE_F64LE);
    make_real(file, "/scalar", 0, NULL, (double[]){1});
    make_real(file, "/cube", 3, (hsize_t[]){2, 3, 4}, NULL);
    make_real(file, "/five", 5, (hsize_t[]){1, 1, 1, 1, 2}, NULL);
    make_real(file, "/empty", 1, (hsize_t[]){0}, NULL);
    make_real(file, "/empty_channels", 2, (hsize_t[]){3, 0}, NULL);
    make(file, "/null", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, -1, NULL, NULL);
    make(file, "/text", text, text, 1, (hsize_t[]){4}, NULL);
    make(file, "/pair", pair, pair, 1, (hsize_t[]){4}, NULL);
    make(file, "/uint64", H5T_STD_U64LE, H5T_NATIVE_UINT64, 1, (hsize_t[]){4}, NULL);
    H5Tclose(text);
    H5Tclose(pair);
}

int main(int argc, char **argv)
{
    char path[4096];
    if (argc != 2 || snprintf(path, sizeof path, "%s/odd.h5", argv[1]) >= (int)sizeof path)
        return 2;
    const hid_t file = check(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), path);
    H5Gclose(check(H5Gcreate2(file, "/group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "/group"));
    H5Gclose(check(H5Gcreate2(file, "/group/deeper", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "/group/deeper"));
    make_good(file);
    make_not_finite(file);
    make_wrong(file);
    return H5Fclose(file) < 0;
}
