/* domains.h: how the domains of the shipped hooks files are shown (hooks/LANGUAGE.md, `domain`).
 *
 * Constant data, any thread.
 */
#ifndef HK_REPORT_MODEL_DOMAINS_H
#define HK_REPORT_MODEL_DOMAINS_H

#include <stdbool.h>
#include <stddef.h>

#include "hooks/hook.h"

#define HK_DOMAINS_MAX 32u

/* Copies the domains with a title, whose share of the time headers show, to SHARES in their order.
 * Returns their number. */
size_t hk_domain_shares(struct hk_domain shares[HK_DOMAINS_MAX]);

/* Whether calls of DOMAIN only wait for an event or for another thread. A thread without work
 * spends its time in them, so tables of time show them apart. */
bool hk_domain_is_idle(const char *domain);

#endif
