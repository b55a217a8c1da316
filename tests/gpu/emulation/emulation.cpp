/* emulation.cpp - runs CUDA kernels on the CPU: fibers and barriers, and the part of the CUDA runtime that gpu/ calls. Work on a
 * stream is done at once.
 *
 * A fiber is made once, with makecontext, and runs the threads of its number of all blocks, one after the other. The compiler's
 * setjmp and longjmp switch fibers: they make no system call and save only the registers that the calling function needs. */
#include "emulation.h"

#include <cufft.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <numeric>
#include <random>
#include <sys/mman.h>
#include <ucontext.h>
#include <utility>
#include <vector>

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace emulation {
namespace {

constexpr size_t stack_bytes = 256 << 10;
constexpr size_t stack_step = 17 * 64, stack_steps = 64;    /* different stacks begin at different lines of the caches */
constexpr size_t shared_capacity = 227 << 10;
constexpr size_t shared_unasked = 48 << 10;     /* a kernel may use more only after cudaFuncSetAttribute */
constexpr size_t guard_bytes = 4096;            /* bytes behind every allocation, whose change shows a write out of bounds */
constexpr int guard_value = 0xa5;
constexpr int most_named = 16;                  /* named barriers of a block */
constexpr unsigned most_blocks = 32;            /* most blocks of a cluster or a cooperative grid */

struct Barrier {
    int expected = 0, arrived = 0;
    int bytes = 0;                      /* bytes that a counter still waits for */
    unsigned generation = 0;
    unsigned gathering = 0, result = 0;
    uint64_t values[32] = {};
};

struct Block {
    uint3 index;
    Barrier whole;
    std::map<int, Barrier> named;
    alignas(128) unsigned char shared_memory[shared_capacity + guard_bytes];
};

struct Copy {
    void *to;
    const void *from;
    size_t bytes;
};

using Place = void *[5];            /* target of __builtin_longjmp */

struct Fiber {
    Place place;
    Block *block;
    Barrier *warp;
    uint3 thread;
    int number;                         /* number of the thread in its block; its warp is number / 32 */
    Barrier *waits = nullptr;           /* barrier that the fiber waits for, until the barrier's generation differs from `since` */
    unsigned since = 0;
    bool done = false;
    std::vector<Copy> copies;           /* copies that are requested and not yet made */
    void *stack = nullptr;              /* NULL: not yet allocated */
};

std::vector<Fiber> fibers;
std::vector<Barrier> warps;
Block blocks[most_blocks];              /* the blocks of one cluster run at the same time */
Barrier cluster;
Fiber *running;
Place scheduler;
const std::function<void()> *kernel_body;
std::map<const void *, size_t> shared_allowed;
cudaError_t last_error = cudaSuccess;

[[noreturn]] void give_up(const char *what)
{
    std::fprintf(stderr, "emulation: %s: block (%u, %u, %u), thread %d\n", what, blockIdx.x, blockIdx.y, blockIdx.z,
                 running->number);
    std::abort();
}

void release(Barrier &b)
{
    b.result = b.gathering;
    b.gathering = 0;
    b.arrived = 0;
    b.generation++;
}

[[noreturn, gnu::noinline]] void jump(Place &place) { __builtin_longjmp(place, 1); }

/* Switch from the fiber to the scheduler, and return when the scheduler chooses the fiber again. */
[[gnu::noinline]] void pause_fiber()
{
    if (__builtin_setjmp(running->place) == 0)
        jump(scheduler);
}

void wait_at(Barrier &b)
{
    if (++b.arrived == b.expected) {
        release(b);
        return;
    }
    running->waits = &b;
    running->since = b.generation;
    pause_fiber();
}

/* Remove an ended thread from a barrier, so that the others do not wait for it. */
void leave(Barrier &b)
{
    if (--b.expected > 0 && b.arrived == b.expected)
        release(b);
}

void fiber_main()
{
    for (;;) {
        (*kernel_body)();
        running->done = true;
        leave(running->block->whole);
        leave(*running->warp);
        leave(cluster);
        pause_fiber();
    }
}

/* Start a fiber on a stack of its own. It does not return here: it ends by a jump to the scheduler, whose place must be set. */
void begin_fiber(Fiber &f)
{
    f.stack = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (f.stack == MAP_FAILED) {
        std::perror("emulation: stack");
        std::abort();
    }
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = f.stack;
    context.uc_stack.ss_size = stack_bytes - (size_t)(&f - fibers.data()) % stack_steps * stack_step;
    context.uc_link = nullptr;
    makecontext(&context, fiber_main, 0);
    setcontext(&context);
}

/* Run a fiber until it pauses or ends. */
[[gnu::noinline]] void resume(Fiber &f)
{
    running = &f;
    threadIdx = f.thread;
    blockIdx = f.block->index;
    if (__builtin_setjmp(scheduler) != 0)
        return;
    if (f.stack)
        jump(f.place);
    begin_fiber(f);
}

bool order_is(const char *name)
{
    static const char *const wanted = std::getenv("LW_EMULATION_ORDER");
    return wanted && std::strcmp(wanted, name) == 0;
}

/* Choose the order in which threads run between two barriers. */
void order_threads(std::vector<int> &order)
{
    static std::mt19937 random(1);
    std::iota(order.begin(), order.end(), 0);
    if (order_is("reverse"))
        std::reverse(order.begin(), order.end());
    else if (order_is("shuffle"))
        std::shuffle(order.begin(), order.end(), random);
}

bool guard_is_whole(const unsigned char *guard)
{
    return guard[0] == guard_value && std::memcmp(guard, guard + 1, guard_bytes - 1) == 0;
}

void run_cluster(int n_threads)
{
    static std::vector<int> order;
    order.resize((size_t)n_threads);
    order_threads(order);
    for (int left = n_threads; left > 0;) {
        bool progress = false;
        for (const int i : order) {
            Fiber &f = fibers[(size_t)i];
            if (f.done || (f.waits && f.waits->generation == f.since))
                continue;
            f.waits = nullptr;
            progress = true;
            resume(f);
            left -= f.done;
        }
        if (!progress)
            give_up("a barrier that not all threads reach");
    }
}

/* Fill memory with NaN bytes, never the same twice: a kernel must not rely on the bytes that an earlier block has left. */
void spoil(unsigned char *memory, size_t bytes)
{
    static uint32_t state = 1;
    for (size_t i = 0; i < bytes; i += sizeof state) {      /* the last word may reach into the guard bytes */
        state = state * 1664525 + 1013904223;
        const uint32_t word = 0xfff00001u | state >> 12;
        std::memcpy(memory + i, &word, sizeof word);
    }
}

/* Prepare block `number` of a cluster, with its share of the fibers and warps. */
void start_block(Block &b, uint3 index, dim3 block, size_t shared_bytes, unsigned number)
{
    const unsigned n = block.x * block.y * block.z, n_warps = (n + 31) / 32;
    b.index = index;
    b.whole = Barrier{};
    b.whole.expected = (int)n;
    b.named.clear();
    for (unsigned i = 0; i < n; i++) {
        Fiber &f = fibers[number * n + i];
        f.block = &b;
        f.warp = &warps[number * n_warps + i / 32];
        f.done = false;
        f.waits = nullptr;
        f.copies.clear();
        f.number = (int)i;
        f.thread = {i % block.x, i / block.x % block.y, i / (block.x * block.y)};
        f.warp->expected++;
    }
    spoil(b.shared_memory, shared_bytes);
    std::memset(b.shared_memory + shared_bytes, guard_value, guard_bytes);
}

/* Prepare the blocks of a cluster: `first` and those next to it in x. */
void start_cluster(uint3 first, unsigned n_blocks, dim3 block, size_t shared_bytes)
{
    const unsigned n = block.x * block.y * block.z;
    warps.assign(n_blocks * ((n + 31) / 32), Barrier{});
    cluster = Barrier{};
    cluster.expected = (int)(n_blocks * n);
    for (unsigned i = 0; i < n_blocks; i++)
        start_block(blocks[i], {first.x + i, first.y, first.z}, block, shared_bytes, i);
}

void check_guards(unsigned n_blocks, size_t shared_bytes)
{
    for (unsigned i = 0; i < n_blocks; i++)
        if (!guard_is_whole(blocks[i].shared_memory + shared_bytes))
            give_up("written beyond the end of shared memory");
}

}  // namespace

void *dynamic_shared() { return running->block->shared_memory; }
unsigned char *dynamic_shared_of(int rank) { return blocks[rank].shared_memory; }
int lane() { return running->number % 32; }

static Barrier &warp() { return *running->warp; }

void cluster_barrier() { wait_at(cluster); }

unsigned block_barrier(unsigned value)
{
    Barrier &whole = running->block->whole;
    whole.gathering |= value;
    wait_at(whole);
    return whole.result;
}

unsigned warp_barrier(unsigned value, Combine combine)
{
    Barrier &b = warp();
    b.gathering |= combine == BALLOT ? value << lane() : value;
    wait_at(b);
    return b.result;
}

static Barrier &named(int number, int count)
{
    Barrier &b = running->block->named[number];
    if (b.arrived > 0 && b.expected != count)
        give_up("a named barrier with different counts");
    b.expected = count;
    return b;
}

unsigned named_barrier(int number, int count, unsigned value)
{
    Barrier &b = named(number, count);
    b.gathering |= value;
    wait_at(b);
    return b.result;
}

/* A counter uses the named barrier whose number is its place in shared memory; the shared memory itself is not used. */
static int offset_of(const void *counter) { return (int)((const unsigned char *)counter - running->block->shared_memory); }
static Barrier &counter_of(Block &block, int offset) { return block.named[most_named + offset]; }

static Block &block_of(const unsigned char *memory)
{
    return *std::find_if(blocks, blocks + most_blocks, [=](const Block &b) { return b.shared_memory == memory; });
}

static void arrive(Barrier &b, int arrivals, int bytes)
{
    b.arrived += arrivals;
    b.bytes += bytes;
    if (b.arrived > b.expected)
        give_up("more arrivals at a counter than it expects");
    if (b.arrived == b.expected && b.bytes == 0)
        release(b);
}

void begin_counter(void *counter, int expected) { counter_of(*running->block, offset_of(counter)).expected = expected; }
void arrive_at_counter(void *counter) { arrive(counter_of(*running->block, offset_of(counter)), 1, 0); }
void arrive_at_counter_of(const unsigned char *memory, int offset) { arrive(counter_of(block_of(memory), offset), 1, 0); }

void expect_at_counter(void *counter, int bytes)
{
    const auto found = running->block->named.find(most_named + offset_of(counter));
    if (found != running->block->named.end())
        arrive(found->second, 1, bytes);
}

void count_bytes(const unsigned char *memory, int offset, int bytes)
{
    Block &block = block_of(memory);
    const auto found = block.named.find(most_named + offset);
    if (found != block.named.end())
        arrive(found->second, 0, -bytes);
}

void wait_for_counter(void *counter, int parity)
{
    Barrier &b = counter_of(*running->block, offset_of(counter));
    if ((int)(b.generation & 1) != parity)
        return;
    running->waits = &b;
    running->since = b.generation;
    pause_fiber();
}

/* Request a copy, which may be made at any time until it is waited for: here at once, or in reverse order as late as possible. */
void copy_later(void *to, const void *from, size_t bytes)
{
    if (order_is("reverse"))
        running->copies.push_back({to, from, bytes});
    else
        std::memcpy(to, from, bytes);
}

void wait_for_copies()
{
    for (const Copy &copy : running->copies)
        std::memcpy(copy.to, copy.from, copy.bytes);
    running->copies.clear();
}

void named_arrival(int number, int count)
{
    Barrier &b = named(number, count);
    if (++b.arrived == b.expected)
        release(b);
}

uint64_t warp_exchange(uint64_t value, int from)
{
    Barrier &b = warp();
    b.values[lane()] = value;
    wait_at(b);
    const uint64_t found = b.values[from & 31];
    wait_at(b);
    return found;
}

void allow_shared(const void *kernel, int bytes)
{
    shared_allowed[kernel] = (size_t)bytes;
}

static size_t shared_limit(const void *kernel)
{
    const auto asked = shared_allowed.find(kernel);
    return std::min(shared_capacity, asked == shared_allowed.end() ? shared_unasked : std::max(shared_unasked, asked->second));
}

/* Launches that the current capture has recorded. Only one capture can run at a time, for all streams. */
using Graph = std::vector<std::function<void()>>;
static Graph *captured;

static bool captures(const std::function<void()> &node)
{
    if (captured)
        captured->push_back(node);
    return captured != nullptr;
}

cudaError_t run(const void *kernel, dim3 grid, dim3 block, size_t shared_bytes, const std::function<void()> &body,
                unsigned n_blocks)
{
    const unsigned n = block.x * block.y * block.z;
    if (n == 0 || n > 1024 || block.z > 64 || grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > INT32_MAX ||
        grid.y > 65535 || grid.z > 65535 || shared_bytes > shared_limit(kernel) || n_blocks == 0 ||
        n_blocks > most_blocks || grid.x % n_blocks != 0)
        return last_error = cudaErrorInvalidConfiguration;
    if (captures([=] { run(kernel, grid, block, shared_bytes, body, n_blocks); }))
        return cudaSuccess;
    if (fibers.size() < n_blocks * n)
        fibers.resize(n_blocks * n);
    kernel_body = &body;
    blockDim = block;
    gridDim = grid;
    for (unsigned z = 0; z < grid.z; z++)
        for (unsigned y = 0; y < grid.y; y++)
            for (unsigned x = 0; x < grid.x; x += n_blocks) {
                start_cluster({x, y, z}, n_blocks, block, shared_bytes);
                run_cluster((int)(n_blocks * n));
                check_guards(n_blocks, shared_bytes);
            }
    return cudaSuccess;
}

}  // namespace emulation

