/* atomic_file.h: a file that takes its place once it is whole: readers take half of one for all of
 * it.
 *
 * Until then it has no name, so that nothing stays of it whatever ends the program. Where the file
 * system has no such files, or somebody else is to open it by name, it lies beside its place and
 * goes with any signal but SIGKILL. What was there before stays until then. One at a time, main
 * thread only.
 */
#ifndef HK_CLI_ATOMIC_FILE_H
#define HK_CLI_ATOMIC_FILE_H

#include <limits.h>
#include <stdbool.h>

struct hk_atomic_file {
	char path[PATH_MAX];	/* its place: where PATH is a link, the link's target */
	char partial[PATH_MAX]; /* its name until then; "": none */
	bool begun;		/* neither published nor discarded */
	bool nameless;
	int fd; /* what a nameless one is held by */
};

/* Begins a file for PATH. A descriptor; -EISDIR; -ENOTSUP: PATH is a pipe, a device, an open
 * descriptor, somebody else's file, or a link to none, to be written as it is; another -errno.
 * From then on SIGXFSZ is ignored. */
int hk_atomic_file_open(struct hk_atomic_file *file, const char *path);

/* The same for a file that has a name, `partial`, from the beginning. */
int hk_atomic_file_open_named(struct hk_atomic_file *file, const char *path);

/* Puts it into its place, replacing what is there. 0 or -errno: then it is still to be discarded.
 */
int hk_atomic_file_publish(struct hk_atomic_file *file);

/* Removes it, if it is not published; what is there stays. */
void hk_atomic_file_discard(struct hk_atomic_file *file);

#endif
