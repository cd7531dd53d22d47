/* nng_framing.h: the form of a request and its answer in a stream, as NNG's REQ and REP sockets
 * write them.
 *
 * First both sides send a greeting; then messages: their length (8 bytes, big-endian; on a Unix
 * socket a byte 1 before it), words that go back with the answer (the last one has its highest bit
 * set), and the packed hk.Request or hk.Response. Pure functions over bytes of unauthenticated
 * clients.
 */
#ifndef HK_COLLECTOR_SERVER_NNG_FRAMING_H
#define HK_COLLECTOR_SERVER_NNG_FRAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HK_FRAMING_GREETING_BYTES 8u
#define HK_FRAMING_HEAD_MAX 9u
#define HK_FRAMING_TRACE_MAX 32u

/* What an answerer greets with. */
extern const uint8_t hk_framing_greeting[HK_FRAMING_GREETING_BYTES];

/* Returns NULL if GREETING is a client's, else what it is instead. */
const char *hk_framing_judge(const uint8_t greeting[HK_FRAMING_GREETING_BYTES]);

/* Size of what stands before each message. */
size_t hk_framing_head_size(bool local);

/* Writes the head of a message of SIZE bytes; its size. */
size_t hk_framing_head(bool local, uint64_t size, uint8_t head[HK_FRAMING_HEAD_MAX]);

/* Reads a head. Returns NULL with the size of the message, or what is wrong with the head. */
const char *hk_framing_size(bool local, const uint8_t *head, size_t *ret_size);

/* Returns the size of the words before the request in MESSAGE, of which SIZE bytes have come, or 0
 * if the words are not complete. */
size_t hk_framing_trace(const uint8_t *message, size_t size);

#endif
