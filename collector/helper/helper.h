/* helper.h: a process that works for the collector, and the socket to it. One thread; nothing
 * waits. */
#ifndef HK_COLLECTOR_HELPER_HELPER_H
#define HK_COLLECTOR_HELPER_HELPER_H

#include <sys/types.h>

#define HK_HELPER_ENDED_MOST 8u /* processes killed while a slow disk keeps them */

struct hk_helper {
	int fd; /* SOCK_SEQPACKET; -1: there is no process */
	pid_t pid;
	pid_t ended[HK_HELPER_ENDED_MOST]; /* not waited for yet; 0: none */
};

/* No process yet. */
#define HK_HELPER_INIT ((struct hk_helper){.fd = -1})

/* Starts the program PATH with ARGUMENTS, its other end of the socket as standard input, the rest
 * /dev/null. There must be no process. Returns 0, -EAGAIN if earlier ones still end, or -errno. */
int hk_helper_start(struct hk_helper *helper, const char *path, char *const *arguments);

/* Ends the process, if there is one. */
void hk_helper_end(struct hk_helper *helper);

#endif
