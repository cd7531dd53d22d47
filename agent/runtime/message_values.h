/* message_values.h: the values of a call by the plan of its site. General registers only. */
#ifndef HK_AGENT_RUNTIME_MESSAGE_VALUES_H
#define HK_AGENT_RUNTIME_MESSAGE_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/frame/call.h"
#include "agent/frame/hot.h"
#include "agent/frame/message.h"
#include "agent/runtime/comms.h"
#include "agent/runtime/mpi.h"

/* Sets *RET_BYTES. Returns false if values.h must evaluate it. */
static inline bool hk_message_bytes(const struct hk_message *message, const uint64_t *words,
				    const struct hk_comm *comm, uint64_t *ret_bytes)
{
	int32_t count = (int32_t)words[message->count], root;
	uint64_t tested = words[message->tested], size;
	*ret_bytes = 0;
	if (unlikely(message->bytes != HK_MESSAGE_ALWAYS)) {
		if (message->bytes == HK_MESSAGE_SENT) {
			count = hk_mpi_is_sent(tested) ? count : 0;
		} else if (!hk_comms_root(comm, &root)) {
			return false;
		} else {
			count = (int32_t)tested == root ? count : 0;
		}
	}
	if (likely(count)) { /* the type of no elements may be none */
		if (!hk_mpi_type_known(words[message->type] & hk_mpi_kept.handle_bits, &size)) {
			return false;
		}
		*ret_bytes = (uint64_t)(int64_t)count * size;
	}
	return true;
}

/* Sets *RET_COMM to the kept communicator and *RET_BYTES to the bytes of CALL, which did not fail;
 * 0 if there is no such value. Returns false if values.h must evaluate the values. */
static inline __attribute__((always_inline)) bool hk_message_known(const struct hk_call *call,
								   const struct hk_message *message,
								   const struct hk_comm **ret_comm,
								   uint64_t *ret_bytes)
{
	const uint64_t *words = (const uint64_t *)(const void *)call;
	const struct hk_comm *comm =
	    hk_comms_known_at_once(words[message->comm] & hk_mpi_kept.handle_bits);
	*ret_comm = comm;
	*ret_bytes = 0;
	return hk_mpi_cache_holds() && comm &&
	       (unlikely(message->bytes == HK_MESSAGE_NONE) ||
		hk_message_bytes(message, words, comm, ret_bytes)) &&
	       (!message->has_sender || (int32_t)words[message->sender] >= 0);
}

static inline void hk_message_number(const struct hk_message *message, uint32_t number,
				     const uint64_t *words, uint64_t *values)
{
	values[message->numbers[number].at] =
	    (uint64_t)(int64_t)(int32_t)words[message->numbers[number].word];
}

/* Sets the VALUES of CALL from its words and the results of hk_message_known. */
static inline __attribute__((always_inline)) void hk_message_write(const struct hk_call *call,
								   const struct hk_message *message,
								   const struct hk_comm *comm,
								   uint64_t bytes, uint64_t *values)
{
	const uint64_t *words = (const uint64_t *)(const void *)call;
	values[message->bytes_at] = bytes;
	hk_message_number(message, 0, words, values);
	hk_message_number(message, 1, words, values);
	for (uint32_t i = 2; unlikely(i < message->number_count); i++) {
		hk_message_number(message, i, words, values);
	}
	values[message->comm_at] = hk_comms_hash(comm);
}

#endif
