#include "report/build/process_calls.h"

#include <errno.h>
#include <stdlib.h>

#include "report/build/group.h"
#include "report/model/domains.h"
#include "report/model/numbers.h"
#include "ring/segment.h"
#include "wire/columns.h"

struct site {
	const Hk__Site *site;
	uint64_t self_ns;
};

/* Returns the sites of PROCESS, indexed by id, and sets *RET_COUNT to the size of the table. The
 * caller frees it with free(). Returns NULL if out of memory. */
static struct site *sites_new(const Hk__Process *process, uint32_t *ret_count)
{
	uint32_t count = 0;

	for (size_t i = 0; i < process->n_sites; i++) {
		uint32_t id = process->sites[i]->id;
		count = id < HK_SITES_MAX && id >= count ? id + 1 : count;
	}
	struct site *sites = calloc(count + 1, sizeof(*sites));
	for (size_t i = 0; sites && i < process->n_sites; i++) {
		if (process->sites[i]->id < count) {
			sites[process->sites[i]->id].site = process->sites[i];
		}
	}
	*ret_count = count;
	return sites;
}

static uint64_t counted_in(const struct hk_columns_row *cell)
{
	uint64_t counted = 0;

	for (size_t i = 0; i < cell->buckets; i++) {
		counted += cell->count[i];
	}
	return counted;
}

static void add(Hk__ProcessCalls *calls, struct site *site, const struct hk_columns_row *cell)
{
	struct hk_report_numbers numbers = {0};

	hk_report_numbers_add_values(&numbers, cell, site->site, counted_in(cell));
	calls->calls += numbers.calls;
	calls->errors += numbers.errors;
	calls->have_time |= numbers.have_total;
	if (!hk_domain_is_idle(site->site->domain)) {
		calls->self_ns += numbers.self_ns;
		site->self_ns += numbers.self_ns;
	}
}

int hk_process_calls_sum(const Hk__Process *process, Hk__ProcessCalls *ret_calls)
{
	struct hk_columns_walk walk = {.columns = process->cells};
	struct hk_columns_row cell;
	const struct site *most = NULL;
	uint32_t count;
	struct site *sites = sites_new(process, &count);

	if (!sites) {
		return -ENOMEM;
	}
	hk__process_calls__init(ret_calls);
	while (hk_columns_next(&walk, &cell)) {
		if (cell.site < count && sites[cell.site].site && cell.calls > 0) {
			add(ret_calls, &sites[cell.site], &cell);
		}
	}
	for (uint32_t i = 0; i < count; i++) {
		if (sites[i].self_ns > 0 && (!most || sites[i].self_ns > most->self_ns)) {
			most = &sites[i];
		}
	}
	if (most) {
		ret_calls->most = most->site->function;
	}
	free(sites);
	return 0;
}
