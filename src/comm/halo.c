#include "comm/halo.h"

#include "base/memory.h"
#include "comm/raw.h"

#include <assert.h>

enum { TAG = 1 };

struct lw_halo {
    struct lw_comm *comm;       /* borrowed */
    const struct lw_rounds *rounds;
    enum lw_layout layout;
    int64_t sample_bytes, n_inputs;
    int64_t length;             /* halo of one channel */

    char *carry;                /* packed: [n_channels][halo] or [halo][n_channels] */
    char *outgoing, *incoming;  /* packed messages; NULL: the halo is contiguous in a slot and needs no packing */

    MPI_Request *requests;
    int n_requests, max_requests;

    /* valid between lw_halo_begin and lw_halo_end */
    struct lw_block block;
    char *samples;
    int source;                 /* the rank that sends this rank's halo, or FROM_CARRY, or NOWHERE: it needs none */
    bool keeps_carry;
};

enum { FROM_CARRY = -1, NOWHERE = -2 };

/* Return the channels in the input of blocks of n_channels channels. */
static int64_t inputs(int64_t n_inputs, int64_t n_channels) { return n_inputs > 0 ? n_inputs : n_channels; }

int64_t lw_halo_round_bytes(const struct lw_halo_spec *spec)
{
    return spec->rounds->grid.halo * inputs(spec->n_inputs, spec->rounds->group) * spec->sample_bytes;
}

static bool sends_messages(const struct lw_rounds *rounds) { return rounds->split == LW_SPLIT_AXIS && rounds->n_ranks > 1; }

static bool needs_packing(const struct lw_halo_spec *spec)
{
    return sends_messages(spec->rounds) && spec->layout == LW_TIME_FAST && inputs(spec->n_inputs, spec->rounds->group) > 1;
}

/* Most requests of a round: for sending a tail to the next rank and the carry to rank 0, and receiving a halo, each in parts. */
static int request_count(const struct lw_halo_spec *spec) { return 3 * (int)(lw_halo_round_bytes(spec) / LW_MESSAGE_BYTES + 1); }

int64_t lw_halo_bytes(const struct lw_halo_spec *spec)
{
    return lw_halo_round_bytes(spec) * (needs_packing(spec) ? 3 : 1) + request_count(spec) * (int64_t)sizeof(MPI_Request) +
           (int64_t)sizeof(struct lw_halo);
}

/* Rank p sends its tail to rank p + 1; the rank that had the last slice of the round before sends the carry to rank 0. */
void lw_halo_traffic(const struct lw_halo_spec *spec, int64_t round, struct lw_traffic *traffic)
{
    const struct lw_rounds *const rounds = spec->rounds;
    if (rounds->grid.halo == 0 || !sends_messages(rounds))
        return;
    const bool goes_on = !lw_rounds_starts_axis(rounds, round) && lw_rounds_workers(rounds, round - 1) > 1;
    const int64_t n = lw_rounds_workers(rounds, round) - 1 + goes_on;
    const int64_t n_inputs = inputs(spec->n_inputs, lw_rounds_block(rounds, round, 0).n_channels);
    const int64_t bytes = rounds->grid.halo * n_inputs * spec->sample_bytes;
    traffic->messages += n * ((bytes + LW_MESSAGE_BYTES - 1) / LW_MESSAGE_BYTES);
    traffic->message_bytes += n * bytes;
    traffic->chain += n > 0;
}

int lw_halo_create(struct lw_comm *comm, const struct lw_halo_spec *spec, struct lw_halo **out, struct lw_error *err)
{
    struct lw_halo *const halo = *out = lw_alloc(sizeof *halo, "the halo exchange", err);
    if (!halo)
        return LW_ESYSTEM;
    halo->comm = comm;
    halo->rounds = spec->rounds;
    halo->layout = spec->layout;
    halo->sample_bytes = spec->sample_bytes;
    halo->n_inputs = spec->n_inputs;
    halo->length = spec->rounds->grid.halo;
    halo->max_requests = request_count(spec);

    const int64_t bytes = lw_halo_round_bytes(spec);
    if (!(halo->carry = lw_alloc_array(bytes, 1, "the carry", err)) ||
        !(halo->requests = lw_alloc_array(halo->max_requests, sizeof(MPI_Request), "halo requests", err)) ||
        (needs_packing(spec) && (!(halo->outgoing = lw_alloc_array(bytes, 1, "halo messages", err)) ||
                                 !(halo->incoming = lw_alloc_array(bytes, 1, "halo messages", err)))))
        return LW_ESYSTEM;
    return LW_OK;
}

void lw_halo_destroy(struct lw_halo *halo)
{
    if (!halo)
        return;
    lw_free(halo->carry);
    lw_free(halo->outgoing);
    lw_free(halo->incoming);
    lw_free(halo->requests);
    lw_free(halo);
}

void *lw_halo_carry(struct lw_halo *halo) { return halo->carry; }

/* Return the rank with the last slice of a round. This rank keeps the slice's tail as the carry. */
static int last_worker(const struct lw_halo *halo, int64_t round) { return lw_rounds_workers(halo->rounds, round) - 1; }

