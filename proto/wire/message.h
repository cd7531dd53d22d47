/* message.h: protobuf-c messages from bytes that nobody vouches for.
 *
 * protobuf-c allocates whatever a message asks for; here the memory of one message is bounded by
 * the bytes it came in. Results are freed with the generated hk__..__free_unpacked(message, NULL).
 * Thread-safe, no state.
 */
#ifndef HK_WIRE_MESSAGE_H
#define HK_WIRE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/wire.pb-c.h"

#define HK_MESSAGE_BYTES_MAX (64u << 20)

/* Unpacks SIZE bytes at BYTES as a message of DESCRIPTOR. 0; -EMSGSIZE: longer than
 * HK_MESSAGE_BYTES_MAX; -EBADMSG: malformed, or it would need many times its size in memory. */
int hk_message_unpack(const ProtobufCMessageDescriptor *descriptor, const void *bytes, size_t size,
		      ProtobufCMessage **ret_message);

/* Memory that a message of SIZE packed bytes may take at most. */
size_t hk_message_memory_max(size_t size);

/* As hk_message_unpack, but takes at most *BUDGET bytes of memory, from which it subtracts what it
 * takes. -ENOMEM: that is not enough, or there is none. */
int hk_message_unpack_within(const ProtobufCMessageDescriptor *descriptor, const void *bytes,
			     size_t size, size_t *budget, ProtobufCMessage **ret_message);

/* Bytes of memory that MESSAGE takes, as hk_message_unpack counts them. */
size_t hk_message_memory(const ProtobufCMessage *message);

/* Packs MESSAGE into memory the caller frees. 0, -EMSGSIZE or -ENOMEM. */
int hk_message_pack(const ProtobufCMessage *message, uint8_t **ret_bytes, size_t *ret_size);

/* Whether two fields of bytes are the same; either may be empty. */
bool hk_message_same_bytes(const ProtobufCBinaryData *a, const ProtobufCBinaryData *b);

#endif
