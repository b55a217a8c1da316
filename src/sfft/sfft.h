/* sfft.h - the sparse Fourier transform of one signal: the few strong lines of its spectrum, from a small part of its samples.
 *
 *     lw_sfft_plan_make (pure) -> lw_sfft_layout_create -> lw_sfft_create -> for each channel and attempt:
 *         fill the planes of the attempt's stages from their samples -> lw_sfft_recover -> explained, or next attempt
 *
 * The plan and the seed determine the layout, from which the samples to collect follow. lw_sfft_create and lw_sfft_recover work on
 * the CPU; the cuda engine has its own functions from a layout and samples to lines. engine/sparse.h is the interface of both.
 *
 * A line is a coefficient X at frequency f of the unnormalised forward transform, X[f] = sum of x[t] exp(-2 pi i f t / n). An
 * attempt has four steps. Stages locate lines by the phases between shifted copies of their buckets (sfft/stage.h). Each line
 * found is subtracted from all stages, which uncovers more lines (peeling). Then all amplitudes are fitted to all buckets at
 * once. One more stage, from samples not used so far, checks what is left unexplained. If more than noise is left, the next
 * attempt adds stages with new random numbers and more buckets.
 *
 * Hassanieh, Indyk, Katabi, Price, "Nearly optimal sparse Fourier transform", STOC 2012 (permutation, flat window, location by
 * phase); Pawar, Ramchandran, "FFAST", IEEE Trans. IT 2018 (peeling over stages).
 *
 * No MPI, files or engines: the caller supplies the samples. Every result is a function of the spec and the samples: the same on
 * every rank and for any number of threads. */
#pragma once

#include "base/type.h"
#include "sfft/stage.h"

LW_C_BEGIN

struct lw_sfft_spec {
    int64_t n;                      /* samples */
    bool is_real;                   /* real signal: lines come in pairs f, n - f, and only 0 .. n/2 is reported */
    int64_t sparsity;               /* most lines (real: pairs) to report, >= 1 */
    enum lw_precision precision;    /* sets the leakage between lines: 1e-7 in double, 1e-5 in single precision */
    bool has_snr;
    bool is_estimated;              /* snr_db is an estimate: used for planning, never to reject a result */
    double snr_db;                  /* signal-to-noise ratio per sample; only if has_snr */
    double min_magnitude;           /* lines with a smaller |X| are not reported */
    uint64_t seed;
    bool is_at_hand;                /* signal is in the memory of the device that transforms it: samples are cheap, and more of them
                                     * may shorten the search */
    bool wants_spectrum;            /* the dense transform leaves all coefficients in place of the samples */
};

enum lw_sfft_algorithm { LW_SFFT_AUTO, LW_SFFT_SPARSE, LW_SFFT_DENSE, LW_SFFT_PUBLISHED /* sfft/published/published.h */ };

/** Return the number of frequencies that can be reported: n (0 .. n - 1), or n/2 + 1 (0 .. n/2) for a real signal. */
static inline int64_t lw_sfft_n_frequencies(const struct lw_sfft_spec *spec) { return spec->is_real ? spec->n / 2 + 1 : spec->n; }

/** Return how often a reported line occurs in the spectrum: 2 for real signals (with its mirror image) except at 0 and n/2; else
 * 1. */
static inline int lw_sfft_multiplicity(const struct lw_sfft_spec *spec, int64_t frequency)
{
    return spec->is_real && frequency > 0 && 2 * frequency < spec->n ? 2 : 1;
}

/** Return the bytes of a channel's samples in the dense transform; a real signal needs room for half its spectrum. */
static inline int64_t lw_sfft_dense_samples_bytes(int64_t n, bool is_real)
{
    return (is_real ? n / 2 + 1 : n) * 2 * (int64_t)sizeof(double);
}

/** Return the most bytes, as measured, that FFTW allocates itself beside the n samples of a transform in place. */
int64_t lw_sfft_fftw_bytes(int64_t n, bool is_real);

/* Action if the lines do not explain the signal: dense transform, error, or a partial result. */
enum lw_sfft_fallback { LW_SFFT_FALL_DENSE, LW_SFFT_FALL_ERROR, LW_SFFT_FALL_PARTIAL };

struct lw_published_choice;

/* The request of a job. */
struct lw_sfft_request {
    struct lw_sfft_spec spec;       /* what is searched in each channel, or with --window in each piece */
    bool has_pieces;                /* --window: pieces of spec.n samples that begin `hop` samples apart */
    int64_t n_pieces, hop;          /* number of pieces, and samples from one to the next; 1 and 0 without --window */
    enum lw_sfft_algorithm algorithm;
    enum lw_sfft_fallback fallback;
    bool refines;                   /* report tones at any frequency instead of lines: sfft/tones/tones.h */
    const struct lw_published_choice *published;    /* choice for LW_SFFT_PUBLISHED, else NULL */
};

/* One attempt: stages that locate lines, and one stage of one shift that checks. */
struct lw_sfft_attempt {
    int64_t n_buckets;
    int n_stages;                   /* stages that locate */
    int n_shifts;
    int64_t samples;                /* samples of all stages of the attempt */
};

