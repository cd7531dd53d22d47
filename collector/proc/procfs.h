/* procfs.h: the kernel's facts about a process of this pid namespace.
 *
 * Every function reads /proc when it is called, and a process may end between two calls.
 * Thread-safe, no state.
 */
#ifndef HK_COLLECTOR_PROC_PROCFS_H
#define HK_COLLECTOR_PROC_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hk_procfs_stat {
	char state; /* R S D Z T X ... */
	uint32_t ppid;
	uint64_t cpu_ns; /* user and system time of all its threads so far */
	uint32_t threads;
	uint64_t start_ticks; /* clock ticks since boot: tells a reused pid */
	int32_t exit_code;    /* wait status of a zombie; 0 also without permission */
};

/* Parses the text of /proc/<pid>/stat, in which the name may have any characters. Returns 0 or
 * -EBADMSG. */
int hk_procfs_parse_stat(const char *text, struct hk_procfs_stat *ret_stat);

/* -ENOENT or -ESRCH: no such process. */
int hk_procfs_stat(uint32_t pid, struct hk_procfs_stat *ret_stat);

/* Reads the peak of resident bytes (VmHWM). Returns 0, or -ENOENT also if the process has freed its
 * memory. */
int hk_procfs_rss_peak(uint32_t pid, uint64_t *ret_bytes);

/* Reads how long the first thread of PID was runnable without a processor. Returns 0, or -errno if
 * the kernel does not say. */
int hk_procfs_delay(uint32_t pid, uint64_t *ret_ns);

/* Reads the path of the program, without the kernel's " (deleted)". */
int hk_procfs_program(uint32_t pid, char *path, size_t size);

/* Returns whether the process maps a file whose path contains NAME. Returns false also without
 * permission. */
bool hk_procfs_maps(uint32_t pid, const char *name);

/* Calls FUNCTION with each path that the process maps, several times if it is mapped in parts.
 * Returns 0, what FUNCTION returned first other than 0, or -errno. */
int hk_procfs_each_map(uint32_t pid, int (*function)(const char *path, void *data), void *data);

/* Name of a thread. */
int hk_procfs_thread_name(uint32_t pid, uint32_t tid, char *name, size_t size);

/* Inode that names our own pid namespace; 0: unknown. */
uint64_t hk_procfs_pid_namespace(void);

#endif
