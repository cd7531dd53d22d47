/* dialer.h: connects a socket once, on a thread of its own, and finds the reason of a failure.
 *
 * NNG can dial in the background itself, but then reports no reason. One owner, whose thread calls
 * all functions here.
 */
#ifndef HK_COLLECTOR_UPLINK_DIALER_H
#define HK_COLLECTOR_UPLINK_DIALER_H

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
	uint64_t checked_ns; /* monotonic, 0: never; it takes a connection more each time */
};

/* Begins to connect SOCKET to URL. Keeps references to URL and to ACCESS with its texts. EVENT_FD,
 * an eventfd, becomes readable after a failure. Returns 0, or -errno if there is no thread. */
int hk_dialer_begin(struct hk_dialer *dialer, nng_socket socket, const char *url,
		    const struct hk_access *access, int event_fd);

/* Returns 0, or -errno of the failure. dialer->problem has a more exact reason, or is "". */
int hk_dialer_error(const struct hk_dialer *dialer);

/* Waits for the thread after the socket was closed, which wakes it. */
void hk_dialer_end(struct hk_dialer *dialer);

#endif
