#include "collector/proc/tasks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STATUS_BYTES 8192u

static int read_status(const char *path, char text[STATUS_BYTES])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		return -errno;
	}
	ssize_t n = read(fd, text, STATUS_BYTES - 1);
	int r = n < 0 ? -errno : 0;
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return r;
}

/* Returns what follows NAME at the start of a line, or NULL. The name of a thread is on the first
 * line, where the kernel escapes line ends. */
static const char *field(const char *text, const char *name)
{
	size_t length = strlen(name);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, length) == 0) {
			return line + length + strspn(line + length, " \t");
		}
	}
	return NULL;
}

static bool has_signal(const char *text, const char *name, int signal)
{
	const char *mask = field(text, name);

	return mask && signal > 0 && signal <= 64 && strtoull(mask, NULL, 16) >> (signal - 1) & 1;
}

static uint32_t number(const char *text)
{
	return text ? (uint32_t)strtoul(text, NULL, 10) : 0;
}

/* Returns the last of the ids of a line, which is that of the innermost namespace. */
static uint32_t last_number(const char *text)
{
	uint32_t last = 0;
	char *end;

	while (text && *text >= '0' && *text <= '9') {
		last = (uint32_t)strtoul(text, &end, 10);
		text = end + strspn(end, " \t");
	}
	return last;
}

int hk_task_parse(const char *text, int signal, struct hk_task *ret_task)
{
	const char *name = field(text, "Name:"), *state = field(text, "State:");
	const char *inner = field(text, "NSpid:");
	struct hk_task task = {.tid = number(field(text, "Pid:"))};

	if (!name || !state || task.tid == 0) {
		return -EBADMSG;
	}
	snprintf(task.name, sizeof(task.name), "%.*s", (int)strcspn(name, "\n"), name);
	task.state = *state;
	task.inner = inner ? last_number(inner) : task.tid;
	task.tracer = number(field(text, "TracerPid:"));
	task.blocked = has_signal(text, "SigBlk:", signal);
	task.caught = has_signal(text, "SigCgt:", signal);
	*ret_task = task;
	return 0;
}

int hk_task_read(uint32_t pid, uint32_t tid, int signal, struct hk_task *ret_task)
{
	char path[64], text[STATUS_BYTES];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32 "/status", pid, tid);
	int r = read_status(path, text);
	return r < 0 ? r : hk_task_parse(text, signal, ret_task);
}

long hk_task_call(uint32_t pid, uint32_t tid)
{
	char path[64], text[STATUS_BYTES], *end = text;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32 "/syscall", pid, tid);
	long call = read_status(path, text) < 0 ? -1 : strtol(text, &end, 10);
	return end == text ? -1 : call; /* "running" */
}

static int by_tid(const void *a, const void *b)
{
	const struct hk_task *left = a, *right = b;

	return (left->tid > right->tid) - (left->tid < right->tid);
}

int hk_tasks_list(uint32_t pid, int signal, struct hk_task **ret_tasks, size_t *ret_count)
{
	struct hk_task *tasks = NULL;
	size_t count = 0, room = 0;
	const struct dirent *entry;
	char path[64];
	int r = 0;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", pid);
	DIR *directory = opendir(path);
	if (!directory) {
		return -errno;
	}
	while (r == 0 && count < HK_TASKS_MAX && (entry = readdir(directory))) {
		if (count == room) {
			room = room ? 2 * room : 16;
			struct hk_task *larger = reallocarray(tasks, room, sizeof(*tasks));
			r = larger ? 0 : -ENOMEM;
			tasks = larger ? larger : tasks;
		}
		uint32_t tid = number(entry->d_name);
		/* A thread may end meanwhile. */
		if (r == 0 && tid && hk_task_read(pid, tid, signal, &tasks[count]) == 0) {
			count++;
		}
	}
	closedir(directory);
	if (r < 0) {
		free(tasks);
		return r;
	}
	if (count > 0) {
		qsort(tasks, count, sizeof(*tasks), by_tid);
	}
	*ret_tasks = tasks;
	*ret_count = count;
	return 0;
}

static bool is_in(uint32_t pid, uint64_t pid_namespace)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/ns/pid", pid);
	return stat(path, &st) == 0 && st.st_ino == pid_namespace;
}

uint32_t hk_tasks_find(uint64_t pid_namespace, uint32_t inner)
{
	const struct dirent *entry;
	DIR *directory = opendir("/proc");
	uint32_t found = 0;

	while (directory && !found && (entry = readdir(directory))) {
		uint32_t pid = number(entry->d_name);
		struct hk_task task;
		if (pid && hk_task_read(pid, pid, 0, &task) == 0 && task.inner == inner &&
		    is_in(pid, pid_namespace)) {
			found = pid;
		}
	}
	if (directory) {
		closedir(directory);
	}
	return found;
}
