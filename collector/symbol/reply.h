/* reply.h: makes the replies of the process that reads symbols. A message has several frames.
 *
 * Not thread-safe.
 */
#ifndef HK_COLLECTOR_SYMBOL_REPLY_H
#define HK_COLLECTOR_SYMBOL_REPLY_H

#include <stdint.h>

#include "collector/symbol/places.h"

#define HK_SYMBOL_ADDRESSES_MOST 256u /* of one request */

struct hk_reply;

/* Makes the replies to request NUMBER, which are sent to SOCKET. Returns NULL without memory. */
struct hk_reply *hk_reply_new(int socket, uint64_t number);
struct hk_reply *hk_reply_free(struct hk_reply *reply);

/* Adds what is at address INDEX of the request. Returns 0, -ENOMEM or -errno of send. */
int hk_reply_add(struct hk_reply *reply, uint32_t index, const struct hk_places *places);

/* Sends the frames not sent yet as the last reply. PROBLEM says why the file was not read, and is
 * empty if it was. */
int hk_reply_end(struct hk_reply *reply, const char *problem);

#endif
