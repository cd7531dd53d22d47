#include "agent/wrap/target.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ring/kernel.h"

#define HEAD_BYTES 1024u
#define SCRIPTS_MAX 4u

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#endif

static bool is_executable(const char *path)
{
	struct stat status;
	return hk_kernel(SYS_newfstatat, AT_FDCWD, path, &status, 0, 0, 0) == 0 &&
	       S_ISREG(status.st_mode) &&
	       hk_kernel(SYS_faccessat, AT_FDCWD, path, X_OK, 0, 0, 0) == 0;
}

bool hk_target_find(const char *name, const char *search, char path[HK_TARGET_PATH_BYTES])
{
	size_t length = strlen(name);
	if (strchr(name, '/')) {
		if (length < HK_TARGET_PATH_BYTES) {
			memcpy(path, name, length + 1);
		}
		return length < HK_TARGET_PATH_BYTES && is_executable(path);
	}
	for (search = search ? search : "/bin:/usr/bin"; length > 0;) {
		size_t directory = strcspn(search, ":");
		if (directory + length + 2 <= HK_TARGET_PATH_BYTES) {
			memcpy(path, search, directory);
			path[directory] = '/';
			/* An empty directory is the current one. */
			memcpy(path + directory + (directory > 0), name, length + 1);
			if (is_executable(path)) {
				return true;
			}
		}
		if (!search[directory]) {
			break;
		}
		search += directory + 1;
	}
	return false;
}

/* The kernel's rules, except that a mount option may switch them off. */
static bool raises_rights(const char *path, const struct stat *status)
{
	mode_t mode = status->st_mode;
	uid_t user = (uid_t)hk_kernel(SYS_getuid, 0, 0, 0, 0, 0, 0);
	return ((mode & S_ISUID) && status->st_uid != user) ||
	       ((mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
		status->st_gid != (gid_t)hk_kernel(SYS_getgid, 0, 0, 0, 0, 0, 0)) ||
	       (user != 0 && hk_kernel(SYS_getxattr, path, "security.capability", 0, 0, 0, 0) > 0);
}

static bool is_loader(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	return strncmp(base, "ld-", 3) == 0 || strncmp(base, "ld.so", 5) == 0;
}

/* Reads the loader of the program in FD, whose first BYTES bytes are HEAD. */
static enum hk_bare_reason judge_elf(int fd, const char *path, const char *head, size_t bytes)
{
	Elf64_Ehdr header;
	Elf64_Phdr phdr;
	char loader[64] = "";
	memcpy(&header, head, sizeof(header));
	if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != MACHINE) {
		return HK_BARE_FOREIGN;
	}
	if (header.e_phentsize != sizeof(phdr) || header.e_phoff > bytes ||
	    header.e_phnum > (bytes - header.e_phoff) / sizeof(phdr)) {
		return 0;
	}
	for (unsigned i = 0; i < header.e_phnum; i++) {
		memcpy(&phdr, head + header.e_phoff + i * sizeof(phdr), sizeof(phdr));
		if (phdr.p_type == PT_INTERP) {
			hk_kernel(SYS_pread64, fd, loader, sizeof(loader) - 1, phdr.p_offset, 0, 0);
			return strstr(loader, "/ld-musl") ? HK_BARE_FOREIGN : 0;
		}
	}
	return is_loader(path) ? 0 : HK_BARE_STATIC;
}

/* Cuts HEAD to the interpreter of a script. Returns NULL if it is no script. */
static char *interpreter_of(char *head)
{
	if (head[0] != '#' || head[1] != '!') {
		return NULL;
	}
	char *at = head + 2;
	at += strspn(at, " \t");
	at[strcspn(at, " \t\r\n")] = '\0';
	return *at && strlen(at) < HK_TARGET_PATH_BYTES ? at : NULL;
}

/* Sets *RET_INTERPRETER to the interpreter of a script, in HEAD, else to NULL. */
static enum hk_bare_reason judge(const char *path, char head[HEAD_BYTES + 1],
				 const char **ret_interpreter)
{
	struct stat status;
	enum hk_bare_reason reason = 0;
	*ret_interpreter = NULL;
	if (hk_kernel(SYS_newfstatat, AT_FDCWD, path, &status, 0, 0, 0) < 0 ||
	    !S_ISREG(status.st_mode)) {
		return 0;
	}
	int fd = (int)hk_kernel(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
	long got = fd < 0 ? 0 : hk_kernel(SYS_pread64, fd, head, HEAD_BYTES, 0, 0, 0);
	head[got > 0 ? got : 0] = '\0';
	if (got > 2 && head[0] == '#') {
		*ret_interpreter = interpreter_of(head);
	} else if (raises_rights(path, &status)) {
		reason = HK_BARE_RIGHTS;
	} else if (got >= (long)sizeof(Elf64_Ehdr) && memcmp(head, ELFMAG, SELFMAG) == 0) {
		reason = judge_elf(fd, path, head, (size_t)got);
	}
	if (fd >= 0) {
		hk_kernel(SYS_close, fd, 0, 0, 0, 0, 0);
	}
	return reason;
}

enum hk_bare_reason hk_target_reason(const char *path)
{
	char head[HEAD_BYTES + 1], next[HK_TARGET_PATH_BYTES];
	for (unsigned depth = 0; depth <= SCRIPTS_MAX; depth++) {
		const char *interpreter;
		enum hk_bare_reason reason = judge(path, head, &interpreter);
		if (!interpreter) {
			return reason;
		}
		memcpy(next, interpreter, strlen(interpreter) + 1);
		path = next;
	}
	return 0;
}
