#include "cli/tables/overview_bins.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int add_domain(struct hk_overview *overview, const char *name)
{
	char *copy = strdup(name);

	if (!copy) {
		return -ENOMEM;
	}
	overview->domains[overview->domain_count++] = copy;
	return 0;
}

int hk_overview_domain(struct hk_overview *overview, const char *name)
{
	for (size_t i = 0; i < overview->domain_count; i++) {
		if (strcmp(overview->domains[i], name) == 0) {
			return (int)i;
		}
	}
	if (overview->domain_count == HK_OVERVIEW_DOMAINS_MAX) {
		return HK_OVERVIEW_DOMAINS_MAX - 1;
	}
	bool last = overview->domain_count == HK_OVERVIEW_DOMAINS_MAX - 1;
	int r = add_domain(overview, last ? HK_OVERVIEW_OTHER : name);
	return r < 0 ? r : (int)overview->domain_count - 1;
}

struct hk_overview *hk_overview_free(struct hk_overview *overview)
{
	if (!overview) {
		return NULL;
	}
	for (size_t i = 0; i < overview->rank_count; i++) {
		free(overview->ranks[i].bins);
	}
	for (size_t i = 0; i < overview->domain_count; i++) {
		free((char *)(uintptr_t)overview->domains[i]);
	}
	free(overview->ranks);
	free(overview);
	return NULL;
}
