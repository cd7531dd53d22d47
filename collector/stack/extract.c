#include "collector/stack/extract.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "collector/model/fields.h"

static bool copy_bytes(const ProtobufCBinaryData *from, ProtobufCBinaryData *to)
{
	if (from->len == 0) {
		return true;
	}
	to->data = malloc(from->len);
	if (!to->data) {
		return false;
	}
	memcpy(to->data, from->data, from->len);
	to->len = from->len;
	return true;
}

static bool copy_identity(const Hk__Process *from, Hk__Process *to)
{
	to->pid = from->pid;
	to->ppid = from->ppid;
	to->pid_start = from->pid_start;
	to->rank = from->rank;
	to->rank_known = from->rank_known;
	to->world_size = from->world_size;
	to->role = from->role;
	to->agent = from->agent;
	to->python = from->python;
	to->clock_kind = from->clock_kind;
	to->tick_ns_q32 = from->tick_ns_q32;
	return copy_bytes(&from->uid, &to->uid) && copy_bytes(&from->node, &to->node) &&
	       hk_field_set_string(&to->job, from->job) == 0 &&
	       hk_field_set_string(&to->host, from->host) == 0 &&
	       hk_field_set_string(&to->program, from->program) == 0 &&
	       hk_field_set_string(&to->command, from->command) == 0 &&
	       (!from->seen ||
		hk_field_set_anchor(&to->seen, from->seen->ticks, from->seen->monotonic_ns,
				    from->seen->realtime_ns) == 0);
}

/* ---- open calls ---- */

static bool copy_call(const Hk__OpenCall *from, Hk__Process *to)
{
	Hk__OpenCall *call = malloc(sizeof(*call));

	if (!call) {
		return false;
	}
	*call = *from;
	to->open_calls[to->n_open_calls++] = call;
	return true;
}

static bool copy_site(const Hk__Site *from, Hk__Process *to)
{
	Hk__Site *site = malloc(sizeof(*site));

	if (!site) {
		return false;
	}
	hk__site__init(site);
	to->sites[to->n_sites++] = site;
	site->id = from->id;
	site->flags = from->flags;
	site->meaning = from->meaning;
	return hk_field_set_string(&site->function, from->function) == 0 &&
	       hk_field_set_string(&site->library, from->library) == 0 &&
	       hk_field_set_string(&site->domain, from->domain) == 0;
}

static bool has_call(const Hk__Process *state, uint32_t site)
{
	for (size_t i = 0; i < state->n_open_calls; i++) {
		if (state->open_calls[i]->site == site) {
			return true;
		}
	}
	return false;
}

static bool copy_calls(const Hk__Process *from, Hk__Process *to)
{
	bool copied = true;

	to->open_calls = calloc(from->n_open_calls + 1, sizeof(*to->open_calls));
	to->sites = calloc(from->n_open_calls + 1, sizeof(*to->sites));
	if (!to->open_calls || !to->sites) {
		return false;
	}
	for (size_t i = 0; i < from->n_open_calls && copied; i++) {
		copied = copy_call(from->open_calls[i], to);
	}
	for (size_t i = 0; i < from->n_sites && copied; i++) {
		copied = to->n_sites >= from->n_open_calls || !has_call(from, from->sites[i]->id) ||
			 copy_site(from->sites[i], to);
	}
	return copied;
}

Hk__Process *hk_extract_new(const Hk__Process *state)
{
	Hk__Process *process = malloc(sizeof(*process));

	if (!process) {
		return NULL;
	}
	hk__process__init(process);
	if (!copy_identity(state, process) || !copy_calls(state, process)) {
		hk__process__free_unpacked(process, NULL);
		return NULL;
	}
	return process;
}
