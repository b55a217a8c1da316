/* proc.h - facts about this process from the kernel: its cores, its memory, and fields of the text files in /proc and /sys. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** Return the number after `key` in a file of lines "KEY NUMBER" or "KEY: NUMBER kB", in the file's unit; -1: no such line. */
int64_t lw_proc_field(const char *path, const char *key);

/** Read the first line of a file without its newline, cut to `size`. Return false if it cannot be read. */
bool lw_proc_line(const char *path, char *text, int size);

/** Return the bytes that the control group (version 1 or 2) of this process and its parent groups still allow; INT64_MAX without a
 * limit. Memory that the kernel can reclaim, above all the page cache, counts as free.
 * @param groups  file that lists the groups of this process: /proc/self/cgroup
 * @param mount   folder of the control groups: /sys/fs/cgroup */
int64_t lw_proc_group_room(const char *groups, const char *mount);

/** Return the number of cores that this process may run on, at least 1; mpirun and Slurm often allow fewer than the machine has. */
int lw_proc_cores(void);
int lw_proc_node_cores(void);       /* cores of the whole machine */

/** Have both functions return these numbers from now on, for plans of machines that are not here. 0: the true ones */
void lw_proc_imagine(int cores, int node_cores);

/** Return how many entries a folder has, without hidden ones; 0 if there is no such folder. */
int lw_proc_entries(const char *folder);

/** Restrict the calling thread, and threads that it starts later, to those of its cores that the file `list` names: "0-15,64-79".
 * @return  the number of cores left; 0: the thread has none of those listed, and keeps its own; -1: the file or a call failed */
int lw_proc_stay_on(const char *list);
