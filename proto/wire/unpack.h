/* unpack.h: unpacks a message to protobuf-c's structs, as protobuf_c_message_unpack makes them.
 * Private to message.c. A root reads millions of numbers a second. For a number of a packed
 * column protobuf-c takes several times as long as the number's computation. The result is freed
 * with protobuf_c_message_free_unpacked(message, NULL). Unknown fields are dropped. Thread-safe, no
 * state. */
#ifndef HK_WIRE_UNPACK_H
#define HK_WIRE_UNPACK_H

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>

/* Unpacks SIZE bytes at BYTES as a message of DESCRIPTOR within *BUDGET bytes of memory, which it
 * reduces by the memory taken. Supports variable-length numbers, texts, bytes and messages; single
 * messages and choices must come once. Returns 0, -EBADMSG if it is malformed, or -ENOMEM if the
 * budget or the machine's memory is exhausted. */
int hk_unpack(const ProtobufCMessageDescriptor *descriptor, const void *bytes, size_t size,
	      size_t *budget, ProtobufCMessage **ret_message);

#endif
