/* sfft.h - the sparse Fourier transform of one signal: the few strong lines of its spectrum, from a small part of its samples.
 *
 *     lw_sfft_plan_make (pure) -> lw_sfft_layout_create -> lw_sfft_create -> for each channel and attempt:
 *         fill the planes of the attempt's stages from their samples -> lw_sfft_recover -> explained, or next attempt
 *
 * The layout is all that follows from the plan and the seed: who collects samples needs no more. What is here works on the
 * CPU; the cuda engine has its own way from a layout and samples to lines. engine/sparse.h is for both.
 *
 * A line is a coefficient X at frequency f of the unnormalised forward transform, X[f] = sum of x[t] exp(-2 pi i f t / n).
 * Stages locate lines by the phases between shifted copies of their buckets (sfft/stage.h); what has been found is
 * subtracted from all stages, which uncovers more (peeling); amplitudes are fitted to all buckets at once; and one stage
 * more, from samples that were not used so far, tells what is left unexplained. If that is more than noise, the next
 * attempt adds stages with fresh randomness and more buckets to those there are.
 *
 * Hassanieh, Indyk, Katabi, Price, "Nearly optimal sparse Fourier transform", STOC 2012 (permutation, flat window, location
 * by phase); Pawar, Ramchandran, "FFAST", IEEE Trans. IT 2018 (peeling over stages).
 *
 * No MPI, no files, no engine: whoever calls brings the samples. Everything is a function of the spec and the samples: the
 * same on every rank and for any number of threads. */
#pragma once

#include "base/linkage.h"
#include "base/type.h"
#include "sfft/stage.h"

LW_C_BEGIN

struct lw_sfft_spec {
    int64_t n;                      /* samples */
    bool is_real;                   /* then lines come in pairs f, n - f; only 0 .. n/2 is reported */
    int64_t sparsity;               /* lines (real: pairs) wanted at most, >= 1 */
    enum lw_precision precision;    /* leakage between lines: 1e-7 double, 1e-5 single */
    bool has_snr;
    bool is_estimated;              /* it was: then it says what to plan for, and is not held against the signal */
    double snr_db;                  /* signal to noise, per sample; only if has_snr */
    double min_magnitude;           /* lines below it are not reported */
    uint64_t seed;
    bool is_at_hand;                /* the signal lies in the memory of a device that transforms it: more samples are taken where
                                       that * shortens the search for lines */
    bool wants_spectrum;            /* the dense transform leaves all coefficients in place of the samples */
};

enum lw_sfft_algorithm { LW_SFFT_AUTO, LW_SFFT_SPARSE, LW_SFFT_DENSE, LW_SFFT_PUBLISHED /* sfft/published/published.h */ };

/** Frequencies that lines are reported at: 0 .. n - 1, or 0 .. n/2 of a real signal. */
static inline int64_t lw_sfft_n_frequencies(const struct lw_sfft_spec *spec) { return spec->is_real ? spec->n / 2 + 1 : spec->n; }

/** How often a reported line stands in the whole spectrum: a real signal's comes with its mirror image, but at 0 and n/2. */
static inline int lw_sfft_multiplicity(const struct lw_sfft_spec *spec, int64_t frequency)
{
    return spec->is_real && frequency > 0 && 2 * frequency < spec->n ? 2 : 1;
}

/** Bytes of all samples of a channel as the dense transform takes them: room for half the spectrum of a real signal. */
static inline int64_t lw_sfft_dense_samples_bytes(int64_t n, bool is_real)
{
    return (is_real ? n / 2 + 1 : n) * 2 * (int64_t)sizeof(double);
}

/** Bytes that FFTW takes for itself beside the n samples of a transform in place, at most, as measured. */
int64_t lw_sfft_fftw_bytes(int64_t n, bool is_real);

/* What is done about a signal that its lines do not explain. */
enum lw_sfft_fallback { LW_SFFT_FALL_DENSE, LW_SFFT_FALL_ERROR, LW_SFFT_FALL_PARTIAL };

struct lw_published_choice;

/* What a job asks for. */
struct lw_sfft_request {
    struct lw_sfft_spec spec;       /* of each channel, or of each piece of it */
    bool has_pieces;                /* --window: pieces of spec.n samples, each `hop` after the one before */
    int64_t n_pieces, hop;          /* else 1 and 0 */
    enum lw_sfft_algorithm algorithm;
    enum lw_sfft_fallback fallback;
    bool refines;                   /* lines are tones at any frequencies: sfft/tones/tones.h */
    const struct lw_published_choice *published;    /* of that algorithm, else NULL */
};

/* One attempt: stages that locate, and a stage of one shift that checks. */
struct lw_sfft_attempt {
    int64_t n_buckets;
    int n_stages;                   /* that locate */
    int n_shifts;
    int64_t samples;                /* all stages of this attempt */
};

struct lw_sfft_plan {
    struct lw_sfft_spec spec;
    struct lw_sfft_window_spec window;              /* n_buckets is left to the attempts */
    struct lw_sfft_attempt attempts[LW_SFFT_ATTEMPTS];
    int n_attempts;                 /* 0: more than n/4 samples would be touched, the dense transform is better */
};

