/* connection_send.h: sends a connection's answers, one after the other, each with time to be read.
 * Callbacks run on NNG's threads.
 */
#ifndef HK_COLLECTOR_SERVER_CONNECTION_SEND_H
#define HK_COLLECTOR_SERVER_CONNECTION_SEND_H

#include <stddef.h>
#include <stdint.h>

struct hk_connection;

/* Queues an answer: TRACE, then BYTES, which it takes over. Returns 0 or -ENOMEM. The hub's lock is
 * not held. */
int hk_connection_send(struct hk_connection *connection, const uint8_t *trace, size_t trace_size,
		       uint8_t *bytes, size_t size);

/* Queues the greeting. 0 or -ENOMEM. */
int hk_connection_greet(struct hk_connection *connection);
/* Callback of `sending`, on one of NNG's threads. */
void hk_connection_sent(void *connection);
/* Drops the first of the queue; the hub's lock is held. */
void hk_connection_drop(struct hk_connection *connection);

#endif