struct lw_sfft_plan {
    struct lw_sfft_spec spec;
    struct lw_sfft_window_spec window;              /* n_buckets is that of the attempt: lw_sfft_plan_window */
    struct lw_sfft_attempt attempts[LW_SFFT_ATTEMPTS];
    int n_attempts;                 /* 0: the dense transform is better: sparsity > n/16, or more than n/4 samples would be read */
};

/** Choose buckets, shifts and attempts. The attempts read at most n/4 samples together. For an unknown signal-to-noise ratio
 * sfft/probe.h estimates the ratio from a few samples and returns the plan for it. */
struct lw_sfft_plan lw_sfft_plan_make(const struct lw_sfft_spec *spec);

/** Return the window of an attempt. plan_stages: list the specs of all stages, attempt after attempt. @return  number of stages */
struct lw_sfft_window_spec lw_sfft_plan_window(const struct lw_sfft_plan *plan, int attempt);
int lw_sfft_plan_stages(const struct lw_sfft_plan *plan, struct lw_sfft_stage_spec specs[LW_SFFT_STAGES]);

/* Windows and stages of all attempts. */
struct lw_sfft_layout {
    struct lw_sfft_plan plan;
    struct lw_sfft_window *windows[LW_SFFT_ATTEMPTS];           /* owned */
    struct lw_sfft_stage stages[LW_SFFT_STAGES];
    int n_stages, n_planes;
    int first_plane[LW_SFFT_STAGES + 1];            /* first plane of each stage; a stage has a plane of buckets for each shift */
};

int lw_sfft_layout_create(const struct lw_sfft_plan *plan, struct lw_sfft_layout **out, struct lw_error *err);
void lw_sfft_layout_destroy(struct lw_sfft_layout *layout);     /* NULL is legal */

/** Return the first stage of an attempt. The stages of attempt a are a (n_stages + 1) .. (a + 1) (n_stages + 1) - 1; the last
 * checks. */
int lw_sfft_first_stage(const struct lw_sfft_layout *layout, int attempt);

/** Return the attempt to which a stage belongs. */
int lw_sfft_attempt_of(const struct lw_sfft_layout *layout, int stage);

struct lw_sfft;

/** Create the buckets of all attempts and the work arrays of recovery.
 * @param layout  borrowed for the object's life */
int lw_sfft_create(const struct lw_sfft_layout *layout, int n_threads, struct lw_sfft **out, struct lw_error *err);
void lw_sfft_destroy(struct lw_sfft *sfft);                     /* NULL is legal */

/** Return the host bytes of a layout and of its recovery object. */
int64_t lw_sfft_bytes(const struct lw_sfft_plan *plan);

/** Return the most lines that recovery may hold at a time: both lines of each real signal's pair, and lines that turn out false. */
int64_t lw_sfft_capacity(const struct lw_sfft_plan *plan);

/** Return a plane [B] of a stage, which the engine fills with buckets. */
double _Complex *lw_sfft_planes(struct lw_sfft *sfft, int stage, int shift);

struct lw_sfft_line {
    int64_t frequency;
    double re, im;                  /* X[f], real and imaginary part */
    double offset;                  /* distance from f in bins: 0, except for tones (sfft/tones/tones.h) */
};

struct lw_sfft_result {
    struct lw_sfft_line *lines;     /* [n_lines] by frequency; borrowed until the next call on the same object */
    int64_t n_lines;                /* number of lines, at most spec.sparsity */
    int64_t n_found;                /* lines found, including the weakest that were left out */
    bool is_noise;                  /* the rest (samples minus lines) looks like noise */
    bool is_explained;              /* is_noise, and no line above the detection limit can be missing */
    double residual;                /* estimated energy that the reported lines leave, as a part of the signal's energy */
    double noise_power;             /* variance of the white noise in the rest, per sample */
    double detection_limit;         /* least |X| that stands out from this noise */
};

/** Find the lines from the stages of attempts 0 .. attempt; the caller has filled all of them. */
void lw_sfft_recover(struct lw_sfft *sfft, int attempt, struct lw_sfft_result *result);

/** Sort by frequency, ascending; or by magnitude, descending, equal magnitudes by ascending frequency. */
void lw_sfft_sort_by_frequency(struct lw_sfft_line *lines, int64_t count);
void lw_sfft_sort_by_magnitude(struct lw_sfft_line *lines, int64_t count);

/* Measurements of recovery. Energies of buckets are means over their shifts. */
struct lw_sfft_figures {
    double power;                   /* mean |x|^2 per sample, of the signal and of its noise */
    double noise_power;
    double check_energy, check_most;                /* rest in the check stage: energy of all its buckets, and the largest */
    double energy_left_out;         /* energy of lines found but not reported, per sample */
};

/** Judge whether the lines of a result (its n_lines and lines) explain the signal, and how well. Sets all other members of the
 * result except n_found. Pure. */
void lw_sfft_judge(const struct lw_sfft_layout *layout, int attempt, const struct lw_sfft_figures *figures,
                   struct lw_sfft_result *result);

/** The two tests of lw_sfft_judge. The first: return whether the energies of n_buckets buckets, given by sum and largest, look like
 * noise with this variance in a bucket. */
bool lw_sfft_is_noise(double noise, int64_t n_buckets, double sum, double most);
/** The second: return whether no line to be reported can have been missed, for a signal with this power per sample. */
bool lw_sfft_is_complete(const struct lw_sfft_spec *spec, double power, const struct lw_sfft_result *result);

LW_C_END
