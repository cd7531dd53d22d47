/* connection_receive.h: receives a connection's requests, and holds no more than its account may.
 *
 * A message is read in steps: its head, the part that holds the token, the rest. Each step first
 * takes memory of the account, or parks the connection until there is some. Callbacks run on NNG's
 * threads.
 */
#ifndef HK_COLLECTOR_SERVER_CONNECTION_RECEIVE_H
#define HK_COLLECTOR_SERVER_CONNECTION_RECEIVE_H

#include <nng/nng.h>
#include <stdbool.h>

#include "wire/access.h"

struct hk_connection;
struct hk_hub;

/* Takes STREAM of a listener that gives right GIVEN to all clients. LOCAL: a Unix socket. Returns
 * 0, or -ENOMEM, and the caller keeps STREAM. Any thread; the hub's lock is not held. */
int hk_connection_open(struct hk_hub *hub, nng_stream *stream, const char *peer,
		       enum hk_right given, bool local);

/* ---- the collector's thread ---- */

/* Resumes all connections that waited for room. Called after answers and reaping. */
void hk_connection_resume(struct hk_hub *hub);

/* Frees what the hub has let go of, when its callbacks have ended. */
void hk_connection_free(struct hk_connection *connection);

#endif
