/* atomic_file.h: a file that appears at its path when it is complete, because readers would take a
 * part of it for the whole. Until then it has no name, so nothing is left of it however the program
 * ends. Without nameless files in the file system, or for a library that opens it by name, it has a
 * temporary name beside its path. Signals such as SIGINT and SIGTERM then remove it, SIGKILL does
 * not. A previous file at the path stays until then. One at a time, main thread only. */
#ifndef HK_CLI_ATOMIC_FILE_H
#define HK_CLI_ATOMIC_FILE_H

#include <limits.h>
#include <stdbool.h>

struct hk_atomic_file {
	char path[PATH_MAX];	/* final path; the target if PATH is a link */
	char partial[PATH_MAX]; /* temporary name; "": none */
	bool begun;		/* neither published nor discarded */
	bool nameless;
	int fd; /* descriptor of a nameless file */
};

/* Begins a file for PATH. Returns a descriptor, -EISDIR, or another -errno. Returns -ENOTSUP if the
 * caller must write to PATH in place. That is a pipe, a device, an open descriptor, a file of
 * another user, or a dangling link. From then on SIGXFSZ is ignored. */
int hk_atomic_file_open(struct hk_atomic_file *file, const char *path);

/* Does the same for a file that has its temporary name, `partial`, from the beginning. */
int hk_atomic_file_open_named(struct hk_atomic_file *file, const char *path);

/* Moves the file to its path and replaces a previous one. Returns 0, or -errno: the caller must
 * then discard the file. */
int hk_atomic_file_publish(struct hk_atomic_file *file);

/* Removes the file unless it is published. A previous file at its path stays. */
void hk_atomic_file_discard(struct hk_atomic_file *file);

#endif
