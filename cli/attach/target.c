#include "cli/attach/target.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/attach/thread.h"
#include "text/name.h"

#define KERNEL_THREAD 0x00200000u /* PF_KTHREAD among the flags of /proc/PID/stat */
#define YAMA "/proc/sys/kernel/yama/ptrace_scope"
#define SECCOMP_STRICT 1
#define SECCOMP_FILTER 2

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#else
#define MACHINE EM_AARCH64
#endif

__attribute__((format(printf, 2, 3))) static int refuse(char why[HK_ATTACH_WHY_BYTES],
							const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(why, HK_ATTACH_WHY_BYTES, format, arguments);
	va_end(arguments);
	return -ENOTSUP;
}

/* ---- what the kernel says ---- */

/* Returns the number after NAME in /proc/PID/status, or -1. */
static long status_number(pid_t pid, const char *name)
{
	char path[64], line[256];
	long number = -1;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	FILE *file = fopen(path, "re");
	while (file && number < 0 && fgets(line, sizeof(line), file)) {
		if (strncmp(line, name, strlen(name)) == 0) {
			number = strtol(line + strlen(name), NULL, 10);
		}
	}
	if (file) {
		fclose(file);
	}
	return number;
}

/* Reads state, parent, flags and start of PID from /proc/PID/stat, where the name in parentheses
 * may have any characters. */
static int read_stat(struct hk_target *target, pid_t *ret_parent, unsigned *ret_flags)
{
	char path[64], text[1024];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)target->pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0) {
		close(fd);
	}
	if (got <= 0) {
		return -ESRCH;
	}
	text[got] = '\0';
	const char *rest = strrchr(text, ')');
	int parent;
	if (!rest || sscanf(rest + 1,
			    " %c %d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
			    "%*d %" SCNu64,
			    &target->state, &parent, ret_flags, &target->start_ticks) != 4) {
		return -ESRCH;
	}
	*ret_parent = parent;
	return 0;
}

static void read_line(struct hk_target *target)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)target->pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, target->line, sizeof(target->line) - 1);
	if (fd >= 0) {
		close(fd);
	}
	for (ssize_t i = 0; i + 1 < got; i++) {
		target->line[i] = target->line[i] ? target->line[i] : ' ';
	}
	target->line[got > 0 ? got : 0] = '\0';
}

static void read_owner(struct hk_target *target)
{
	long uid = status_number(target->pid, "Uid:"), gid = status_number(target->pid, "Gid:");

	/* The second number of each is the effective one; they differ in set-user-ID programs only,
	 * in which the agent does not start. */
	target->uid = uid < 0 ? getuid() : (uid_t)uid;
	target->gid = gid < 0 ? getgid() : (gid_t)gid;
}

static int read_program(struct hk_target *target, char why[HK_ATTACH_WHY_BYTES])
{
	char link[64];

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)target->pid);
	ssize_t length = readlink(link, target->program, sizeof(target->program) - 1);
	if (length <= 0) {
		int error = errno;
		hk_target_explain(target, error, why);
		return -ENOTSUP;
	}
	target->program[length] = '\0';
	return 0;
}

/* ---- reasons ---- */

/* A static program must not ask the name service. */
const char *hk_target_user(uid_t uid, char *text, size_t size)
{
	FILE *file = fopen("/etc/passwd", "re");
	const struct passwd *entry;

	snprintf(text, size, "%u", (unsigned)uid);
	while (file && (entry = fgetpwent(file))) {
		if (entry->pw_uid == uid) {
			snprintf(text, size, "%s", entry->pw_name);
			break;
		}
	}
	if (file) {
		fclose(file);
	}
	return text;
}

/* Returns the process that traces a thread of PID, or 0. */
static pid_t tracer_of(pid_t pid)
{
	pid_t *tids, tracer = 0;
	ssize_t count = hk_thread_list(pid, &tids);

	for (ssize_t i = 0; i < count && tracer <= 0; i++) {
		tracer = (pid_t)status_number(tids[i], "TracerPid:");
	}
	if (count >= 0) {
		free(tids);
	}
	return tracer > 0 ? tracer : 0;
}

