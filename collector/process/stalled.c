#include "collector/process/stalled.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "collector/model/attachment.h"
#include "collector/model/collector.h"
#include "collector/model/fields.h"
#include "collector/model/process.h"
#include "collector/proc/connections.h"
#include "collector/proc/procfs.h"

#define SECOND_NS UINT64_C(1000000000)
#define QUIET_NS (2 * SECOND_NS)
#define LOOK_SPACING 100u /* all looks take at most 1/100 of a processor's time */

static uint64_t spent_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static bool is_quiet(const Hk__Process *state)
{
	uint64_t now = hk_clock_ticks(state->clock_kind == HK_CLOCK_TSC);

	return state->quiet_ticks > 0 && now > state->quiet_ticks &&
	       hk_clock_ticks_to_ns(now - state->quiet_ticks, state->tick_ns_q32) >= QUIET_NS;
}

/* ---- fields of the state ---- */

/* Makes COUNT connections of the state's. */
static int resize(Hk__Process *state, size_t count)
{
	if (!state->stalled) {
		state->stalled = calloc(HK_CONNECTIONS_STALLED, sizeof(state->stalled[0]));
	}
	while (state->n_stalled > count) {
		hk__stalled_connection__free_unpacked(state->stalled[--state->n_stalled], NULL);
	}
	while (state->stalled && state->n_stalled < count) {
		Hk__StalledConnection *added = malloc(sizeof(*added));
		if (!added) {
			return -ENOMEM;
		}
		hk__stalled_connection__init(added);
		state->stalled[state->n_stalled++] = added;
	}
	return state->stalled ? 0 : -ENOMEM;
}

/* Sets *CHANGED if FIELD is another one than CONNECTION. */
static int set_connection(Hk__StalledConnection *field, const struct hk_connection *connection,
			  bool *changed)
{
	*changed = *changed || field->retries != connection->retries ||
		   strcmp(field->local, connection->local) != 0 ||
		   strcmp(field->peer, connection->peer) != 0;
	field->peer_port = connection->peer_port;
	field->unanswered = connection->unanswered;
	field->retries = connection->retries;
	int r = hk_field_set_string(&field->local, connection->local);
	return r < 0 ? r : hk_field_set_string(&field->peer, connection->peer);
}

static int set_addresses(Hk__Process *state, const struct hk_connections *connections,
			 bool *changed)
{
	if (!state->addresses) {
		state->addresses = calloc(HK_CONNECTIONS_ADDRESSES, sizeof(state->addresses[0]));
	}
	for (size_t i = 0; state->addresses && i < connections->address_count; i++) {
		size_t k = 0;
		while (k < state->n_addresses &&
		       strcmp(state->addresses[k], connections->addresses[i]) != 0) {
			k++;
		}
		char *added = k == state->n_addresses && k < HK_CONNECTIONS_ADDRESSES
				  ? strdup(connections->addresses[i])
				  : NULL;
		if (added) {
			state->addresses[state->n_addresses++] = added;
			*changed = true;
		}
	}
	return state->addresses ? 0 : -ENOMEM;
}

static int set(Hk__Process *state, const struct hk_connections *connections, bool *changed)
{
	*changed = state->n_stalled != connections->stalled_count;
	int r = resize(state, connections->stalled_count);
	for (size_t i = 0; r == 0 && i < connections->stalled_count; i++) {
		r = set_connection(state->stalled[i], &connections->stalled[i], changed);
	}
	return r < 0 ? r : set_addresses(state, connections, changed);
}

/* ---- looks ---- */

/* Whether PROCESS still has its pid. */
static bool is_itself(const Hk__Process *state)
{
	struct hk_procfs_stat stat;

	return hk_procfs_stat(state->pid, &stat) == 0 && stat.start_ticks == state->pid_start;
}

/* Brings STATE up to date. Returns whether it has changed. */
static bool look(Hk__Process *state)
{
	struct hk_connections connections = {0};
	bool changed = false;

	if (!is_quiet(state)) {
		return false;
	}
	/* Files of another user's process cannot be seen: then nothing is known of its connections.
	 */
	if (!is_itself(state) || hk_connections_find(state->pid, &connections) < 0) {
		connections = (struct hk_connections){0};
	}
	return set(state, &connections, &changed) == 0 && changed;
}

void hk_stalled_look(struct hk_collector *collector, struct hk_process *process, uint64_t now_ns)
{
	struct hk_attachment *segment = process->segment;
	Hk__Process *state = process->state;

	if (state->role == HK__ROLE__ROLE_MAIN && state->n_stalled > 0 && !is_quiet(state)) {
		process->changed |= resize(state, 0) == 0;
	}
	if (state->role != HK__ROLE__ROLE_MAIN || process->foreign ||
	    now_ns < collector->stalled_due_ns || now_ns < segment->stalled_due_ns) {
		return;
	}
	uint64_t begin_ns = spent_ns();
	process->changed |= look(state);
	/* All processes share the looks; none comes again before the others. */
	uint64_t pause_ns = (spent_ns() - begin_ns) * LOOK_SPACING;
	uint64_t all_ns = pause_ns * HASH_COUNT(collector->processes);
	collector->stalled_due_ns = now_ns + pause_ns;
	segment->stalled_due_ns = now_ns + (all_ns > SECOND_NS ? all_ns : SECOND_NS);
}
