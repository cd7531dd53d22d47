/* request_queue.h: the requests that wait for an answer, and their order.
 *
 * The account whose requests took least time so far is served first. The collector's thread; the
 * hub's lock is not held.
 */
#ifndef HK_COLLECTOR_SERVER_REQUEST_QUEUE_H
#define HK_COLLECTOR_SERVER_REQUEST_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hk_account;
struct hk_hub;
struct hk_incoming;

/* Frees all connections that have ended; or, ALL, every one. */
void hk_hub_reap(struct hk_hub *hub, bool all);

/* Returns the next request to look at in TURN: of the account whose requests took least time so
 * far, from a client that reads its answers. Each request is returned once a turn. Returns NULL if
 * there is no other one. */
struct hk_incoming *hk_hub_next(struct hk_hub *hub, uint64_t turn);

/* Books the time that a request of ACCOUNT took. */
void hk_hub_spent(struct hk_hub *hub, struct hk_account *account, uint64_t ns);

/* Sends BYTES, which it takes over (NULL: an empty answer), to the client of INCOMING, and frees
 * INCOMING. */
void hk_hub_reply(struct hk_hub *hub, struct hk_incoming *incoming, uint8_t *bytes, size_t size);

#endif
