#include "agent/record/self.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>

#include "ring/kernel.h"

static long read_file(const char *path, char *text, size_t room)
{
	int fd = (int)hk_kernel(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
	if (fd < 0) {
		return fd;
	}
	long length = hk_kernel(SYS_read, fd, text, room - 1, 0, 0, 0);
	hk_kernel(SYS_close, fd, 0, 0, 0, 0, 0);
	text[length > 0 ? length : 0] = 0;
	return length;
}

uint64_t hk_self_number(const char *text)
{
	uint64_t value = 0;
	while (*text >= '0' && *text <= '9') {
		value = value * 10 + (uint64_t)(*text++ - '0');
	}
	return value;
}

/* Fields are counted from the last ')': the command may hold anything. */
uint64_t hk_self_start_time(void)
{
	char stat[512]; /* at most a name of 64 bytes and 20 numbers come before the field */
	if (read_file("/proc/self/stat", stat, sizeof(stat)) <= 0) {
		return 0;
	}
	char *at = stat;
	for (char *in = stat; *in; in++) {
		at = *in == ')' ? in : at;
	}
	for (int field = 2; field < 22 && *at; at++) {
		field += *at == ' ';
	}
	return hk_self_number(at);
}

/* Reads the inode of a link such as "pid:[4026531836]". */
uint64_t hk_self_pid_namespace(void)
{
	char link[64] = "";
	long length =
	    hk_kernel(SYS_readlinkat, AT_FDCWD, "/proc/self/ns/pid", link, sizeof(link) - 1, 0, 0);
	return length > 5 ? hk_self_number(link + 5) : 0;
}

uint64_t hk_self_status(const char *name)
{
	char status[4096];
	if (read_file("/proc/self/status", status, sizeof(status)) <= 0) {
		return 0;
	}
	bool begins = true;
	for (const char *at = status; *at; at++) {
		size_t same = 0;
		while (begins && name[same] && at[same] == name[same]) {
			same++;
		}
		if (!name[same]) {
			for (at += same; *at == ' ' || *at == '\t'; at++) {
			}
			return hk_self_number(at);
		}
		begins = *at == '\n';
	}
	return 0;
}
