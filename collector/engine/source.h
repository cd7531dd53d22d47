/* source.h: the messages of one partition, in order, from a sequence number on.
 *
 * A thread reads ahead, up to HK_SOURCE_BYTES. Whatever happens to the connection, each message
 * that the engine brings comes once and in order: the thread counts, and begins again behind the
 * last one where a number is missing. `next`, `drop` and `search` are for one thread.
 */
#ifndef HK_COLLECTOR_ENGINE_SOURCE_H
#define HK_COLLECTOR_ENGINE_SOURCE_H

#include "collector/engine/connection.h"

#define HK_SOURCE_BYTES (32u << 20)

struct hk_source;

struct hk_source_message {
	uint64_t sequence; /* of the stream */
	uint64_t pending;  /* messages of the partition behind it, when it came */
	const char *subject;
	const void *bytes;
	size_t size;
	unsigned part, parts; /* 1 of 1: it is whole */
	uint64_t attempt;     /* of the sender, at a request in parts */
	int64_t created;      /* when the stream was made, ns since the Unix epoch */
	bool searched;	      /* what hk_source_search found for it has come before it */
	bool found;	      /* by such a search */
};

/* Begins to read PARTITION behind AFTER of the stream that was made at CREATED, 0: not known.
 * Another stream is read from its beginning. WAKE(CONTEXT) is called, on another thread, when a
 * message has come. ENGINE outlives the source. Returns 0 or -errno. */
int hk_source_open(struct hk_engine *engine, unsigned partition, uint64_t after, int64_t created,
		   void (*wake)(void *context), void *context, struct hk_source **ret_source);
/* Accepts NULL, returns NULL. */
struct hk_source *hk_source_free(struct hk_source *source);

/* Sets *RET_MESSAGE to the oldest message that has come, which stays until hk_source_drop. Returns
 * whether there is one. */
bool hk_source_next(struct hk_source *source, struct hk_source_message *ret_message);
void hk_source_drop(struct hk_source *source);

/* The oldest message shows that others of SUBJECT are missing, behind message BEHIND of the stream
 * and before message BEFORE: an engine whose nodes were killed left some out (NATS 2.9.10). They
 * are asked for one by one, for a minute at most where the engine does not answer, and come before
 * it; then it comes again. Until then nothing comes. */
void hk_source_search(struct hk_source *source, const char *subject, uint64_t behind,
		      uint64_t before);

/* Copies why nothing comes, or "". */
void hk_source_problem(struct hk_source *source, char problem[HK_ENGINE_PROBLEM_BYTES]);

#endif