void hk_target_explain(const struct hk_target *target, int error, char why[HK_ATTACH_WHY_BYTES])
{
	pid_t tracer = error == EPERM ? tracer_of(target->pid) : 0;
	char name[64];
	FILE *file = fopen(YAMA, "re");
	int scope = 0;

	if (file) {
		if (fscanf(file, "%d", &scope) != 1) {
			scope = 0;
		}
		fclose(file);
	}
	if (error != EPERM && error != EACCES) {
		snprintf(why, HK_ATTACH_WHY_BYTES, "process %d: %s", (int)target->pid,
			 error == ESRCH ? "it has ended" : strerror(error));
	} else if (tracer > 0) {
		snprintf(why, HK_ATTACH_WHY_BYTES,
			 "process %d is held by process %d, another hookcli or a debugger: try "
			 "again when that has ended",
			 (int)target->pid, (int)tracer);
	} else if (geteuid() != 0 && target->uid != geteuid()) {
		snprintf(why, HK_ATTACH_WHY_BYTES,
			 "process %d belongs to user %s: run hookcli as that user or as root",
			 (int)target->pid, hk_target_user(target->uid, name, sizeof(name)));
	} else if (scope > 0) {
		snprintf(
		    why, HK_ATTACH_WHY_BYTES,
		    "process %d may not be traced: " YAMA
		    " is %d (sudo sysctl kernel.yama.ptrace_scope=0, or run hookcli as root%s)",
		    (int)target->pid, scope, scope > 2 ? ": not even then" : "");
	} else {
		snprintf(why, HK_ATTACH_WHY_BYTES,
			 "process %d may not be traced: the kernel refuses ptrace (it needs "
			 "CAP_SYS_PTRACE in a container)",
			 (int)target->pid);
	}
}

static int check_state(const struct hk_target *target, unsigned flags,
		       char why[HK_ATTACH_WHY_BYTES])
{
	int pid = (int)target->pid;

	if (pid == getpid()) {
		return refuse(why, "process %d is hookcli itself", pid);
	}
	if (flags & KERNEL_THREAD) {
		return refuse(why, "process %d is a thread of the kernel", pid);
	}
	if (target->state == 'Z' || target->state == 'X') {
		return refuse(why, "process %d has ended: its parent has not waited for it", pid);
	}
	if (target->tracer > 0) {
		return refuse(why,
			      "process %d is traced by process %d, a debugger: detach that first",
			      pid, (int)target->tracer);
	}
	if (target->state == 'T' || target->state == 't') {
		return refuse(why, "process %d is stopped: continue it first (kill -CONT %d)", pid,
			      pid);
	}
	return 0;
}

/* A filter that the process put on itself may kill it for what the loader asks of the kernel. One
 * that it was started with, as in containers, lets programs load libraries. */
static int check_sandbox(const struct hk_target *target, pid_t parent,
			 char why[HK_ATTACH_WHY_BYTES])
{
	long mode = status_number(target->pid, "Seccomp:");
	long own = status_number(target->pid, "Seccomp_filters:");
	long inherited = status_number(parent, "Seccomp_filters:");

	if (mode == SECCOMP_STRICT ||
	    (mode == SECCOMP_FILTER && own > (inherited > 0 ? inherited : 0) && parent > 1)) {
		return refuse(
		    why, "process %d is a sandbox: its filter may kill it for loading a library",
		    (int)target->pid);
	}
	return 0;
}

/* A shadow stack ends a program that returns to an address that it did not call from. */
static int check_shadow_stack(const struct hk_target *target, char why[HK_ATTACH_WHY_BYTES])
{
	char path[64], line[256];
	bool has = false;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)target->pid);
	FILE *file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		has |= strncmp(line, "x86_Thread_features:", 20) == 0 && strstr(line, "shstk");
	}
	if (file) {
		fclose(file);
	}
	return has ? refuse(why, "process %d has a shadow stack, which forbids injected calls",
			    (int)target->pid)
		   : 0;
}