/** Choose buckets, shifts and attempts. The attempts touch at most n/4 samples together. Where the signal-to-noise ratio is not
 * known, sfft/probe.h has a plan for the one that a few samples show. */
struct lw_sfft_plan lw_sfft_plan_make(const struct lw_sfft_spec *spec);

/** The window of an attempt; and the specs of all stages, attempt after attempt. @return  how many */
struct lw_sfft_window_spec lw_sfft_plan_window(const struct lw_sfft_plan *plan, int attempt);
int lw_sfft_plan_stages(const struct lw_sfft_plan *plan, struct lw_sfft_stage_spec specs[LW_SFFT_STAGES]);

/* Windows and stages of all attempts. */
struct lw_sfft_layout {
    struct lw_sfft_plan plan;
    struct lw_sfft_window *windows[LW_SFFT_ATTEMPTS];           /* owned */
    struct lw_sfft_stage stages[LW_SFFT_STAGES];
    int n_stages, n_planes;
    int first_plane[LW_SFFT_STAGES + 1];            /* of a stage; one plane of buckets for each shift */
};

int lw_sfft_layout_create(const struct lw_sfft_plan *plan, struct lw_sfft_layout **out, struct lw_error *err);
void lw_sfft_layout_destroy(struct lw_sfft_layout *layout);     /* NULL is legal */

/** Stages of attempt a are numbers a (n_stages + 1) .. (a + 1) (n_stages + 1) - 1, the last of which checks. */
int lw_sfft_first_stage(const struct lw_sfft_layout *layout, int attempt);

/** The attempt that a stage belongs to. */
int lw_sfft_attempt_of(const struct lw_sfft_layout *layout, int stage);

struct lw_sfft;

/** Buckets of all attempts, and what recovery works in.
 * @param layout  borrowed for the object's life */
int lw_sfft_create(const struct lw_sfft_layout *layout, int n_threads, struct lw_sfft **out, struct lw_error *err);
void lw_sfft_destroy(struct lw_sfft *sfft);                     /* NULL is legal */

/** Host bytes of a layout and of what recovers by it. */
int64_t lw_sfft_bytes(const struct lw_sfft_plan *plan);

/** Lines that recovery may hold at a time: a real signal needs its pairs, and some may turn out to be none. */
int64_t lw_sfft_capacity(const struct lw_sfft_plan *plan);

/** The planes [D][B] of a stage, to be filled with its buckets by whoever computes. */
double _Complex *lw_sfft_planes(struct lw_sfft *sfft, int stage, int shift);

struct lw_sfft_line {
    int64_t frequency;
    double re, im;                  /* X[f] */
    double offset;                  /* 0; of a tone at any frequency (sfft/tones/tones.h), that from f, bins */
};

struct lw_sfft_result {
    struct lw_sfft_line *lines;     /* [n_lines], by frequency; borrowed until the next call on the same object */
    int64_t n_lines;                /* at most spec.sparsity */
    int64_t n_found;                /* before the weakest were left out */
    bool is_noise;                  /* what they leave looks like noise, */
    bool is_explained;              /* and no line above the detection limit is missing */
    double residual;                /* energy that the reported lines leave, as part of the signal's, estimated */
    double noise_power;             /* variance of the white part of what is left, per sample */
    double detection_limit;         /* |X| that a line must have to be told from that noise */
};

/** Find the lines from the stages of attempts 0 .. attempt, all of which have been filled. */
void lw_sfft_recover(struct lw_sfft *sfft, int attempt, struct lw_sfft_result *result);

/** Lowest frequency first; strongest first, of equal ones that of the lower frequency. */
void lw_sfft_sort_by_frequency(struct lw_sfft_line *lines, int64_t count);
void lw_sfft_sort_by_magnitude(struct lw_sfft_line *lines, int64_t count);

/* What recovery has measured. Energies of buckets are means over their shifts. */
struct lw_sfft_figures {
    double power;                   /* of the signal, per sample, and of its noise */
    double noise_power;
    double check_energy, check_most;                /* of what is left in the check stage: sum over buckets, and largest */
    double energy_left_out;         /* of lines found and not reported, per sample */
};

/** Whether the lines of a result, its n_lines and lines, explain the signal, and how well: sets everything else in it but
 * n_found. Pure. */
void lw_sfft_judge(const struct lw_sfft_layout *layout, int attempt, const struct lw_sfft_figures *figures,
                   struct lw_sfft_result *result);

/** The two parts of that judgement. Energies of n_buckets buckets, their sum and the largest, may be those of noise that has
 * this variance in a bucket; */
bool lw_sfft_is_noise(double noise, int64_t n_buckets, double sum, double most);
/** and no line that is to be reported can have been missed, of a signal of that power per sample. */
bool lw_sfft_is_complete(const struct lw_sfft_spec *spec, double power, const struct lw_sfft_result *result);

LW_C_END