/* ---- the runtime library --------------------------------------------------------------------------------------------- */

/* Properties of the emulated device, a Hopper by default. Environment variables change them, such as LW_EMULATION_SHARED_KIB=99
 * LW_EMULATION_ARCH=89 LW_EMULATION_MULTIPROCESSORS=32 LW_EMULATION_MEMORY_MIB=...; LW_EMULATION_FIRST_DEVICE is the machine-wide
 * number of the process's first device, for launchers that show each process another device. */
static int setting(const char *name, int otherwise)
{
    const char *const text = std::getenv(name);
    return text ? std::atoi(text) : otherwise;
}

int emulation::most_of_cluster() { return setting("LW_EMULATION_CLUSTER", 16); }
static int multiprocessors() { return setting("LW_EMULATION_MULTIPROCESSORS", 4); }
static int architecture() { return setting("LW_EMULATION_ARCH", 90); }
static int shared_per_block() { return setting("LW_EMULATION_SHARED_KIB", 227) * 1024; }
static size_t device_memory() { return (size_t)setting("LW_EMULATION_MEMORY_MIB", 8 << 10) << 20; }

extern "C" {

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = setting("LW_EMULATION_DEVICES", 1);
    return *count > 0 ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int device)
{
    std::memset(p, 0, sizeof *p);
    std::snprintf(p->name, sizeof p->name, "emulated device");
    p->uuid.bytes[15] = (char)(setting("LW_EMULATION_FIRST_DEVICE", 0) + device);
    p->major = architecture() / 10;
    p->minor = architecture() % 10;
    p->multiProcessorCount = multiprocessors();
    p->sharedMemPerBlockOptin = (size_t)shared_per_block();
    p->totalGlobalMem = device_memory();
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int)
{
    switch (attribute) {
    case cudaDevAttrMultiProcessorCount: *value = multiprocessors(); break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = shared_per_block() + 1024; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = shared_per_block(); break;
    case cudaDevAttrComputeCapabilityMajor: *value = architecture() / 10; break;
    case cudaDevAttrComputeCapabilityMinor: *value = architecture() % 10; break;
    default: return cudaErrorInvalidValue;
    }
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version) { *version = 13000; return cudaSuccess; }
cudaError_t cudaGetDevice(int *device) { *device = 0; return cudaSuccess; }
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaGetLastError(void) { return std::exchange(emulation::last_error, cudaSuccess); }
const char *cudaGetErrorName(cudaError_t) { return "an emulated error"; }
const char *cudaGetErrorString(cudaError_t) { return "an emulated error"; }

