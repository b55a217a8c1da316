#include "gpu/sfft/memory.h"

#include "base/integers.h"
#include "sfft/rules.h"

static int64_t window_half(const struct lw_sfft_plan *plan, int attempt)
{
    const struct lw_sfft_window_spec window = lw_sfft_plan_window(plan, attempt);
    return lw_sfft_window_half(&window);
}

int lw_sfft_table_bits(int64_t capacity, int64_t n_buckets)
{
    int bits = 5;
    while ((int64_t)1 << bits < 2 * (capacity + n_buckets))
        bits++;
    return bits;
}

struct lw_sfft_sizes lw_sfft_sizes_of(const struct lw_sfft_plan *plan)
{
    struct lw_sfft_sizes sizes = {.capacity = lw_sfft_capacity(plan), .sparsity = plan->spec.sparsity};
    for (int a = 0; a < plan->n_attempts; a++) {
        const struct lw_sfft_attempt *const attempt = &plan->attempts[a];
        const int64_t row = 2 * window_half(plan, a) + 1;
        const int n_planes = attempt->n_stages * attempt->n_shifts + 1;
        sizes.n_stages += attempt->n_stages + 1;
        sizes.n_planes += n_planes;
        sizes.n_buckets += (attempt->n_stages + 1) * attempt->n_buckets;
        sizes.n_values += n_planes * attempt->n_buckets;
        sizes.n_samples += n_planes * row;
        sizes.most_samples = lw_max64(sizes.most_samples, attempt->n_shifts * row);
    }
    sizes.table_bits = lw_sfft_table_bits(sizes.capacity, sizes.n_buckets);
    return sizes;
}

static void lay_out_lines(const struct lw_sfft_sizes *sizes, struct lw_arena *arena, struct lw_sfft_recovery *r)
{
    const int64_t n = sizes->capacity, of_stages = sizes->n_stages * n;
    for (int i = 0; i < 2; i++) {
        r->frequency[i] = lw_arena_take(arena, n * (int64_t)sizeof *r->frequency[i]);
        r->amplitude[i] = lw_arena_take(arena, n * (int64_t)sizeof *r->amplitude[i]);
    }
    r->keep = lw_arena_take(arena, n * (int64_t)sizeof *r->keep);
    r->bucket = lw_arena_take(arena, of_stages * (int64_t)sizeof *r->bucket);
    r->gain = lw_arena_take(arena, 3 * of_stages * (int64_t)sizeof *r->gain);
    r->phase = lw_arena_take(arena, sizes->n_planes * n * (int64_t)sizeof *r->phase);
    r->next = lw_arena_take(arena, of_stages * (int64_t)sizeof *r->next);
    r->row_line = lw_arena_take(arena, LW_SFFT_DEVICE_ROW * of_stages * (int64_t)sizeof *r->row_line);
    r->row_value = lw_arena_take(arena, LW_SFFT_DEVICE_ROW * of_stages * (int64_t)sizeof *r->row_value);
    r->diagonal = lw_arena_take(arena, n * (int64_t)sizeof *r->diagonal);
    r->residue = lw_arena_take(arena, n * (int64_t)sizeof *r->residue);
    r->image[0] = lw_arena_take(arena, n * (int64_t)sizeof *r->image[0]);
    r->image[1] = lw_arena_take(arena, n * (int64_t)sizeof *r->image[1]);
    r->direction = lw_arena_take(arena, n * (int64_t)sizeof *r->direction);
    r->direction_image = lw_arena_take(arena, n * (int64_t)sizeof *r->direction_image);
    r->direction_image_image = lw_arena_take(arena, n * (int64_t)sizeof *r->direction_image_image);
}

