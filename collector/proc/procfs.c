#include "collector/proc/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIELD_STATE 3 /* numbers as in proc(5) */
#define FIELD_PPID 4
#define FIELD_UTIME 14
#define FIELD_STIME 15
#define FIELD_THREADS 20
#define FIELD_START 22
#define FIELD_EXIT_CODE 52
#define FIELDS 53

static int read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		return -errno;
	}
	ssize_t n = read(fd, text, size - 1);
	int r = n < 0 ? -errno : 0;
	close(fd);
	if (r == 0) {
		text[n] = '\0';
	}
	return r;
}

int hk_procfs_parse_stat(const char *text, struct hk_procfs_stat *ret_stat)
{
	/* The name is in parentheses and may contain parentheses, so the last one ends it. */
	const char *at = strrchr(text, ')');
	uint64_t value[FIELDS] = {0};
	char state;
	int length;
	if (!at || sscanf(at + 1, " %c%n", &state, &length) != 1) {
		return -EBADMSG;
	}
	at += 1 + length;
	int field = FIELD_STATE + 1;
	for (;
	     field < FIELDS && sscanf(at, " %" SCNd64 "%n", (int64_t *)&value[field], &length) == 1;
	     field++) {
		at += length;
	}
	if (field <= FIELD_START) {
		return -EBADMSG;
	}
	uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	*ret_stat = (struct hk_procfs_stat){
	    .state = state,
	    .ppid = (uint32_t)value[FIELD_PPID],
	    .cpu_ns = (value[FIELD_UTIME] + value[FIELD_STIME]) * tick_ns,
	    .threads = (uint32_t)value[FIELD_THREADS],
	    .start_ticks = value[FIELD_START],
	    .exit_code = (int32_t)value[FIELD_EXIT_CODE],
	};
	return 0;
}

int hk_procfs_stat(uint32_t pid, struct hk_procfs_stat *ret_stat)
{
	char path[64], text[2048];
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/stat", pid);
	int r = read_text(path, text, sizeof(text));
	return r < 0 ? r : hk_procfs_parse_stat(text, ret_stat);
}

int hk_procfs_rss_peak(uint32_t pid, uint64_t *ret_bytes)
{
	char path[64], text[8192];
	uint64_t kib;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", pid);
	int r = read_text(path, text, sizeof(text));
	if (r < 0) {
		return r;
	}
	const char *line = strstr(text, "\nVmHWM:");
	if (!line || sscanf(line, "\nVmHWM: %" SCNu64 " kB", &kib) != 1) {
		return -ENOENT;
	}
	*ret_bytes = kib << 10;
	return 0;
}

int hk_procfs_delay(uint32_t pid, uint64_t *ret_ns)
{
	char path[64], text[128];
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/schedstat", pid);
	int r = read_text(path, text, sizeof(text));
	if (r < 0) {
		return r;
	}
	return sscanf(text, "%*u %" SCNu64, ret_ns) == 1 ? 0 : -EBADMSG;
}

int hk_procfs_program(uint32_t pid, char *path, size_t size)
{
	static const char deleted[] = " (deleted)";
	char link[64];
	snprintf(link, sizeof(link), "/proc/%" PRIu32 "/exe", pid);
	ssize_t n = readlink(link, path, size - 1);
	if (n < 0) {
		return -errno;
	}
	path[n] = '\0';
	size_t tail = sizeof(deleted) - 1;
	if ((size_t)n > tail && memcmp(path + n - tail, deleted, tail) == 0) {
		path[(size_t)n - tail] = '\0';
	}
	return 0;
}

bool hk_procfs_maps(uint32_t pid, const char *name)
{
	char path[64], line[PATH_MAX + 128];
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", pid);
	FILE *maps = fopen(path, "re");
	bool found = false;
	while (maps && !found && fgets(line, sizeof(line), maps)) {
		found = strstr(line, name) != NULL;
	}
	if (maps) {
		fclose(maps);
	}
	return found;
}

int hk_procfs_each_map(uint32_t pid, int (*function)(const char *path, void *data), void *data)
{
	char name[64], line[PATH_MAX + 128];
	int r = 0;
	snprintf(name, sizeof(name), "/proc/%" PRIu32 "/maps", pid);
	FILE *maps = fopen(name, "re");
	if (!maps) {
		return -errno;
	}
	while (r == 0 && fgets(line, sizeof(line), maps)) {
		char *path = strchr(line, '/');
		line[strcspn(line, "\n")] = '\0';
		r = path ? function(path, data) : 0;
	}
	fclose(maps);
	return r;
}

int hk_procfs_thread_name(uint32_t pid, uint32_t tid, char *name, size_t size)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32 "/comm", pid, tid);
	int r = read_text(path, name, size);
	if (r == 0) {
		name[strcspn(name, "\n")] = '\0';
	}
	return r;
}

uint64_t hk_procfs_pid_namespace(void)
{
	struct stat st;
	return stat("/proc/self/ns/pid", &st) < 0 ? 0 : st.st_ino;
}
