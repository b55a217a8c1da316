/* library.h - opens rivals in shared libraries, which rivals/build.sh makes. */
#pragma once

#include "rival.h"

#include <dlfcn.h>
#include <stdio.h>
#include <vector>

/* Append the rivals of the files to `rivals`. A file that cannot be opened is reported and left out. */
template <class Case>
std::vector<const RivalOf<Case> *> rival_libraries(std::vector<const RivalOf<Case> *> rivals, int n_files, char **files)
{
    for (int i = 0; i < n_files; ++i) {
        void *const library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
        const void *const rival = library ? dlsym(library, "rival") : nullptr;
        if (rival)
            rivals.push_back((const RivalOf<Case> *)rival);
        else
            fprintf(stderr, "%s\n", dlerror());
    }
    return rivals;
}
