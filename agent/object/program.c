#include "agent/object/program.h"

#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "ring/kernel.h"

/* Longest text before a path: two numbers, four flags, an offset, a device and an inode. */
#define LINE_BYTES (PATH_MAX + 128)

static char program[PATH_MAX];

/* Finds the program, which the loader lists first. */
static int find_part(struct dl_phdr_info *info, size_t size, void *ret_address)
{
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type == PT_LOAD) {
			*(uintptr_t *)ret_address = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
			return 1;
		}
	}
	return 1;
}

/* Reads hexadecimal digits and skips the character after them. */
static uintptr_t take_number(const char **at)
{
	uintptr_t number = 0;
	for (; **at && strchr("0123456789abcdef", **at); (*at)++) {
		number = number * 16 + (uintptr_t)(**at <= '9' ? **at - '0' : **at - 'a' + 10);
	}
	*at += **at != 0;
	return number;
}

/* LINE of /proc/self/maps: "first-end flags offset device inode   path". */
static bool take_path(const char *line, uintptr_t address, char path[PATH_MAX])
{
	uintptr_t first = take_number(&line), end = take_number(&line);
	const char *found = strchr(line, '/');
	if (address < first || address >= end || !found || strlen(found) >= PATH_MAX) {
		return false;
	}
	memcpy(path, found, strlen(found) + 1);
	return true;
}

static void find_mapped(uintptr_t address, char path[PATH_MAX])
{
	char text[LINE_BYTES];
	size_t held = 0;
	long got;
	bool found = false;
	int fd =
	    (int)hk_kernel(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0, 0, 0);
	while (fd >= 0 && !found &&
	       (got = hk_kernel(SYS_read, fd, text + held, sizeof(text) - 1 - held, 0, 0, 0)) > 0) {
		held += (size_t)got;
		text[held] = 0;
		char *line = text, *end;
		while (!found && (end = strchr(line, '\n'))) {
			*end = 0;
			found = take_path(line, address, path);
			line = end + 1;
		}
		held -= (size_t)(line - text);
		memmove(text, line, held);
	}
	if (fd >= 0) {
		hk_kernel(SYS_close, fd, 0, 0, 0, 0, 0);
	}
}

static const char *name_in(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* Returns whether both paths exist and name the same file. */
static bool same_file(const char *one, const char *other)
{
	struct stat a, b;
	return hk_kernel(SYS_newfstatat, AT_FDCWD, one, &a, 0, 0, 0) == 0 &&
	       hk_kernel(SYS_newfstatat, AT_FDCWD, other, &b, 0, 0, 0) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Returns whether PATH is a name of the kernel for an open file. */
static bool is_made_up(const char *path)
{
	return strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/dev/", 5) == 0;
}

/* Replaces PATH, in which the kernel has resolved links, by the name by which the program was
 * started. The name of a script is that of another file and is not used. */
static void take_started_name(char path[PATH_MAX])
{
	const char *started =
	    (const char *)getauxval(AT_EXECFN); /* relative to the working directory at the start */
	if (!started || is_made_up(started) || strcmp(name_in(started), name_in(path)) == 0 ||
	    !same_file(started, "/proc/self/exe")) {
		return;
	}
	while (strncmp(started, "./", 2) == 0) {
		started += 2;
	}
	char directory[PATH_MAX] = "";
	if (*started != '/' && hk_kernel(SYS_getcwd, directory, PATH_MAX, 0, 0, 0, 0) < 0) {
		return;
	}
	size_t used = strlen(directory), length = strlen(started);
	if (used + 1 + length >= PATH_MAX) {
		return;
	}
	memcpy(path, directory, used);
	if (used > 1) {
		path[used++] = '/';
	}
	memcpy(path + used, started, length + 1);
}

void hk_program_find(void)
{
	uintptr_t part = 0;
	long length =
	    hk_kernel(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", program, PATH_MAX - 1, 0, 0);
	program[length > 0 ? length : 0] = 0;
	take_started_name(program);
	/* Otherwise the kernel started the program, with a loader. */
	if (!getauxval(AT_BASE) && dl_iterate_phdr(find_part, &part)) {
		find_mapped(part, program);
	}
}

const char *hk_program_path(void)
{
	return program;
}

const char *hk_program_path_of(const struct hk_object *object)
{
	return object->name[0] ? object->name : program;
}
