/* policy.h: the rights of clients. requests.c has the right that each request needs.
 *
 * Only the owner can reach the run directory's socket, which needs no token. TCP on loopback needs
 * a token if there are tokens. Any other address needs TLS and a token. Constant once it is open:
 * any thread may ask.
 */
#ifndef HK_COLLECTOR_SERVER_POLICY_H
#define HK_COLLECTOR_SERVER_POLICY_H

#include <stddef.h>
#include <stdint.h>

#include "collector/model/options.h"
#include "wire/access.h"
#include "wire/message.h"
#include "wire/request.h"

struct hk_policy;

/* Reads the tokens and checks options.listen. Returns 0, or -errno with the reason and the fix in
 * PROBLEM. */
int hk_policy_open(const struct hk_collector_options *options, struct hk_policy **ret_policy,
		   char problem[HK_ACCESS_PROBLEM_BYTES]);

/* Sets URL to that of options.http, which must be set: plain on loopback, with TLS elsewhere, where
 * there must be tokens too. Returns 0, or -EINVAL with the reason in PROBLEM. */
int hk_policy_http_url(const struct hk_collector_options *options, const struct hk_policy *policy,
		       char url[HK_REQUEST_URL_BYTES], char problem[HK_ACCESS_PROBLEM_BYTES]);

/* Frees; accepts NULL, returns NULL. */
struct hk_policy *hk_policy_free(struct hk_policy *policy);

/* Returns the right of a client at URL without a token. */
enum hk_right hk_policy_default_right(const struct hk_policy *policy, const char *url);

/* Returns the right that a token gives. *RET_USER is the user whose jobs it shows, "" for the jobs
 * of all; the string belongs to the policy. *RET_ACCOUNT, below hk_policy_accounts, is the same for
 * all tokens of one user. The time it takes does not depend on the token. */
enum hk_right hk_policy_right(const struct hk_policy *policy, const uint8_t *token, size_t size,
			      const char **ret_user, size_t *ret_account);

/* The number of accounts that the tokens may have, and the name of one: its user, or the number of
 * its token in the file. */
size_t hk_policy_accounts(const struct hk_policy *policy);
void hk_policy_account_name(const struct hk_policy *policy, size_t account, char *name,
			    size_t size);

/* Finds the token in the first SIZE bytes of a packed hk.Request, without unpacking it. Returns the
 * token's size, or 0 if there is none. */
size_t hk_policy_find_token(const uint8_t *bytes, size_t size, const uint8_t **ret_token);

#endif
