#include "cli/timeline/tracks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include <xxhash.h>

#include "report/build/process.h"
#include "report/clock/job_clock.h"
#include "report/model/role.h"
#include "text/name.h"
#include "text/utf8.h"

/* The kernel's process ids end at 2^22. */
#define OWN_IDS 5000000u

struct used_id {
	uint32_t id;
	UT_hash_handle hh;
};

struct thread {
	struct hk_cast_thread thread; /* first: converted back from it */
	UT_hash_handle hh;
};

struct hk_actor {
	struct hk_export_process shown;
	const Hk__Process *process;
	size_t ordinal;
	struct thread *threads;	       /* by uid */
	struct thread *last;	       /* looked up: calls come in bursts */
	struct hk_export_site **sites; /* by id */
	uint32_t site_capacity, site_count;
	char *command, *host;
	bool main_thread_shown;
};

struct hk_cast {
	struct hk_actor *actors;
	size_t count;
	const struct hk_export_process **shown;
	struct used_id *used;
	uint32_t next_id, next_sequence;
	uint64_t seed; /* of uuids: a hash of the job's id */
};

/* ---- ids ---- */

static int id_take(struct hk_cast *cast, uint32_t id)
{
	struct used_id *entry;

	HASH_FIND(hh, cast->used, &id, sizeof(id), entry);
	if (entry) {
		return -EEXIST;
	}
	entry = malloc(sizeof(*entry));
	if (!entry) {
		return -ENOMEM;
	}
	entry->id = id;
	HASH_ADD(hh, cast->used, id, sizeof(id), entry);
	if (!entry->hh.tbl) {
		free(entry);
		return -ENOMEM;
	}
	return 0;
}

/* WANTED if it is free and the kernel's, else a number of our own. */
static uint32_t id_unique(struct hk_cast *cast, uint32_t wanted)
{
	if (wanted > 0 && wanted < OWN_IDS && id_take(cast, wanted) == 0) {
		return wanted;
	}
	return cast->next_id++;
}

static uint64_t uuid_of(const struct hk_cast *cast, const Hk__Process *process, uint64_t thread)
{
	uint64_t parts[2] = {XXH3_64bits_withSeed(process->uid.data, process->uid.len, cast->seed),
			     thread};
	uint64_t uuid = XXH3_64bits(parts, sizeof(parts));

	return uuid ? uuid : 1;
}

/* ---- processes ---- */

static int role_order(const Hk__Process *process)
{
	switch (process->role) {
	case HK__ROLE__ROLE_LAUNCHER:
		return 2;
	case HK__ROLE__ROLE_HELPER:
		return 1;
	default:
		return 0;
	}
}

static int compare_actors(const void *left, const void *right)
{
	const struct hk_actor *a = left, *b = right;
	/* As unsigned numbers those without a rank (-1) come last. */
	uint32_t rank_a = (uint32_t)a->shown.rank, rank_b = (uint32_t)b->shown.rank;

	if (rank_a != rank_b) {
		return rank_a < rank_b ? -1 : 1;
	}
	if (role_order(a->process) != role_order(b->process)) {
		return role_order(a->process) - role_order(b->process);
	}
	if (a->shown.start_ns != b->shown.start_ns) {
		return a->shown.start_ns < b->shown.start_ns ? -1 : 1;
	}
	return a->ordinal < b->ordinal ? -1 : a->ordinal > b->ordinal;
}

static void title(struct hk_actor *actor)
{
	char raw[sizeof(actor->shown.title)];
	const char *host = actor->process->host, *role = hk_report_role_of(actor->process);
	bool is_main = role_order(actor->process) == 0;

	if (actor->shown.rank >= 0) {
		snprintf(raw, sizeof(raw), "rank %d%s%s (%.64s) pid %u", actor->shown.rank,
			 is_main ? "" : " ", is_main ? "" : role, host, actor->process->pid);
	} else {
		snprintf(raw, sizeof(raw), "%s (%.64s) pid %u", role, host, actor->process->pid);
	}
	hk_utf8_copy(raw, actor->shown.title, sizeof(actor->shown.title));
}

