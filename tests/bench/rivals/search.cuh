/* search.cuh - finds the fastest way of a rival for a case. */
#ifndef RIVAL_SEARCH_CUH
#define RIVAL_SEARCH_CUH

#include "rival.h"
#include "tests/bench/gpu_bench.cuh"

#include <string>

/* Column of a table: "cuFFT tiles" with the unit "ms" gives cuFFT_tiles_ms; its text has the column cuFFT_tiles. */
inline std::string rival_column(const char *name, const char *unit = "")
{
    std::string column = *unit ? std::string(name) + " " + unit : name;
    std::replace(column.begin(), column.end(), ' ', '_');
    return column;
}

struct RivalWay {
    double ms;
    int step, choice;
};

/* Milliseconds of some calls back to back: a first look at which ways are worth a full measurement. */
template <class Run> double rival_glance(Run run, cudaStream_t stream)
{
    cudaEvent_t begin, end;
    CHECK_CUDA(cudaEventCreate(&begin));
    CHECK_CUDA(cudaEventCreate(&end));
    time_calls(run, 1, stream, begin, end);
    double ms = time_calls(run, 2, stream, begin, end);
    if (ms < 1)
        ms = time_calls(run, ms > 0.2 ? 5 : 20, stream, begin, end);
    CHECK_CUDA(cudaEventDestroy(begin));
    CHECK_CUDA(cudaEventDestroy(end));
    return ms;
}

/* Try all ways and return them, the fastest first. If steps ascend, the search ends when three steps in a row have not been
 * faster.
 * calls(open): the function that runs the i-th call, on rotating buffers */
template <class Case, class Calls>
std::vector<RivalWay> rival_ways(const RivalOf<Case> *rival, const Case &c, const double *taps, cudaStream_t stream, Calls calls)
{
    std::vector<RivalWay> ways;
    char text[RIVAL_TEXT];
    double best = 1e30;
    for (int step = 0, slower = 0; slower < 3 || !rival->ascending; ++step) {
        double least = 1e30;
        int choice = 0;
        for (void *open; (open = rival->open(&c, step, choice, taps, stream, text)) != nullptr; ++choice) {
            ways.push_back({rival_glance(calls(open), stream), step, choice});
            least = std::min(least, ways.back().ms);
            rival->close(open);
        }
        if (choice == 0)
            break;
        slower = least < best ? 0 : slower + 1;
        best = std::min(best, least);
    }
    std::sort(ways.begin(), ways.end(), [](const RivalWay &a, const RivalWay &b) { return a.ms < b.ms; });
    return ways;
}

/* ms: 0 if the rival cannot do the case, or gives wrong outputs */
struct RivalReached {
    double ms;
    char text[RIVAL_TEXT];
};

/* Measure the fastest of the three ways that looked best.
 * is_right(open, text): checks the output, and reports wrong ones; milliseconds: the member of Timing that counts */
template <class Case, class Calls, class IsRight>
RivalReached rival_measure(const RivalOf<Case> *rival, const Case &c, const double *taps, cudaStream_t stream, double budget_ms,
                           double Timing::*milliseconds, Calls calls, IsRight is_right, bool *failed)
{
    const std::vector<RivalWay> ways = rival_ways(rival, c, taps, stream, calls);
    RivalReached best = {};
    for (size_t i = 0; i < ways.size() && i < 3; ++i) {
        char text[RIVAL_TEXT];
        void *const open = rival->open(&c, ways[i].step, ways[i].choice, taps, stream, text);
        const bool right = is_right(open, text);
        *failed = *failed || !right;
        const double ms = right ? time_run(calls(open), stream, budget_ms, rival->may_capture).*milliseconds : 0;
        rival->close(open);
        if (right && (best.ms == 0 || ms < best.ms)) {
            best.ms = ms;
            std::copy(text, text + RIVAL_TEXT, best.text);
        }
    }
    return best;
}

#endif
