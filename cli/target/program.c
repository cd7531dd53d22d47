#include "cli/target/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "elf/elf_file.h"

#define SHELL "/bin/sh"	 /* runs text without a #! line */
#define HEAD_BYTES 4096u /* read from the start of a file: an ELF header or a #! line */
#define GO_NOTE 4u	 /* type of the note by which the Go linker marks programs */
#define SCRIPTS_MAX 5u	 /* scripts that interpret scripts; the kernel follows as many */

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#endif

/* ---- finding the program ---- */

static int executable(const char *path)
{
	struct stat status;

	if (stat(path, &status) < 0) {
		return errno == ENOENT || errno == ENOTDIR ? -ENOENT : -EACCES;
	}
	return S_ISREG(status.st_mode) && access(path, X_OK) == 0 ? 0 : -EACCES;
}

int hk_program_find(const char *name, char path[PATH_MAX])
{
	const char *directories = getenv("PATH");
	int result = -ENOENT;

	if (strchr(name, '/')) {
		snprintf(path, PATH_MAX, "%s", name);
		return executable(path);
	}
	directories = directories ? directories : "/bin:/usr/bin";
	while (*name) {
		size_t length = strcspn(directories, ":");
		int written =
		    length ? snprintf(path, PATH_MAX, "%.*s/%s", (int)length, directories, name)
			   : snprintf(path, PATH_MAX, "./%s", name);
		int found = written < PATH_MAX ? executable(path) : -ENOENT;
		if (found == 0) {
			return 0;
		}
		result = found == -EACCES ? found : result;
		if (!directories[length]) {
			break;
		}
		directories += length + 1;
	}
	return result;
}

/* ---- reading its file ---- */

/* A program's file: its start, and what was found in its headers. */
struct image {
	const char *path;
	int fd;
	struct stat status;
	char head[HEAD_BYTES + 1];
	size_t head_bytes;
	char loader[PATH_MAX]; /* PT_INTERP, or empty */
	bool go;
};

__attribute__((format(printf, 4, 5))) static void tell(struct hk_check_result *result,
						       enum hk_check_state state, const char *fix,
						       const char *format, ...)
{
	va_list arguments;

	result->state = state;
	va_start(arguments, format);
	vsnprintf(result->detail, sizeof(result->detail), format, arguments);
	va_end(arguments);
	snprintf(result->fix, sizeof(result->fix), "%s", fix);
}

static int image_open(struct image *image, const char *path)
{
	memset(image, 0, sizeof(*image));
	image->path = path;
	image->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (image->fd < 0) {
		return -errno;
	}
	ssize_t got = fstat(image->fd, &image->status) < 0
			  ? -1
			  : pread(image->fd, image->head, HEAD_BYTES, 0);
	if (got < 0) {
		int error = errno;
		close(image->fd);
		return -error;
	}
	image->head_bytes = (size_t)got;
	return 0;
}

/* Returns true if the program runs with rights that its caller does not have, by the kernel's
 * rules. The loader then ignores LD_PRELOAD. */
