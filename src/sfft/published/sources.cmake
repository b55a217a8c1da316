# The published transform, but for its CUDA kernels. To take it out of the program, delete the folders named published, the
# line that includes this file, and its entry in each registry.
target_sources(lapwing_core PRIVATE
    src/sfft/published/cutoff.c src/sfft/published/layout.c src/sfft/published/lines.c src/sfft/published/plan.c
    src/sfft/published/vote.c
    src/cpu/sfft/published/bins.c src/cpu/sfft/published/solver.c
    src/run/sparse/published/published.c
    jobs/sfft_published.c)
# Complex products as written: what is multiplied is finite.
set_source_files_properties(src/cpu/sfft/published/bins.c src/sfft/published/lines.c
    PROPERTIES COMPILE_OPTIONS "$<$<NOT:$<BOOL:${LAPWING_FUZZ}>>:-fcx-limited-range>;$<$<NOT:$<CONFIG:Debug>>:-O3>")
