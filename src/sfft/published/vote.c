#include "sfft/published/steps.h"

#include "sfft/number.h"

#include <stdlib.h>

/* Frequencies between the one that gets a vote and the one whose votes are asked for. */
enum { AHEAD = 16 };

/* The first permuted frequency of bucket b, ceil((2 b - 1) n / (2 B)): negative for b = 0. */
static int64_t first_of(const struct lw_sfft_stage *loop, int64_t b)
{
    const int64_t n = loop->spec.n, twice = 2 * loop->spec.n_buckets, edge = 2 * b - 1;
    const int64_t part = edge * (n % twice);
    return edge * (n / twice) + (part > 0 ? (part + twice - 1) / twice : part / twice);
}

/* A walk through the frequencies of a bucket votes for them and counts those that now have enough votes; a second walk lists
 * these. */
struct walk {
    struct lw_published_ballot *ballot;
    bool is_listing;
    int64_t found;
    int64_t place;                  /* in the list, of the next one */
};

static inline void visit(struct walk *walk, int64_t f)
{
    struct lw_published_ballot *const ballot = walk->ballot;
    if (f >= ballot->n_frequencies)
        return;
    if (!walk->is_listing) {
        walk->found += ++ballot->votes[f] == ballot->needed;
    } else if (ballot->votes[f] == ballot->needed) {
        if (walk->place < ballot->capacity)
            ballot->elected[walk->place] = f;
        walk->place++;
    }
}

static void walk_all(struct walk *walk, const struct lw_sfft_stage *loop, int64_t first, int64_t end)
{
    const int64_t n = loop->spec.n, step = loop->sigma_inverse;
    int64_t f = lw_mod_multiply(step, lw_mod(first, n), n);
    int64_t ahead = lw_mod_add(f, lw_mod_multiply(step, AHEAD % n, n), n);
    for (int64_t permuted = first; permuted < end; permuted++) {
        if (ahead < walk->ballot->n_frequencies)
            __builtin_prefetch(walk->ballot->votes + ahead, 1);
        visit(walk, f);
        f = lw_mod_add(f, step, n);
        ahead = lw_mod_add(ahead, step, n);
    }
}

/* The index of the first permuted residue that is not below `least`. */
static int64_t residue_from(const struct lw_published_comb *comb, int64_t least)
{
    int64_t low = 0, high = comb->count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (comb->permuted[middle] < least)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The comb's size divides n, so the residues of permuted frequencies are permuted residues. */
static void walk_comb(struct walk *walk, const struct lw_sfft_stage *loop, const struct lw_published_comb *comb, int64_t first,
                      int64_t end)
{
    const int64_t n = loop->spec.n;
    int64_t base = first - lw_mod(first, comb->size), r = residue_from(comb, first - base);
    for (; base < end; base += comb->size, r = 0) {
        for (; r < comb->count && base + comb->permuted[r] < end; r++) {
            const int64_t permuted = lw_mod(base + comb->permuted[r], n);
            visit(walk, lw_mod_multiply(loop->sigma_inverse, permuted, n));
        }
    }
}

static void walk_bucket(struct walk *walk, const struct lw_sfft_stage *loop, const struct lw_published_comb *comb, int64_t b)
{
    const int64_t first = first_of(loop, b), end = first_of(loop, b + 1);
    if (comb->size > 0)
        walk_comb(walk, loop, comb, first, end);
    else
        walk_all(walk, loop, first, end);
}

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void lw_published_vote(struct lw_published_ballot *ballot, const struct lw_sfft_stage *loop,
                       const struct lw_published_comb *comb, const int64_t *places, int64_t n_places)
{
    for (int64_t r = 0; comb->size > 0 && r < comb->count; r++)
        comb->permuted[r] = lw_mod_multiply(loop->sigma % comb->size, comb->approved[r], comb->size);
    if (comb->size > 0)
        qsort(comb->permuted, (size_t)comb->count, sizeof *comb->permuted, by_value);
    #pragma omp parallel for num_threads(ballot->n_threads) schedule(static)
    for (int64_t i = 0; i < n_places; i++) {
        struct walk walk = {.ballot = ballot};
        walk_bucket(&walk, loop, comb, places[i]);
        ballot->counts[i] = walk.found;
    }
    int64_t sum = ballot->n_elected;
    for (int64_t i = 0; i < n_places; i++) {
        const int64_t count = ballot->counts[i];
        ballot->counts[i] = count > 0 ? sum : -1;
        sum += count;
    }
    ballot->n_elected = sum;
    #pragma omp parallel for num_threads(ballot->n_threads) schedule(static)
    for (int64_t i = 0; i < n_places; i++) {
        struct walk walk = {.ballot = ballot, .is_listing = true, .place = ballot->counts[i]};
        if (walk.place >= 0)
            walk_bucket(&walk, loop, comb, places[i]);
    }
}
