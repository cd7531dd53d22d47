#include "report/model/domains.h"

#include <stdlib.h>
#include <string.h>

#include "hooks/shipped.h"

static int by_order(const void *a, const void *b)
{
	const struct hk_domain *x = a, *y = b;

	return (x->order > y->order) - (x->order < y->order);
}

size_t hk_domain_shares(struct hk_domain shares[HK_DOMAINS_MAX])
{
	size_t count = 0;

	for (unsigned i = 0; i < hk_shipped_domain_count && count < HK_DOMAINS_MAX; i++) {
		hk_shipped_domain(i, &shares[count]);
		count += *shares[count].title != '\0';
	}
	qsort(shares, count, sizeof(*shares), by_order);
	return count;
}

bool hk_domain_is_idle(const char *domain)
{
	for (unsigned i = 0; i < hk_shipped_domain_count; i++) {
		struct hk_domain one;
		hk_shipped_domain(i, &one);
		if (strcmp(one.name, domain) == 0) {
			return one.idle;
		}
	}
	return false;
}
