/* tasks.h: the threads of a process, as the kernel lists them. No state. */
#ifndef HK_COLLECTOR_PROC_TASKS_H
#define HK_COLLECTOR_PROC_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HK_TASKS_MAX 16384u /* threads of a process that are looked at */

struct hk_task {
	uint32_t tid;	 /* in the collector's pid namespace */
	uint32_t inner;	 /* in the process's own */
	uint32_t tracer; /* pid of its debugger; 0: none */
	char state;	 /* as in proc(5) */
	char name[16];
	bool blocked, caught; /* the signal asked about */
};

/* Parses the text of /proc/<pid>/task/<tid>/status, and looks for SIGNAL in it. Returns 0 or
 * -EBADMSG. */
int hk_task_parse(const char *text, int signal, struct hk_task *ret_task);

/* Reads one thread. Returns 0, or -ENOENT or -ESRCH if there is none. */
int hk_task_read(uint32_t pid, uint32_t tid, int signal, struct hk_task *ret_task);

/* Lists the threads of process PID by their ids. The caller frees the list. Returns 0, -ENOMEM or
 * -errno. */
int hk_tasks_list(uint32_t pid, int signal, struct hk_task **ret_tasks, size_t *ret_count);

/* Returns the number of the system call that the thread waits in, or -1: none, or it may not be
 * known. */
long hk_task_call(uint32_t pid, uint32_t tid);

/* Returns the pid of the process that is INNER in the pid namespace with inode NAMESPACE, or 0 if
 * this namespace has none. */
uint32_t hk_tasks_find(uint64_t pid_namespace, uint32_t inner);

#endif
