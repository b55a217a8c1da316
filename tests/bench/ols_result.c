/* ols_result.c - inspects results of lapwing ols on GPU machines without Python.
 *
 *   ols_result same A.h5 B.h5             difference of /filtered in two results; exit code 0 only for the same bits
 *   ols_result peak FILE.h5 BEGIN END     peak of sqrt(y0^2 + y1^2) over outputs BEGIN .. END - 1, for [2][time] results */
#include <hdf5.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct result {
    size_t n, bytes;            /* number of reals; bytes of one */
    hsize_t dims[4];
    void *data;
};

static void stop(const char *what, const char *file)
{
    fprintf(stderr, "ols_result: %s: %s\n", file, what);
    exit(2);
}

/* Read /filtered as reals of float32 or float64; a complex sample is two reals. */
static struct result read_result(const char *name)
{
    struct result r = {0};
    const hid_t file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t dataset = file < 0 ? -1 : H5Dopen2(file, "/filtered", H5P_DEFAULT);
    if (dataset < 0)
        stop("there is no /filtered", name);
    const hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    const bool is_complex = H5Tget_class(type) == H5T_COMPOUND;
    if (H5Sget_simple_extent_ndims(space) > 4)
        stop("more than 4 dimensions", name);
    H5Sget_simple_extent_dims(space, r.dims, NULL);
    r.bytes = H5Tget_size(type) / (is_complex ? 2 : 1);
    r.n = (size_t)H5Sget_simple_extent_npoints(space) * (is_complex ? 2 : 1);
    r.data = malloc(r.n * r.bytes);
    if (!r.data || H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, r.data) < 0)
        stop("cannot be read", name);
    H5Sclose(space);
    H5Tclose(type);
    H5Dclose(dataset);
    H5Fclose(file);
    return r;
}

static double value(const struct result *r, size_t i)
{
    return r->bytes == 8 ? ((const double *)r->data)[i] : (double)((const float *)r->data)[i];
}

static int same(const char *name_a, const char *name_b)
{
    const struct result a = read_result(name_a), b = read_result(name_b);
    if (a.n != b.n || a.bytes != b.bytes)
        stop("another shape or type", name_b);
    size_t n_different = 0;
    double difference = 0, norm = 0;
    for (size_t i = 0; i < a.n; i++) {
        n_different += memcmp((const char *)a.data + i * a.bytes, (const char *)b.data + i * b.bytes, a.bytes) != 0;
        const double d = value(&a, i) - value(&b, i);
        difference += d * d;
        norm += value(&a, i) * value(&a, i);
    }
    printf("%s, %s: %zu of %zu values differ, relative rms %.2e: %s\n", name_a, name_b, n_different, a.n,
           sqrt(difference / norm), n_different ? "not the same bits" : "the same bits");
    free(a.data);
    free(b.data);
    return n_different > 0;
}

static int peak(const char *name, size_t begin, size_t end)
{
    const struct result r = read_result(name);
    const size_t length = r.dims[1];
    if (r.dims[0] != 2 || r.n != 2 * length || end > length)
        stop("not [2][time] with that many outputs", name);
    size_t at = begin;
    double most = 0;
    for (size_t i = begin; i < end; i++) {
        const double snr = hypot(value(&r, i), value(&r, length + i));
        if (snr > most) {
            most = snr;
            at = i;
        }
    }
    printf("%s: peak of %.6f at sample %zu\n", name, most, at);
    free(r.data);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "same") == 0)
        return same(argv[2], argv[3]);
    if (argc == 5 && strcmp(argv[1], "peak") == 0)
        return peak(argv[2], strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10));
    fprintf(stderr, "usage: ols_result same A.h5 B.h5 | peak FILE.h5 BEGIN END\n");
    return 2;
}
