/* dialer.h: connects a socket, once, on a thread of its own, and says why it could not.
 *
 * NNG dials in the background as well, but then never says what is wrong. One owner, whose thread
 * calls everything here.
 */
#ifndef HK_COLLECTOR_LINK_DIALER_H
#define HK_COLLECTOR_LINK_DIALER_H

#include <nng/nng.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "wire/access.h"

/* Zero it first. */
struct hk_dialer {
	pthread_t thread;
	bool begun; /* there is a thread */
	nng_socket socket;
	const char *url;
	const struct hk_access *access;
	int event_fd;
	_Atomic bool done; /* the thread touches nothing more */
	int error;
	char problem[HK_ACCESS_PROBLEM_BYTES];
	char certificate[HK_ACCESS_PROBLEM_BYTES]; /* what is wrong with the peer's, at ... */
	uint64_t looked_ns; /* monotonic, 0: never; it takes a connection more each time */
};

/* Begins to connect SOCKET to URL; both texts and ACCESS are kept by reference. EVENT_FD, an
 * eventfd, becomes readable when it has failed. -errno: no thread. */
int hk_dialer_begin(struct hk_dialer *dialer, nng_socket socket, const char *url,
		    const struct hk_access *access, int event_fd);

/* 0, or the negative errno it has failed with; dialer->problem says more in words, or is "". */
int hk_dialer_error(const struct hk_dialer *dialer);

/* The socket has been closed: waits for the thread, which that has woken. */
void hk_dialer_end(struct hk_dialer *dialer);

#endif
