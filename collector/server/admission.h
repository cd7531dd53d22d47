/* admission.h: decides which connections may stay: those without a token, and those of one account
 * beside others. The hub's lock is held. */
#ifndef HK_COLLECTOR_SERVER_ADMISSION_H
#define HK_COLLECTOR_SERVER_ADMISSION_H

#include <stdint.h>

struct hk_account;
struct hk_connection;
struct hk_hub;

/* Returns the oldest unauthenticated connection that has not ended, of PEER, or of all peers but
 * local ones if PEER is NULL, or NULL if there is none. *RET_COUNT is their number. An
 * unauthenticated connection has not sent a request yet that it may send. */
struct hk_connection *hk_hub_oldest_unauthenticated(const struct hk_hub *hub, const char *peer,
						    uint32_t *ret_count);

/* Gives CONNECTION, which has just sent the token of ACCOUNT, to that account. If all known
 * connections are taken, ends the idlest one of the account with most connections, if that has
 * more. Returns NULL, or the reason of a refusal as a literal. */
const char *hk_hub_join(struct hk_hub *hub, struct hk_connection *connection,
			struct hk_account *account);

#endif