static int show_actor(struct hk_cast *cast, size_t index)
{
	struct hk_actor *actor = &cast->actors[index];
	const struct hk_actor *before = index ? &cast->actors[index - 1] : NULL;
	const Hk__Process *process = actor->process;

	actor->command = hk_name_utf8(process->command);
	actor->host = hk_name_utf8(process->host);
	if (!actor->command || !actor->host) {
		return -ENOMEM;
	}
	actor->shown.index = index;
	actor->shown.uuid = uuid_of(cast, process, 0);
	actor->shown.pid = process->pid;
	actor->shown.show_pid = id_unique(cast, process->pid);
	actor->shown.command = actor->command;
	actor->shown.host = actor->host;
	actor->shown.role = hk_report_role_of(process);
	actor->shown.is_main = actor->shown.rank >= 0 && role_order(process) == 0 &&
			       (!before || before->shown.rank != actor->shown.rank);
	title(actor);
	cast->shown[index] = &actor->shown;
	return 0;
}

static void add_actor(struct hk_cast *cast, const Hk__Snapshot *snapshot,
		      const struct hk_report_clock *clock, size_t ordinal)
{
	struct hk_actor *actor = &cast->actors[cast->count++];

	actor->process = snapshot->processes[ordinal];
	actor->ordinal = ordinal;
	actor->shown.rank = hk_report_rank_of(actor->process);
	__int128 start_ns = (__int128)hk_report_clock_origin(snapshot) + clock->since_ns;
	const Hk__Anchor *last = actor->process->end ? actor->process->end : actor->process->seen;
	struct hk_report_error error;
	/* What a damaged clock says goes to the edge. */
	start_ns = start_ns < 0 ? 0 : start_ns > INT64_MAX ? INT64_MAX : start_ns;
	actor->shown.start_ns = actor->process->start ? (uint64_t)start_ns : 0;
	actor->shown.clock_known =
	    hk_report_clock_error(clock, clock->ticks, last ? last->ticks : clock->ticks, &error);
	actor->shown.clock_error_ns = error.bound_ns;
}

int hk_cast_new(const Hk__Snapshot *snapshot,
		bool (*keep)(void *context, const Hk__Process *process), void *context,
		struct hk_cast **ret_cast)
{
	struct hk_cast *cast = calloc(1, sizeof(*cast));
	const char *job = snapshot->job ? snapshot->job->id : "";
	struct hk_report_clock *clocks;
	int rc = cast ? hk_report_clock_all(snapshot, &clocks) : -ENOMEM;

	if (rc < 0) {
		free(cast);
		return rc;
	}
	cast->next_id = OWN_IDS;
	cast->next_sequence = 1;
	cast->seed = XXH3_64bits(job, strlen(job));
	cast->actors = calloc(snapshot->n_processes + 1, sizeof(*cast->actors));
	cast->shown = calloc(snapshot->n_processes + 1, sizeof(struct hk_export_process *));
	if (!cast->actors || !cast->shown) {
		free(clocks);
		hk_cast_free(cast);
		return -ENOMEM;
	}
	for (size_t i = 0; i < snapshot->n_processes; i++) {
		if (!keep || keep(context, snapshot->processes[i])) {
			add_actor(cast, snapshot, &clocks[i], i);
		}
	}
	free(clocks);
	qsort(cast->actors, cast->count, sizeof(*cast->actors), compare_actors);
	for (size_t i = 0; rc == 0 && i < cast->count; i++) {
		rc = show_actor(cast, i);
	}
	if (rc < 0) {
		hk_cast_free(cast);
		return rc;
	}
	*ret_cast = cast;
	return 0;
}

static void actor_fini(struct hk_actor *actor)
{
	struct thread *thread, *next_thread;

	HASH_ITER (hh, actor->threads, thread, next_thread) {
		HASH_DEL(actor->threads, thread);
		hk_nest_fini(&thread->thread.nest);
		free(thread);
	}
	for (uint32_t i = 0; i < actor->site_capacity; i++) {
		if (actor->sites[i]) {
			free((void *)actor->sites[i]->signature);
			free(actor->sites[i]);
		}
	}
	free(actor->sites);
	free(actor->command);
	free(actor->host);
}