static size_t device_bytes_used;
static std::map<void *, size_t> device_blocks;

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    *total = device_memory();
    *free_bytes = *total - device_bytes_used;
    return cudaSuccess;
}

/* The memory is filled with NaN patterns, so that reading memory before any write does not give zeros. */
cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    if (bytes > device_memory() - device_bytes_used)
        return cudaErrorMemoryAllocation;
    *memory = aligned_alloc(256, (bytes + emulation::guard_bytes + 255) / 256 * 256);
    std::memset(*memory, 0xff, bytes);
    std::memset((unsigned char *)*memory + bytes, emulation::guard_value, emulation::guard_bytes);
    device_blocks[*memory] = bytes;
    device_bytes_used += bytes;
    return cudaSuccess;
}

cudaError_t cudaFree(void *memory)
{
    if (memory) {
        if (!emulation::guard_is_whole((unsigned char *)memory + device_blocks.at(memory))) {
            std::fprintf(stderr, "emulation: written beyond the end of device memory\n");
            std::abort();
        }
        device_bytes_used -= device_blocks.at(memory);
        device_blocks.erase(memory);
        free(memory);
    }
    return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned)
{
    *memory = aligned_alloc(256, (bytes + 256) / 256 * 256);
    return *memory ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaFreeHost(void *memory) { free(memory); return cudaSuccess; }

/* Pinned ranges; several threads pin memory. LW_EMULATION_PINNED_MIB limits the pinned bytes. */
static std::mutex pinned_mutex;
static std::map<void *, size_t> pinned_ranges;

cudaError_t cudaHostRegister(void *memory, size_t bytes, unsigned)
{
    const std::lock_guard<std::mutex> lock(pinned_mutex);
    size_t pinned = bytes;
    for (const auto &range : pinned_ranges)
        pinned += range.second;
    if (pinned > (size_t)setting("LW_EMULATION_PINNED_MIB", INT32_MAX) << 20)
        return cudaErrorMemoryAllocation;
    pinned_ranges[memory] = bytes;
    return cudaSuccess;
}

cudaError_t cudaHostUnregister(void *memory)
{
    const std::lock_guard<std::mutex> lock(pinned_mutex);
    return pinned_ranges.erase(memory) == 1 ? cudaSuccess : cudaErrorHostMemoryNotRegistered;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream)
{
    if (emulation::captures([=] { cudaMemcpyAsync(to, from, bytes, kind, stream); }))
        return cudaSuccess;
    if (bytes > 0)
        std::memcpy(to, from, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_step, const void *from, size_t from_step, size_t bytes, size_t rows,
                              cudaMemcpyKind, cudaStream_t)
{
    for (size_t i = 0; i < rows; ++i)
        std::memcpy((char *)to + i * to_step, (const char *)from + i * from_step, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream)
{
    if (emulation::captures([=] { cudaMemsetAsync(memory, value, bytes, stream); }))
        return cudaSuccess;
    std::memset(memory, value, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemset2DAsync(void *memory, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream)
{
    for (size_t row = 0; row < height; row++)
        cudaMemsetAsync((char *)memory + row * pitch, value, width, stream);
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    return cudaMemcpyAsync(to, from, bytes, kind, nullptr);
}

cudaError_t cudaMemset(void *memory, int value, size_t bytes) { return cudaMemsetAsync(memory, value, bytes, nullptr); }
cudaError_t cudaDeviceSynchronize(void) { return cudaSuccess; }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned) { *stream = (cudaStream_t)malloc(1); return cudaSuccess; }
cudaError_t cudaStreamGetFlags(cudaStream_t, unsigned *flags) { *flags = 0; return cudaSuccess; }
cudaError_t cudaStreamDestroy(cudaStream_t stream) { free(stream); return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }
cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t function, void *context) { function(context); return cudaSuccess; }
cudaError_t cudaEventCreate(cudaEvent_t *event) { *event = (cudaEvent_t)malloc(1); return cudaSuccess; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) { return cudaEventCreate(event); }
cudaError_t cudaEventDestroy(cudaEvent_t event) { free(event); return cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventRecordWithFlags(cudaEvent_t, cudaStream_t, unsigned) { return cudaSuccess; }
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t, cudaEvent_t) { *ms = 1e-3f; return cudaSuccess; }

/* A graph and its executable form are lists of functions to call. */
cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode)
{
    emulation::captured = new emulation::Graph;
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t *graph)
{
    *graph = (cudaGraph_t)emulation::captured;
    emulation::captured = nullptr;
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long)
{
    *exec = (cudaGraphExec_t) new emulation::Graph(*(const emulation::Graph *)graph);
    return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t)
{
    for (const auto &node : *(const emulation::Graph *)exec)
        node();
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    delete (emulation::Graph *)graph;
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    delete (emulation::Graph *)exec;
    return cudaSuccess;
}

int lw_emulation_captures_fft(cufftResult (*exec)(cufftHandle, cufftDoubleComplex *, cufftDoubleComplex *, int), cufftHandle handle,
                              cufftDoubleComplex *in, cufftDoubleComplex *out, int direction)
{
    return emulation::captures([=] { exec(handle, in, out, direction); });
}

}
