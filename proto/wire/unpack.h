/* unpack.h: a packed message to protobuf-c's structs, as protobuf_c_message_unpack makes them.
 *
 * For message.c alone. A root reads millions of numbers a second, and protobuf-c takes several
 * times as long for one of a packed column as it takes to compute. What it makes is freed with
 * protobuf_c_message_free_unpacked(message, NULL). Fields that nobody knows are dropped.
 * Thread-safe, no state.
 */
#ifndef HK_WIRE_UNPACK_H
#define HK_WIRE_UNPACK_H

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>

/* Unpacks SIZE bytes at BYTES as a message of DESCRIPTOR, for which at most *BUDGET bytes are
 * allocated, and subtracts those. Fields of it and below are numbers of variable length, texts,
 * bytes and messages; single messages and choices come once. -EBADMSG: malformed; -ENOMEM: over the
 * budget, or of it there is no more. */
int hk_unpack(const ProtobufCMessageDescriptor *descriptor, const void *bytes, size_t size,
	      size_t *budget, ProtobufCMessage **ret_message);

#endif