static bool raises_rights(const struct image *image)
{
	struct statvfs mount;
	mode_t mode = image->status.st_mode;
	bool sets = (mode & S_ISUID && image->status.st_uid != getuid()) ||
		    ((mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
		     image->status.st_gid != getgid()) ||
		    (getuid() != 0 && fgetxattr(image->fd, "security.capability", NULL, 0) > 0);

	return sets && fstatvfs(image->fd, &mount) == 0 && !(mount.f_flag & ST_NOSUID);
}

/* ---- checking it ---- */

static int check_loader(const struct image *image, struct hk_check_result *result)
{
	const char *slash = strrchr(image->loader, '/');
	const char *base = slash ? slash + 1 : image->loader;

	if (!*image->loader) {
		/* The loader itself has no PT_INTERP, but loads preloaded libraries. */
		slash = strrchr(image->path, '/');
		base = slash ? slash + 1 : image->path;
		if (strncmp(base, "ld-", 3) == 0 || strncmp(base, "ld.so", 5) == 0) {
			tell(result, HK_CHECK_OK, "", "%.300s is the loader", image->path);
			return 0;
		}
		tell(result, HK_CHECK_FAILED,
		     "link it dynamically: without -static or -static-pie; Go: with cgo",
		     "%.300s is a static program: nothing can be preloaded into it", image->path);
	} else if (strncmp(base, "ld-musl", 7) == 0) {
		tell(result, HK_CHECK_FAILED,
		     "build it with a glibc toolchain, or trace it in a glibc container",
		     "%.300s is linked with musl: the agent needs glibc and stays off",
		     image->path);
	} else if (access(image->loader, X_OK) < 0) {
		tell(result, HK_CHECK_FAILED, "install the C library it was built for",
		     "%.200s cannot be executed: its loader %.200s is not there", image->path,
		     image->loader);
		return -ENOENT;
	} else if (image->go) {
		tell(result, HK_CHECK_NOTE, "",
		     "%.300s is a Go program: Go makes its system calls itself, so only what it "
		     "calls "
		     "through cgo is seen",
		     image->path);
	} else {
		tell(result, HK_CHECK_OK, "", "%.300s is loaded by %.150s", image->path,
		     image->loader);
	}
	return 0;
}

static int check_headers(struct image *image, const struct hk_elf *elf,
			 struct hk_check_result *result)
{
	if (hk_elf_loader(elf, image->loader) < 0) {
		tell(result, HK_CHECK_FAILED, "build or copy it again",
		     "%.300s has damaged program headers", image->path);
		return -ENOEXEC;
	}
	image->go = hk_elf_has_note(elf, GO_NOTE, "Go");
	return check_loader(image, result);
}

static int check_machine(struct image *image, const struct hk_elf *elf,
			 struct hk_check_result *result)
{
	GElf_Ehdr header;

	if (gelf_getclass(elf->elf) != ELFCLASS64) {
		tell(result, HK_CHECK_FAILED, "build it for 64 bits",
		     "%.300s is a 32-bit program: the agent is a 64-bit library", image->path);
	} else if (gelf_getehdr(elf->elf, &header) && header.e_machine != MACHINE) {
		tell(result, HK_CHECK_FAILED, "build it, or hooktrace, for the same machine",
		     "%.300s is for another processor (ELF machine %u) than the agent", image->path,
		     header.e_machine);
	} else {
		return check_headers(image, elf, result);
	}
	return 0;
}

static int check_elf(struct image *image, struct hk_check_result *result)
{
	struct hk_elf elf;

	if (raises_rights(image)) {
		tell(result, HK_CHECK_FAILED,
		     "trace a copy without these rights, or run it as their owner",
		     "%.300s is setuid, setgid or has capabilities: the loader preloads nothing",
		     image->path);
		return 0;
	}
	int fd = fcntl(image->fd, F_DUPFD_CLOEXEC, 0);
	int r = fd < 0 ? -errno : hk_elf_begin(fd, &elf);
	if (r < 0) {
		tell(result, HK_CHECK_FAILED, "build or copy it again",
		     "%.300s has a damaged header", image->path);
		return r;
	}
	r = check_machine(image, &elf, result);
	hk_elf_close(&elf);
	return r;
}

/* Returns the interpreter in the first line of a script, or NULL if there is none. Changes the
 * line. */
static char *interpreter_of(struct image *image)
{
	char *at = image->head + 2;

	at[strcspn(at, "\n")] = '\0';
	at += strspn(at, " \t");
	at[strcspn(at, " \t")] = '\0';
	return *at ? at : NULL;
}

static void tell_missing(struct hk_check_result *result, const char *name, int error)
{
	if (error == -ENOENT) {
		tell(result, HK_CHECK_FAILED, "give its path, or add its directory to PATH",
		     "%.300s: there is no such command", name);
	} else {
		tell(result, HK_CHECK_FAILED, "name a program, and let it be executed: chmod +x",
		     "%.300s is not an executable program", name);
	}
}

static bool is_elf(const struct image *image)
{
	return image->head_bytes >= sizeof(Elf64_Ehdr) && memcmp(image->head, ELFMAG, SELFMAG) == 0;
}

static bool is_text(const struct image *image)
{
	return !is_elf(image) && !memchr(image->head, '\0', image->head_bytes);
}

static bool is_script(const struct image *image)
{
	return image->head_bytes > 2 && memcmp(image->head, "#!", 2) == 0;
}

bool hk_program_is_text(const char *path)
{
	struct image image;

	if (image_open(&image, path) < 0) {
		return false;
	}
	bool text = is_text(&image) && !is_script(&image);
	close(image.fd);
	return text;
}

/* Examines the file at PATH. Returns 1 for a script, with PATH set to its interpreter, or 0 with
 * the result of the check. Returns -errno, also with a result, if the file cannot be executed. */
static int follow(const char *name, char path[PATH_MAX], struct hk_check_result *result)
{
	struct image image;
	int r = image_open(&image, path);

	if (r < 0) {
		tell(result, HK_CHECK_NOTE, "", "%.300s cannot be read to look at it", path);
		return 0;
	}
	const char *interpreter = is_script(&image) ? interpreter_of(&image)
				  : is_text(&image) ? SHELL
						    : NULL;
	if (is_elf(&image)) {
		r = check_elf(&image, result);
	} else if (!interpreter) {
		tell(result, HK_CHECK_FAILED, "name a program or a script with a #! line",
		     "%.300s is neither an ELF program nor a script", path);
		r = -ENOEXEC;
	}
	close(image.fd);
	if (!interpreter) {
		return r;
	}
	snprintf(path, PATH_MAX, "%s", interpreter);
	r = executable(path);
	if (r < 0) {
		tell(result, HK_CHECK_FAILED, "install it, or correct the first line",
		     "%.200s: its interpreter %.200s cannot be executed", name, path);
		return r;
	}
	return 1;
}

int hk_program_check(const char *name, char path[PATH_MAX], struct hk_check_result *ret_result)
{
	int r = hk_program_find(name, path);

	memset(ret_result, 0, sizeof(*ret_result));
	if (r < 0) {
		tell_missing(ret_result, name, r);
		return r;
	}
	r = 1;
	for (unsigned depth = 0; depth <= SCRIPTS_MAX && r > 0; depth++) {
		r = follow(name, path, ret_result);
	}
	if (r > 0) {
		tell(ret_result, HK_CHECK_FAILED, "name its last interpreter",
		     "%.300s: a script of a script of a script", name);
		r = -ENOEXEC;
	}
	return r;
}