struct hk_cast *hk_cast_free(struct hk_cast *cast)
{
	struct used_id *used, *next_used;

	if (!cast) {
		return NULL;
	}
	for (size_t i = 0; i < cast->count; i++) {
		actor_fini(&cast->actors[i]);
	}
	HASH_ITER (hh, cast->used, used, next_used) {
		HASH_DEL(cast->used, used);
		free(used);
	}
	free(cast->shown);
	free(cast->actors);
	free(cast);
	return NULL;
}

size_t hk_cast_count(const struct hk_cast *cast)
{
	return cast->count;
}

struct hk_actor *hk_cast_actor(struct hk_cast *cast, size_t index)
{
	return &cast->actors[index];
}

const struct hk_export_process *const *hk_cast_shown(const struct hk_cast *cast)
{
	return cast->shown;
}

const Hk__Process *hk_actor_process(const struct hk_actor *actor)
{
	return actor->process;
}

const struct hk_export_process *hk_actor_shown(const struct hk_actor *actor)
{
	return &actor->shown;
}

size_t hk_actor_ordinal(const struct hk_actor *actor)
{
	return actor->ordinal;
}

/* ---- threads ---- */

/* The main thread's id is the process's own, renumbered with it. */
static uint32_t show_tid(struct hk_cast *cast, struct hk_actor *actor, uint32_t tid)
{
	if (tid == actor->process->pid && !actor->main_thread_shown) {
		actor->main_thread_shown = true;
		return actor->shown.show_pid;
	}
	return id_unique(cast, tid);
}

static void name_thread(struct hk_export_thread *shown, const struct hk_actor *actor,
			const struct hk_chunk_thread *described)
{
	char name[HK_CHUNK_NAME_BYTES + 1] = {0};
	const char *from = name;

	memcpy(name, described->name, HK_CHUNK_NAME_BYTES);
	for (size_t i = 0; !*from && i < actor->process->n_threads; i++) {
		if (actor->process->threads[i]->uid == described->uid) {
			from = actor->process->threads[i]->name;
			break;
		}
	}
	if (*from) {
		hk_utf8_copy(from, shown->name, sizeof(shown->name));
	} else {
		snprintf(shown->name, sizeof(shown->name), "%s",
			 shown->is_main ? "main" : "thread");
	}
}

struct hk_cast_thread *hk_actor_thread(struct hk_cast *cast, struct hk_actor *actor,
				       const struct hk_chunk_thread *described)
{
	struct thread *thread = actor->last;
	struct hk_export_thread *shown;

	if (thread && thread->thread.shown.uid == described->uid) {
		return &thread->thread;
	}
	HASH_FIND(hh, actor->threads, &described->uid, sizeof(described->uid), thread);
	if (!thread) {
		thread = calloc(1, sizeof(*thread));
		if (!thread) {
			return NULL;
		}
		shown = &thread->thread.shown;
		shown->process = &actor->shown;
		shown->uid = described->uid;
		/* Number 0 is the process itself. */
		shown->uuid = uuid_of(cast, actor->process, described->uid + 1);
		shown->sequence = cast->next_sequence++;
		shown->is_main = described->tid == actor->process->pid;
		shown->tid = described->tid;
		shown->show_tid = show_tid(cast, actor, described->tid);
		name_thread(shown, actor, described);
		HASH_ADD(hh, actor->threads, thread.shown.uid, sizeof(described->uid), thread);
		if (!thread->hh.tbl) {
			free(thread);
			return NULL;
		}
	}
	actor->last = thread;
	return &thread->thread;
}

struct hk_cast_thread *hk_actor_next_thread(struct hk_actor *actor, struct hk_cast_thread *previous)
{
	struct thread *next = previous ? ((struct thread *)previous)->hh.next : actor->threads;

