/* admission.h: which connections may stay: those without a token, and those of one account beside
 * others. The hub's lock is held.
 */
#ifndef HK_COLLECTOR_SERVER_ADMISSION_H
#define HK_COLLECTOR_SERVER_ADMISSION_H

#include <stdint.h>

struct hk_account;
struct hk_connection;
struct hk_hub;

/* The oldest stranger that still talks, of PEER or (NULL) of any but local ones; NULL: none.
 * *COUNT: how many there are. A stranger has not asked yet what it may ask. */
struct hk_connection *hk_hub_oldest_unauthenticated(const struct hk_hub *hub, const char *peer,
						    uint32_t *ret_count);

/* Gives CONNECTION, which has just shown the token of ACCOUNT, to that account. Where all known
 * connections are taken, the idlest one of the account with most ends for it, if that has more.
 * NULL, or why not, a literal. */
const char *hk_hub_join(struct hk_hub *hub, struct hk_connection *connection,
			struct hk_account *account);

#endif
