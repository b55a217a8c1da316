/* storage.h - what is known of the file system that holds a file: its name, and how threads and nodes may write it. */
#pragma once

#include <stdbool.h>

/* How threads put bytes into a file side by side. */
enum lw_store_way {
    LW_STORE_WRITE,             /* pwrite */
    LW_STORE_MAP,               /* a shared mapping */
};

struct lw_storage {
    char name[32];              /* "tmpfs", "ext4", "Lustre", "0x1234 (unknown)" */
    bool is_coherent;           /* several writers of one file, on several nodes too, keep each other's bytes */
    bool is_memory;             /* its files are memory: there is no disk to which they are written back */
    enum lw_store_way way;      /* best for several threads, as far as can be told without measuring */
};

/** Of an open file's file system, by fstatfs; one that is not known, or does not say, counts as not coherent. */
void lw_storage_find(int fd, struct lw_storage *storage);

/** "pwrite" or "shared mapping". Static storage. */
const char *lw_store_way_text(enum lw_store_way way);
