/* clang.h - replacements for features that the program uses and clang 14 lacks: GCC's __builtin_shuffle, and CMPLX and CMPLXF,
 * which glibc defines for GCC only. A build by clang includes this file before every source. */
#pragma once

#define CMPLX(re, im) __builtin_complex((double)(re), (double)(im))
#define CMPLXF(re, im) __builtin_complex((float)(re), (float)(im))

/* The sums v + v serve only to drop `const` from the type. __VA_ARGS__ takes an order that is a compound literal, since its
 * commas would separate arguments. */
#define __builtin_shuffle(a, b, ...) SHUFFLE_##__VA_OPT__(TWO)(a, b, __VA_ARGS__)

#define SHUFFLE_(v, order, ...)                                                          \
    __extension__({                                                                      \
        const __typeof__(v) in_ = (v);                                                   \
        __typeof__((v) + (v)) out_ = in_;                                                \
        for (unsigned i_ = 0; i_ < sizeof in_ / sizeof in_[0]; i_++)                     \
            out_[i_] = in_[(unsigned)(order)[i_] % (sizeof in_ / sizeof in_[0])];        \
        out_;                                                                            \
    })

#define SHUFFLE_TWO(a, b, ...)                                                           \
    __extension__({                                                                      \
        const __typeof__(a) in_[2] = {(a), (b)};                                         \
        const __typeof__(__VA_ARGS__) from_ = (__VA_ARGS__);                             \
        const unsigned n_ = sizeof in_[0] / sizeof in_[0][0];                            \
        __typeof__((a) + (a)) out_ = in_[0];                                             \
        for (unsigned i_ = 0; i_ < n_; i_++)                                             \
            out_[i_] = in_[(unsigned)from_[i_] / n_ % 2][(unsigned)from_[i_] % n_];      \
        out_;                                                                            \
    })
