#include "report/build/connections.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "report/model/role.h"

/* A process has at most so many; a file may say more. */
#define CONNECTIONS_MOST 8u
#define ADDRESSES_MOST 4u

static size_t most(size_t count, size_t limit)
{
	return count < limit ? count : limit;
}

static bool process_fill(struct hk_report *report, const Hk__Process *process)
{
	struct hk_report_strings *strings = &report->strings;
	const char *host = hk_report_strings_get(strings, process->host);
	int32_t rank = hk_report_rank_of(process);
	bool filled = host != NULL;

	for (size_t i = 0; i < most(process->n_stalled, CONNECTIONS_MOST); i++) {
		const Hk__StalledConnection *from = process->stalled[i];
		struct hk_report_connection *to = &report->connections[report->connection_count++];
		*to = (struct hk_report_connection){
		    .rank = rank,
		    .local = hk_report_strings_get(strings, from->local),
		    .peer = hk_report_strings_get(strings, from->peer),
		    .retries = from->retries,
		    .unanswered = from->unanswered};
		filled = filled && to->local && to->peer;
	}
	for (size_t i = 0; i < most(process->n_addresses, ADDRESSES_MOST); i++) {
		struct hk_report_address *to = &report->addresses[report->address_count++];
		const char *address = hk_report_strings_get(strings, process->addresses[i]);
		*to = (struct hk_report_address){.rank = rank, .host = host, .address = address};
		filled = filled && address;
	}
	return filled;
}

int hk_report_connections_fill(struct hk_report *report, const Hk__Snapshot *snapshot)
{
	size_t connections = 0, addresses = 0;

	for (size_t i = 0; i < snapshot->n_processes; i++) {
		connections += most(snapshot->processes[i]->n_stalled, CONNECTIONS_MOST);
		addresses += most(snapshot->processes[i]->n_addresses, ADDRESSES_MOST);
	}
	report->connections = calloc(connections + 1, sizeof(*report->connections));
	report->addresses = calloc(addresses + 1, sizeof(*report->addresses));
	if (!report->connections || !report->addresses) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < snapshot->n_processes; i++) {
		if (!process_fill(report, snapshot->processes[i])) {
			return -ENOMEM;
		}
	}
	return 0;
}
