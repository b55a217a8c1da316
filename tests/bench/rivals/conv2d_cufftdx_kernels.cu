/* conv2d_cufftdx_kernels.cu - kernels of one kind (DX_PART: 1 tiles, 2 rows, 3 columns) and exchange (DX_EXCHANGE, as in
 * ols_cufftdx_kernels.cu). build.sh compiles this file once for each pair. */
#if DX_EXCHANGE == 1
#define CUFFTDX_DETAIL_BLOCK_FFT_ENFORCE_X_TRANSPOSITION
#else
#define CUFFTDX_DETAIL_BLOCK_FFT_ENFORCE_XY_TRANSPOSITION
#endif
#include "conv2d_cufftdx.cuh"

#define STRING_(x) #x
#define STRING(x) STRING_(x)
#define TEXT(a, b, c) STRING(a) "/" STRING(b) "/" STRING(c) " x" STRING(DX_EXCHANGE)

template <int N, int POINTS, int ROWS, int BLOCKS, int DISCARD> static void add_tile(const char *text)
{
    constexpr int bytes = (int)DxComplex<N, POINTS, ROWS, true>::type::shared_memory_size + N * (N + 1) * 8;
    if constexpr (DISCARD % (N / POINTS) == 0 && 2 * DISCARD <= N && bytes <= 227 * 1024)
        dx_image_kernels().tiles.push_back({N, POINTS, ROWS, DISCARD, bytes, text,
                                            dx_tile<N, POINTS, ROWS, DX_EXCHANGE, BLOCKS, DISCARD>});
}

template <int N, int POINTS, int ROWS, int BLOCKS> static void add_tiles(const char *text)
{
    add_tile<N, POINTS, ROWS, BLOCKS, 8>(text);
    add_tile<N, POINTS, ROWS, BLOCKS, 16>(text);
    add_tile<N, POINTS, ROWS, BLOCKS, 32>(text);
    add_tile<N, POINTS, ROWS, BLOCKS, 64>(text);
}

template <int N, int POINTS, int FFTS> static void add_rows(const char *text)
{
    dx_image_kernels().rows.push_back({N, POINTS, FFTS, (int)DxReal<N, POINTS, FFTS, true>::type::shared_memory_size,
                                       (int)DxReal<N, POINTS, FFTS, false>::type::shared_memory_size, text,
                                       dx_rows_forward<N, POINTS, FFTS, DX_EXCHANGE>, dx_rows_back<N, POINTS, FFTS, DX_EXCHANGE>});
}

template <int N, int POINTS, int COLUMNS, int BLOCKS> static void add_columns(const char *text)
{
    constexpr int own = (int)DxComplex<N, POINTS, COLUMNS, true>::type::shared_memory_size;
    constexpr int turned = COLUMNS * (N + (COLUMNS == 8 ? 2 : 4)) * 8, bytes = own > turned ? own : turned;
    dx_image_kernels().columns.push_back({N, POINTS, COLUMNS, bytes, text, dx_columns<N, POINTS, COLUMNS, DX_EXCHANGE, BLOCKS>});
}

#define TILES(n, points, rows, blocks) add_tiles<n, points, rows, blocks>("tiles " TEXT(n, points, rows))
#define ROWS(n, points, ffts) add_rows<n, points, ffts>("rows " TEXT(n, points, ffts))
#define COLUMNS(n, points, at_once, blocks) add_columns<n, points, at_once, blocks>("columns " TEXT(n, points, at_once))

static const bool are_added = [] {
#if DX_PART == 1
    TILES(64, 8, 32, 1); TILES(64, 8, 32, 4); TILES(64, 8, 64, 2);
    TILES(128, 8, 64, 1); TILES(128, 16, 64, 1); TILES(128, 16, 32, 1);
#elif DX_PART == 2
    ROWS(512, 8, 4); ROWS(512, 16, 8); ROWS(1024, 8, 2); ROWS(1024, 16, 4); ROWS(2048, 8, 1); ROWS(2048, 16, 2);
#else
    COLUMNS(256, 16, 8, 1); COLUMNS(512, 8, 8, 2); COLUMNS(512, 16, 8, 3); COLUMNS(1024, 8, 4, 2); COLUMNS(1024, 16, 4, 3);
    COLUMNS(1024, 16, 8, 2); COLUMNS(2048, 8, 4, 1); COLUMNS(2048, 16, 4, 2);
#endif
    return true;
}();
