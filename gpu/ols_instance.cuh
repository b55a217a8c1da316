/* ols_instance.cuh - table entries for compiled overlap-save kernels; one .cu per segment length instantiates its own. */
#ifndef LW_OLS_INSTANCE_CUH
#define LW_OLS_INSTANCE_CUH

#include "ols_segments.cuh"

/* A transform together with how many of them a block works on. */
template <class Real, int E, int P, int TEAMS> struct Block : Transform<Real, E, P, Team<E * P, TEAMS>> {
    static constexpr int BLOCK = (E * P < 32 ? 32 : E * P) * TEAMS;
};

/* Real, E, P; BLOCKS an SM must hold (bounds the registers); DISCARD: outputs dropped, -1: given at run time */
template <class Real, int E, int P, int BLOCKS, int DISCARD, bool PAIRED, bool KEEP> OlsKernel ols_kernel()
{
    using F = Block<Real, E, P, 1>;
    OlsKernel k = {};
    k.precision = sizeof(Real) == 4 ? LW_SINGLE : LW_DOUBLE;
    k.layout = LW_TIME_FAST;
    k.segment = F::N;
    k.discard = DISCARD;
    k.paired = PAIRED;
    k.one_filter = !KEEP;
    k.side = E;
    k.groups = P;
    k.threads = F::BLOCK;
    k.teams = 1;
    k.blocks = BLOCKS;
    k.shared_bytes = F::BLOCK / F::T * F::SHARED_BYTES;
    k.kernel = ols_segments<F, BLOCKS, DISCARD, PAIRED, KEEP, StoreEpilogue>;
    return k;
}

/* both kinds of signal */
#define LW_OLS_BOTH(Real, E, P, BLOCKS, DISCARD, KEEP) \
    ols_kernel<Real, E, P, BLOCKS, DISCARD, false, KEEP>(), ols_kernel<Real, E, P, BLOCKS, DISCARD, true, KEEP>()

#define LW_OLS_LIST(list) {list, (int)(sizeof(list) / sizeof(list[0]))}

#endif