	return next ? &next->thread : NULL;
}

/* ---- sites ---- */

static int reserve_site(struct hk_actor *actor, uint32_t id)
{
	uint32_t capacity = id + id / 2 + 64;
	struct hk_export_site **sites;

	if (id < actor->site_capacity) {
		return 0;
	}
	sites = reallocarray(actor->sites, capacity, sizeof(struct hk_export_site *));
	if (!sites) {
		return -ENOMEM;
	}
	memset(sites + actor->site_capacity, 0,
	       (capacity - actor->site_capacity) * sizeof(struct hk_export_site *));
	actor->sites = sites;
	actor->site_capacity = capacity;
	return 0;
}

/* One allocation: the struct and its three strings, each made valid. */
static struct hk_export_site *make_site(const char *const texts[3])
{
	size_t size = sizeof(struct hk_export_site);
	struct hk_export_site *site;
	const char **fields[3];
	char *at;

	for (int i = 0; i < 3; i++) {
		size += strlen(texts[i]) * 3 + 1; /* at worst every byte becomes U+FFFD */
	}
	site = calloc(1, size);
	if (!site) {
		return NULL;
	}
	fields[0] = &site->function;
	fields[1] = &site->library;
	fields[2] = &site->domain;
	at = (char *)(site + 1);
	for (int i = 0; i < 3; i++) {
		*fields[i] = at;
		at += hk_utf8_copy(texts[i], at, strlen(texts[i]) * 3 + 1) + 1;
	}
	return site;
}

static const Hk__Site *snapshot_site(const Hk__Process *process, uint32_t id)
{
	for (size_t i = 0; i < process->n_sites; i++) {
		if (process->sites[i]->id == id) {
			return process->sites[i];
		}
	}
	return NULL;
}

static struct hk_export_site *describe_site(const struct hk_actor *actor, uint32_t id,
					    const struct hk_chunk_site *defined)
{
	const Hk__Site *known = NULL;
	struct hk_export_site *site;
	char unknown[32];

	if (defined && *defined->function) {
		site = make_site(
		    (const char *const[]){defined->function, defined->library, defined->domain});
		if (site) {
			site->key_count = defined->key_count > HK_SLICE_WORDS ? HK_SLICE_WORDS
									      : defined->key_count;
			memcpy(site->keys, defined->keys, site->key_count);
			site->meaning = defined->meaning;
		}
		return site;
	}
	known = snapshot_site(actor->process, id);
	if (!known) {
		snprintf(unknown, sizeof(unknown), "site %u", id);
		return make_site((const char *const[]){unknown, "", ""});
	}
	site = make_site((const char *const[]){known->function, known->library, known->domain});
	if (site) {
		site->meaning = (uint8_t)known->meaning;
	}
	for (size_t i = 0; site && i < known->n_keys && i < HK_SLICE_WORDS; i++) {
		site->keys[site->key_count++] = (uint8_t)known->keys[i];
	}
	return site;
}

/* Signature text and what was read from it in one allocation; a bad one stays away. */
static void describe_arguments(struct hk_export_site *site, const char *text)
{
	size_t bytes = strlen(text) + 1;
	struct hk_signature *signature = malloc(sizeof(*signature) + bytes);

	if (signature && hk_signature_read(memcpy(signature + 1, text, bytes), signature) == 0) {
		site->signature = signature;
	} else {
		free(signature);
	}
}

const struct hk_export_site *hk_actor_site(struct hk_actor *actor, uint32_t id,
					   const struct hk_chunk_site *defined)
{
	if (id >= HK_CHUNK_SITES_MAX || reserve_site(actor, id) < 0) {
		return NULL;
	}
	if (!actor->sites[id]) {
		actor->sites[id] = describe_site(actor, id, defined);
		if (actor->sites[id]) {
			actor->sites[id]->index = actor->site_count++;
		}
	}
	if (actor->sites[id] && !actor->sites[id]->signature && defined && defined->signature) {
		describe_arguments(actor->sites[id], defined->signature);
	}
	return actor->sites[id];
}