void lw_sfft_memory_lay_out(const struct lw_sfft_plan *plan, struct lw_arena *arena, struct lw_sfft_memory *memory)
{
    const struct lw_sfft_sizes sizes = lw_sfft_sizes_of(plan);
    struct lw_sfft_recovery *const r = &memory->recovery;
    memory->stages = lw_arena_take(arena, sizes.n_stages * (int64_t)sizeof *memory->stages);
    for (int a = 0; a < plan->n_attempts; a++) {
        memory->taps[a] = lw_arena_take(arena, (2 * window_half(plan, a) + 1) * (int64_t)sizeof(double));
        memory->response[a] = lw_arena_take(arena, LW_SFFT_RESPONSE_SIZE * (int64_t)sizeof(double));
        memory->roots[a] = lw_arena_take(arena, plan->attempts[a].n_buckets * (int64_t)sizeof(double2));
    }
    memory->rows = lw_arena_take(arena, sizes.n_samples * (int64_t)sizeof *memory->rows);
    memory->values = lw_arena_take(arena, sizes.n_values * (int64_t)sizeof *memory->values);
    const int64_t slots = (int64_t)1 << sizes.table_bits;
    r->rest = lw_arena_take(arena, 2 * sizes.n_values * (int64_t)sizeof *r->rest);
    r->energies = lw_arena_take(arena, sizes.n_buckets * (int64_t)sizeof *r->energies);
    const int64_t of_blocks = sizes.n_buckets + LW_SFFT_DEVICE_BLOCKS * LW_SFFT_DEVICE_THREADS;     /* rounded up for each block */
    r->candidates = lw_arena_take(arena, of_blocks * (int64_t)sizeof *r->candidates);
    r->head = lw_arena_take(arena, sizes.n_buckets * (int64_t)sizeof *r->head);
    r->key = lw_arena_take(arena, slots * (int64_t)sizeof *r->key);
    r->claim = lw_arena_take(arena, slots * (int64_t)sizeof *r->claim);
    r->line = lw_arena_take(arena, slots * (int64_t)sizeof *r->line);
    lay_out_lines(&sizes, arena, r);
    r->control = lw_arena_take(arena, sizeof *r->control);
    r->result = lw_arena_take(arena, sizeof *r->result);
    r->lines = lw_arena_take(arena, sizes.sparsity * (int64_t)sizeof *r->lines);
    r->stages = memory->stages;
    r->values = memory->values;
    r->n = plan->spec.n;
    r->sparsity = plan->spec.sparsity;
    r->min_magnitude = plan->spec.min_magnitude;
    r->tolerance = plan->window.tolerance;
    r->is_real = plan->spec.is_real;
    r->capacity = sizes.capacity;
}

/* Median of a bucket's energy in noise of mean energy 1: the mean of D exponential variables, about 1 - 1 / (3 D). */
static double median_of_energies(int n_shifts) { return n_shifts == 1 ? M_LN2 : 1 - 1.0 / (3 * n_shifts); }

struct lw_sfft_device_stage lw_sfft_memory_stage(const struct lw_sfft_memory *memory, const struct lw_sfft_layout *layout,
                                                int s, const struct lw_sfft_device_stage *last)
{
    const struct lw_sfft_stage *const stage = &layout->stages[s];
    const int attempt = lw_sfft_attempt_of(layout, s);
    struct lw_sfft_device_stage on_device = {
        .n = stage->spec.n, .n_buckets = stage->spec.n_buckets, .inverse_n = 1 / (double)stage->spec.n,
        .inverse_n_buckets = 1 / (double)stage->spec.n_buckets, .inverse_n_shifts = 1 / (double)stage->spec.n_shifts,
        .sigma = stage->sigma, .sigma_inverse = stage->sigma_inverse, .tau = stage->tau,
        .half = stage->window->half, .window = attempt, .n_shifts = stage->spec.n_shifts, .first_plane = layout->first_plane[s],
        .window_energy = stage->window->energy,
        .noise_per_energy = 1 / (median_of_energies(stage->spec.n_shifts) * stage->window->energy),
        .taps = memory->taps[attempt], .response = memory->response[attempt],
    };
    for (int d = 0; d < stage->spec.n_shifts; d++) {
        on_device.shift[d] = stage->shift[d];
        on_device.inverse_shift[d] = stage->shift[d] > 0 ? 1 / (double)stage->shift[d] : 0;
    }
    const double count = stage->spec.n_shifts;
    on_device.spread = stage->window->energy * (count + LW_SFFT_SPREAD * sqrt(count));
    if (count > 1)
        on_device.least = stage->window->energy * count * pow(lw_sfft_stage_least_amplitude(stage), 2);
    if (last) {
        on_device.first_bucket = last->first_bucket + last->n_buckets;
        on_device.first_value = last->first_value + last->n_shifts * last->n_buckets;
        on_device.first_sample = last->first_sample + last->n_shifts * (2 * last->half + 1);
    }
    return on_device;
}