/* Checks the program's file: its class and its machine. */
static int check_file(const struct hk_target *target, char why[HK_ATTACH_WHY_BYTES])
{
	char path[64];
	Elf64_Ehdr header = {0};

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)target->pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : pread(fd, &header, sizeof(header), 0);
	int error = errno;
	if (fd >= 0) {
		close(fd);
	}
	if (got < 0) {
		hk_target_explain(target, error, why);
		return -ENOTSUP;
	}
	if (got != (ssize_t)sizeof(header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != MACHINE) {
		return refuse(why,
			      "process %d runs a program of another architecture (%s): hookcli and "
			      "the agent are 64-bit",
			      (int)target->pid, target->program);
	}
	return 0;
}

static int check_libraries(const struct hk_target *target, char why[HK_ATTACH_WHY_BYTES])
{
	const struct hk_maps *maps = &target->maps;
	int pid = (int)target->pid;

	if (hk_maps_file(maps, hk_map_is_libc)) {
		return 0;
	}
	if (hk_maps_file(maps, hk_map_is_musl)) {
		return refuse(why, "process %d uses musl: the agent needs glibc", pid);
	}
	if (!hk_maps_file(maps, hk_map_is_loader)) {
		return refuse(why, "process %d runs a static program (%s): it can load no library",
			      pid, target->program);
	}
	return refuse(why, "process %d has not loaded its libraries yet: try again", pid);
}

/* ---- ---- */

int hk_target_refresh(struct hk_target *target)
{
	hk_maps_free(&target->maps);
	int r = hk_maps_read(target->pid, &target->maps);
	target->agent = r < 0 ? NULL : hk_maps_file(&target->maps, hk_map_is_agent);
	return r;
}

int hk_target_examine(pid_t pid, struct hk_target *ret_target, char why[HK_ATTACH_WHY_BYTES])
{
	struct hk_target target = {.pid = pid};
	pid_t parent = 0;
	unsigned flags = 0;

	if (read_stat(&target, &parent, &flags) < 0) {
		refuse(why, "there is no process %d", (int)pid);
		return -ESRCH;
	}
	target.tracer = (pid_t)status_number(pid, "TracerPid:");
	read_owner(&target);
	read_line(&target);
	int r = check_state(&target, flags, why);
	r = r < 0 ? r : read_program(&target, why);
	r = r < 0 ? r : check_file(&target, why);
	r = r < 0 ? r : check_sandbox(&target, parent, why);
	r = r < 0 ? r : check_shadow_stack(&target, why);
	if (r == 0) {
		int read = hk_target_refresh(&target);
		if (read < 0) {
			hk_target_explain(&target, -read, why);
			r = -ENOTSUP;
		}
	}
	r = r < 0 ? r : check_libraries(&target, why);
	if (r < 0) {
		hk_maps_free(&target.maps);
		return r;
	}
	if (!target.line[0]) {
		snprintf(target.line, sizeof(target.line), "%.1000s", target.program);
	}
	*ret_target = target;
	return 0;
}

void hk_target_free(struct hk_target *target)
{
	hk_maps_free(&target->maps);
}

bool hk_target_lives(const struct hk_target *target)
{
	struct hk_target now = {.pid = target->pid};
	pid_t parent;
	unsigned flags;

	return read_stat(&now, &parent, &flags) == 0 && now.start_ticks == target->start_ticks &&
	       now.state != 'Z' && now.state != 'X';
}

bool hk_target_sees(const struct hk_target *target, const char *path)
{
	char theirs[PATH_MAX + 64];
	struct stat a, b;

	snprintf(theirs, sizeof(theirs), "/proc/%d/root%s", (int)target->pid, path);
	return stat(path, &a) == 0 && stat(theirs, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}
