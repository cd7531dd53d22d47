/* message.h: protobuf-c messages from untrusted bytes. protobuf-c allocates as much as a message
 * asks for; this module bounds the memory of a message by its size. Results are freed with the
 * generated hk__..__free_unpacked(message, NULL). Thread-safe, no state. */
#ifndef HK_WIRE_MESSAGE_H
#define HK_WIRE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/wire.pb-c.h"

#define HK_MESSAGE_BYTES_MAX (64u << 20)

/* Unpacks SIZE bytes at BYTES as a message of DESCRIPTOR. Returns 0, -EMSGSIZE if it is longer than
 * HK_MESSAGE_BYTES_MAX, or -EBADMSG if it is malformed or would need many times its size in
 * memory. */
int hk_message_unpack(const ProtobufCMessageDescriptor *descriptor, const void *bytes, size_t size,
		      ProtobufCMessage **ret_message);

/* Most memory that a message of SIZE packed bytes may take. */
size_t hk_message_memory_max(size_t size);

/* As hk_message_unpack, but within *BUDGET bytes of memory, which it reduces by the memory taken.
 * Also returns -ENOMEM if the budget or the machine's memory is exhausted. */
int hk_message_unpack_within(const ProtobufCMessageDescriptor *descriptor, const void *bytes,
			     size_t size, size_t *budget, ProtobufCMessage **ret_message);

/* Memory of MESSAGE in bytes, as hk_message_unpack counts it. */
size_t hk_message_memory(const ProtobufCMessage *message);

/* Packs MESSAGE into memory that the caller frees. Returns 0, -EMSGSIZE or -ENOMEM. */
int hk_message_pack(const ProtobufCMessage *message, uint8_t **ret_bytes, size_t *ret_size);

/* Whether two fields of bytes are equal; either may be empty. */
bool hk_message_same_bytes(const ProtobufCBinaryData *a, const ProtobufCBinaryData *b);

#endif
