/* proc.h - what the kernel says about this process: its cores, and in text files its memory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** The number after `key` in a file of lines "KEY NUMBER" or "KEY: NUMBER kB", as it stands; -1 if there is none. */
int64_t lw_proc_field(const char *path, const char *key);

/** The first line of a file, without its end, or as much as there is room for. False: there is none. */
bool lw_proc_line(const char *path, char *text, int size);

/** Bytes that this process' control group (version 1 or 2) and all its parents still allow; INT64_MAX without a limit. What
 * the kernel can take back, the page cache above all, counts as free: it gives way as soon as memory is asked for.
 * @param groups  lists the groups of this process: /proc/self/cgroup
 * @param mount   where their folders are: /sys/fs/cgroup */
int64_t lw_proc_group_room(const char *groups, const char *mount);

/** Cores that this process may run on: under mpirun and Slurm often fewer than the machine has. At least 1. */
int lw_proc_cores(void);

/** Keep the calling thread, and those that it starts from now on, to those of its cores that a file lists: "0-15,64-79".
 * @return  how many these are; 0: none of them, and nothing is changed; -1: there is no such list */
int lw_proc_stay_on(const char *list);
