/* connection.h: a connection to a stream engine, for any number of threads.
 *
 * It is made on a thread of its own, and made again by libnats whenever it breaks. What is tried
 * meanwhile fails; the caller tries it again.
 */
#ifndef HK_COLLECTOR_ENGINE_CONNECTION_H
#define HK_COLLECTOR_ENGINE_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/access.h"

#define HK_ENGINE_PROBLEM_BYTES 256u

struct hk_engine;

/* A message to be stored. One that is larger than the engine allows is stored in parts. */
struct hk_engine_message {
	const char *subject, *id; /* the engine stores one message of an id, within two minutes */
	uint64_t number;	  /* of a chunk; 0: none */
	const void *bytes;
	size_t size;
};

/* Begins to connect to the servers of URL, "nats://HOST[:PORT][,...]" or "tls+nats://...". ACCESS:
 * the token file has user:password, a token, or credentials. URL holds no password. WAKE(CONTEXT)
 * is called, by threads of libnats, when the connection comes or goes. Returns 0, or -errno with
 * the reason in PROBLEM. */
int hk_engine_open(const char *url, const struct hk_access *access, void (*wake)(void *context),
		   void *context, struct hk_engine **ret_engine,
		   char problem[HK_ACCESS_PROBLEM_BYTES]);
/* Closes; accepts NULL, returns NULL. No other thread may use it. */
struct hk_engine *hk_engine_free(struct hk_engine *engine);

bool hk_engine_connected(const struct hk_engine *engine);
/* Waits up to WAIT_MS for a connection. Returns whether there is one. */
bool hk_engine_await(struct hk_engine *engine, uint32_t wait_ms);
/* Copies why there is no connection, or "". */
void hk_engine_problem(struct hk_engine *engine, char problem[HK_ENGINE_PROBLEM_BYTES]);

/* Stores MESSAGE, and waits until the engine has. Returns 0, or -errno with the reason in PROBLEM:
 * -EAGAIN if it may succeed when tried again, -ENOSPC if the stream is full, -ENOENT if there is no
 * stream, -EMSGSIZE if no message may be so large. */
int hk_engine_store(struct hk_engine *engine, const struct hk_engine_message *message,
		    char problem[HK_ENGINE_PROBLEM_BYTES]);

/* Sets *RET_NUMBER to the number of the newest message of SUBJECT, 0: there is none. Returns 0 or
 * -errno as hk_engine_store. */
int hk_engine_last(struct hk_engine *engine, const char *subject, uint64_t *ret_number,
		   char problem[HK_ENGINE_PROBLEM_BYTES]);

#endif
