#include "gpu/host/pinned.h"

#include "base/integers.h"
#include "base/proc.h"
#include "gpu/host/error.h"

#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23          /* Linux has this advice since 5.14; older headers of the C library do not define it */
#endif

#define MOST_THREADS 8                  /* more do not help: memory bandwidth limits the clearing of pages */

#define PIECE_BYTES ((int64_t)8 << 20)
#define HUGE_PAGE ((uintptr_t)2 << 20)

int lw_pinned_threads(struct lw_pool **out, struct lw_error *err)
{
    return lw_pool_create((int)lw_min64(lw_proc_cores(), MOST_THREADS), out, err);
}

/* Create a piece's pages. After the last piece, register the memory; this also creates pages where madvise failed. */
static int make_pages(void *context, int64_t piece, int thread, struct lw_error *err)
{
    struct lw_pinned *const pinned = context;
    const int64_t first = piece * PIECE_BYTES;
    (void)thread;
    madvise((char *)pinned->memory + first, (size_t)lw_min64(PIECE_BYTES, pinned->bytes - first), MADV_POPULATE_WRITE);
    if (__atomic_sub_fetch(&pinned->n_left, 1, __ATOMIC_ACQ_REL) > 0)
        return LW_OK;
    cudaError_t status = cudaSetDevice(pinned->device);         /* the runtime has a current device for each thread */
    if (status == cudaSuccess)
        status = cudaHostRegister(pinned->memory, (size_t)pinned->bytes, cudaHostRegisterDefault);
    pinned->is_registered = status == cudaSuccess;
    return pinned->is_registered ? LW_OK : lw_cuda_no_memory(status, "the buffers of a block", pinned->bytes, 0, err);
}

/* Reserve memory that starts at a huge page. Child processes do not inherit it, since copy-on-write would move pinned pages. */
static void *reserve(int64_t bytes)
{
    const size_t whole = (size_t)bytes + HUGE_PAGE;
    char *const all = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED)
        return NULL;
    const size_t before = (HUGE_PAGE - (uintptr_t)all % HUGE_PAGE) % HUGE_PAGE, after = HUGE_PAGE - before;
    if (before > 0)
        munmap(all, before);
    if (after > 0)
        munmap(all + before + bytes, after);
    madvise(all + before, (size_t)bytes, MADV_HUGEPAGE);
    madvise(all + before, (size_t)bytes, MADV_DONTFORK);
    return all + before;
}

int lw_pinned_begin(struct lw_pinned *pinned, int64_t bytes, int device, struct lw_pool *threads, struct lw_error *err)
{
    *pinned = (struct lw_pinned){.bytes = lw_round_up(bytes, sysconf(_SC_PAGESIZE)), .device = device};
    pinned->memory = reserve(pinned->bytes);
    if (!pinned->memory)
        return lw_cuda_no_memory(cudaErrorMemoryAllocation, "the buffers of a block", bytes, 0, err);
    pinned->n_left = (int)lw_divide_up(pinned->bytes, PIECE_BYTES);
    pinned->batch = (struct lw_batch){.n_pieces = pinned->n_left, .work = make_pages, .context = pinned};
    lw_pool_start(threads, &pinned->batch);
    return LW_OK;
}

int lw_pinned_wait(struct lw_pinned *pinned, struct lw_pool *threads, struct lw_error *err)
{
    return lw_pool_wait(threads, &pinned->batch, err);
}

void lw_pinned_end(struct lw_pinned *pinned, struct lw_pool *threads)
{
    if (!pinned->memory)
        return;
    lw_pool_wait(threads, &pinned->batch, NULL);
    if (pinned->is_registered)
        cudaHostUnregister(pinned->memory);
    munmap(pinned->memory, (size_t)pinned->bytes);
    *pinned = (struct lw_pinned){.memory = NULL};
}
