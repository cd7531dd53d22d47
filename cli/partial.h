/* partial.h: a file that takes its place once it is whole: readers take half of one for all of it.
 *
 * Until then it lies beside its place, and goes if the program is ended by a signal; what was there
 * before stays until then. One at a time, main thread only.
 */
#ifndef HK_PARTIAL_H
#define HK_PARTIAL_H

#include <limits.h>

struct hk_partial {
	char path[PATH_MAX];	/* its place: where PATH is a link, the link's target */
	char partial[PATH_MAX]; /* "": there is none */
};

/* Begins a file for PATH. A descriptor; -EISDIR; -ENOTSUP: PATH is a pipe, a device, an open
 * descriptor, somebody else's file, or a link to none, to be written as it is; another -errno.
 * From then on SIGXFSZ is ignored. */
int hk_partial_open(struct hk_partial *file, const char *path);

/* Puts it into its place, replacing what is there. 0 or -errno: then it is still to be discarded.
 */
int hk_partial_publish(struct hk_partial *file);

/* Removes it, if it is not published; what is there stays. */
void hk_partial_discard(struct hk_partial *file);

#endif