static int find_source(const struct lw_halo *halo, int64_t round, int rank)
{
    if (halo->length == 0 || lw_rounds_block(halo->rounds, round, rank).count == 0)
        return NOWHERE;
    if (halo->rounds->split != LW_SPLIT_AXIS)
        return FROM_CARRY;
    if (rank > 0)
        return rank - 1;
    if (lw_rounds_starts_axis(halo->rounds, round))
        return FROM_CARRY;
    const int before = last_worker(halo, round - 1);
    return before == 0 ? FROM_CARRY : before;
}

bool lw_halo_needs_prologue(const struct lw_halo *halo, int64_t round)
{
    return lw_rounds_starts_axis(halo->rounds, round) && find_source(halo, round, lw_comm_rank(halo->comm)) == FROM_CARRY;
}

/* The contiguous rows of the slot's buffer: one per channel (time fast), or a single one (time slow). */
struct rows {
    int64_t n;
    int64_t pitch;              /* bytes between rows in the slot */
    int64_t bytes;              /* bytes of the halo part of a row */
};

static struct rows slot_rows(const struct lw_halo *halo)
{
    const struct lw_block *const block = &halo->block;
    const int64_t n_channels = inputs(halo->n_inputs, block->n_channels), fast = halo->layout == LW_TIME_FAST ? 1 : n_channels;
    return (struct rows){
        .n = halo->layout == LW_TIME_FAST ? n_channels : 1,
        .pitch = (halo->length + block->count) * fast * halo->sample_bytes, .bytes = halo->length * fast * halo->sample_bytes,
    };
}

static void pack_tail(const struct lw_halo *halo, char *to)
{
    const struct rows rows = slot_rows(halo);
    for (int64_t r = 0; r < rows.n; r++)
        memcpy(to + r * rows.bytes, halo->samples + (r + 1) * rows.pitch - rows.bytes, (size_t)rows.bytes);
}

static void unpack_halo(const struct lw_halo *halo, const char *from)
{
    const struct rows rows = slot_rows(halo);
    for (int64_t r = 0; r < rows.n; r++)
        memcpy(halo->samples + r * rows.pitch, from + r * rows.bytes, (size_t)rows.bytes);
}

static void post(struct lw_halo *halo, char *at, int64_t bytes, int peer, bool is_send)
{
    const MPI_Comm world = lw_comm_mpi(halo->comm);
    for (int64_t done = 0; done < bytes; done += LW_MESSAGE_BYTES) {
        const int64_t left = bytes - done;
        const int part = (int)(left < LW_MESSAGE_BYTES ? left : LW_MESSAGE_BYTES);
        assert(halo->n_requests < halo->max_requests);
        MPI_Request *const request = &halo->requests[halo->n_requests++];
        if (is_send) {
            MPI_Isend(at + done, part, MPI_BYTE, peer, TAG, world, request);
            lw_comm_count_message(halo->comm, part);
        } else
            MPI_Irecv(at + done, part, MPI_BYTE, peer, TAG, world, request);
    }
}

void lw_halo_begin(struct lw_halo *halo, int64_t round, void *samples)
{
    const int rank = lw_comm_rank(halo->comm);
    const int last = last_worker(halo, round);
    halo->block = lw_rounds_block(halo->rounds, round, rank);
    halo->samples = samples;
    halo->source = find_source(halo, round, rank);
    halo->n_requests = 0;
    const bool works = halo->source != NOWHERE;
    halo->keeps_carry = works && (halo->rounds->split != LW_SPLIT_AXIS || rank == last);
    if (halo->length == 0 || !sends_messages(halo->rounds))
        return;

    const struct rows rows = slot_rows(halo);
    if (halo->source >= 0)
        post(halo, halo->incoming ? halo->incoming : halo->samples, rows.n * rows.bytes, halo->source, false);
    if (works && rank < last) {
        assert(halo->block.count >= halo->length);
        if (halo->outgoing)
            pack_tail(halo, halo->outgoing);
        post(halo, halo->outgoing ? halo->outgoing : halo->samples + rows.pitch - rows.bytes, rows.n * rows.bytes, rank + 1, true);
    }
    if (!lw_rounds_starts_axis(halo->rounds, round) && rank > 0 && rank == last_worker(halo, round - 1)) {
        /* all blocks of a channel group have the same channels: rank 0's block gives the carry's size */
        const int64_t n_channels = inputs(halo->n_inputs, lw_rounds_block(halo->rounds, round, 0).n_channels);
        post(halo, halo->carry, halo->length * n_channels * halo->sample_bytes, 0, true);
    }
}

void lw_halo_end(struct lw_halo *halo)
{
    MPI_Waitall(halo->n_requests, halo->requests, MPI_STATUSES_IGNORE);
    if (halo->source == FROM_CARRY)
        unpack_halo(halo, halo->carry);
    else if (halo->source >= 0 && halo->incoming)
        unpack_halo(halo, halo->incoming);
    if (halo->keeps_carry)
        pack_tail(halo, halo->carry);
    halo->samples = NULL;
}
