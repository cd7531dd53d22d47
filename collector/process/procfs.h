/* procfs.h: what the kernel says about a process of this pid namespace.
 *
 * Every function reads /proc when it is called, and a process may end between two calls.
 * Thread-safe, no state.
 */
#ifndef HK_COLLECTOR_PROCESS_PROCFS_H
#define HK_COLLECTOR_PROCESS_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hk_procfs_stat {
	char state; /* R S D Z T X ... */
	uint32_t ppid;
	uint64_t cpu_ns; /* user and system time of all its threads so far */
	uint32_t threads;
	uint64_t start_ticks; /* clock ticks since boot: tells a reused pid */
	int32_t exit_code; /* wait status; only meaningful for a zombie, 0 where we may not look */
};

/* Parses the text of /proc/<pid>/stat; the name in it may hold anything. -EBADMSG. */
int hk_procfs_parse_stat(const char *text, struct hk_procfs_stat *ret_stat);

/* -ENOENT or -ESRCH: no such process. */
int hk_procfs_stat(uint32_t pid, struct hk_procfs_stat *ret_stat);

/* Peak resident bytes (VmHWM). -ENOENT also when the process has given up its memory. */
int hk_procfs_rss_peak(uint32_t pid, uint64_t *ret_bytes);

/* Path of the program, without the kernel's " (deleted)". */
int hk_procfs_program(uint32_t pid, char *path, size_t size);

/* Whether the process has a file mapped whose path contains NAME; false also where we may not look.
 */
bool hk_procfs_maps(uint32_t pid, const char *name);

/* Name of a thread. */
int hk_procfs_thread_name(uint32_t pid, uint32_t tid, char *name, size_t size);

/* Inode that names our own pid namespace; 0: unknown. */
uint64_t hk_procfs_pid_namespace(void);

#endif
