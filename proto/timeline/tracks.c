#include "timeline/tracks.h"
#include "timeline/kernel_name.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include <xxhash.h>

#include "report/build/process.h"
#include "report/clock/job_clock.h"
#include "report/model/role.h"
#include "report/model/stacks.h"
#include "text/name.h"
#include "text/utf8.h"

/* The kernel's process ids end at 2^22. */
#define OWN_IDS 5000000u

struct used_id {
	uint32_t id;
	UT_hash_handle hh;
};

struct thread {
	struct hk_tracks_thread thread; /* first member: the struct is converted back from it */
	UT_hash_handle hh;
};

struct hk_process_track {
	struct hk_export_process shown;
	const Hk__Process *process;
	size_t ordinal;
	struct thread *threads;	       /* by uid */
	struct thread *last;	       /* cache of the last look-up: calls come in bursts */
	struct hk_export_site **sites; /* by id */
	uint32_t site_capacity, site_count;
	const char **kernels; /* short names, in one allocation; NULL: not made yet */
	char *command, *host;
	bool main_thread_shown;
};

struct hk_tracks {
	struct hk_process_track *tracks;
	size_t count;
	const struct hk_export_process **shown;
	struct used_id *used;
	uint32_t next_id, next_sequence;
	uint64_t seed; /* seed of uuids: a hash of the job's id */
};

/* ---- ids ---- */

static int id_take(struct hk_tracks *tracks, uint32_t id)
{
	struct used_id *entry;

	HASH_FIND(hh, tracks->used, &id, sizeof(id), entry);
	if (entry) {
		return -EEXIST;
	}
	entry = malloc(sizeof(*entry));
	if (!entry) {
		return -ENOMEM;
	}
	entry->id = id;
	HASH_ADD(hh, tracks->used, id, sizeof(id), entry);
	if (!entry->hh.tbl) {
		free(entry);
		return -ENOMEM;
	}
	return 0;
}

/* Returns WANTED if it is unused and a kernel's number, else a number above those. */
static uint32_t id_unique(struct hk_tracks *tracks, uint32_t wanted)
{
	if (wanted > 0 && wanted < OWN_IDS && id_take(tracks, wanted) == 0) {
		return wanted;
	}
	return tracks->next_id++;
}

static uint64_t uuid_of(const struct hk_tracks *tracks, const Hk__Process *process, uint64_t thread)
{
	uint64_t parts[2] = {
	    XXH3_64bits_withSeed(process->uid.data, process->uid.len, tracks->seed), thread};
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
	const struct hk_process_track *a = left, *b = right;
	/* As unsigned numbers, processes without a rank (-1) come last. */
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

static void title(struct hk_process_track *track)
{
	char raw[sizeof(track->shown.title)];
	const char *host = track->process->host, *role = hk_report_role_of(track->process);
	bool is_main = role_order(track->process) == 0;

	if (track->shown.rank >= 0) {
		snprintf(raw, sizeof(raw), "rank %d%s%s (%.64s) pid %u", track->shown.rank,
			 is_main ? "" : " ", is_main ? "" : role, host, track->process->pid);
	} else {
		snprintf(raw, sizeof(raw), "%s (%.64s) pid %u", role, host, track->process->pid);
	}
	hk_utf8_copy(raw, track->shown.title, sizeof(track->shown.title));
}

static int show_actor(struct hk_tracks *tracks, size_t index)
{
	struct hk_process_track *track = &tracks->tracks[index];
	const struct hk_process_track *before = index ? &tracks->tracks[index - 1] : NULL;
	const Hk__Process *process = track->process;

	track->command = hk_name_utf8(process->command);
	track->host = hk_name_utf8(process->host);
	if (!track->command || !track->host) {
		return -ENOMEM;
	}
	track->shown.index = index;
	track->shown.uuid = uuid_of(tracks, process, 0);
	track->shown.pid = process->pid;
	track->shown.show_pid = id_unique(tracks, process->pid);
	track->shown.command = track->command;
	track->shown.host = track->host;
	track->shown.role = hk_report_role_of(process);
	track->shown.stacks = hk_stacks_valid(process) ? process : NULL;
	track->shown.is_main = track->shown.rank >= 0 && role_order(process) == 0 &&
			       (!before || before->shown.rank != track->shown.rank);
	title(track);
	tracks->shown[index] = &track->shown;
	return 0;
}

static void add_actor(struct hk_tracks *tracks, const Hk__Snapshot *snapshot,
		      const struct hk_report_clock *clock, size_t ordinal)
{
	struct hk_process_track *track = &tracks->tracks[tracks->count++];

	track->process = snapshot->processes[ordinal];
	track->ordinal = ordinal;
	track->shown.rank = hk_report_rank_of(track->process);
	__int128 start_ns = (__int128)hk_report_clock_origin(snapshot) + clock->since_ns;
	const Hk__Anchor *last = track->process->end ? track->process->end : track->process->seen;
	struct hk_report_error error;
	/* Times of a damaged clock are clamped. */
	start_ns = start_ns < 0 ? 0 : start_ns > INT64_MAX ? INT64_MAX : start_ns;
	track->shown.start_ns = track->process->start ? (uint64_t)start_ns : 0;
	track->shown.clock_known =
	    hk_report_clock_error(clock, clock->ticks, last ? last->ticks : clock->ticks, &error);
	track->shown.clock_error_ns = error.bound_ns;
}

int hk_tracks_new(const Hk__Snapshot *snapshot,
		  bool (*keep)(void *context, const Hk__Process *process), void *context,
		  struct hk_tracks **ret_tracks)
{
	struct hk_tracks *tracks = calloc(1, sizeof(*tracks));
	const char *job = snapshot->job ? snapshot->job->id : "";
	struct hk_report_clock *clocks;
	int rc = tracks ? hk_report_clock_all(snapshot, &clocks) : -ENOMEM;

	if (rc < 0) {
		free(tracks);
		return rc;
	}
	tracks->next_id = OWN_IDS;
	tracks->next_sequence = 1;
	tracks->seed = XXH3_64bits(job, strlen(job));
	tracks->tracks = calloc(snapshot->n_processes + 1, sizeof(*tracks->tracks));
	tracks->shown = calloc(snapshot->n_processes + 1, sizeof(struct hk_export_process *));
	if (!tracks->tracks || !tracks->shown) {
		free(clocks);
		hk_tracks_free(tracks);
		return -ENOMEM;
	}
	for (size_t i = 0; i < snapshot->n_processes; i++) {
		if (!keep || keep(context, snapshot->processes[i])) {
			add_actor(tracks, snapshot, &clocks[i], i);
		}
	}
	free(clocks);
	qsort(tracks->tracks, tracks->count, sizeof(*tracks->tracks), compare_actors);
	for (size_t i = 0; rc == 0 && i < tracks->count; i++) {
		rc = show_actor(tracks, i);
	}
	if (rc < 0) {
		hk_tracks_free(tracks);
		return rc;
	}
	*ret_tracks = tracks;
	return 0;
}

static void actor_fini(struct hk_process_track *track)
{
	struct thread *thread, *next_thread;

	HASH_ITER (hh, track->threads, thread, next_thread) {
		HASH_DEL(track->threads, thread);
		hk_nest_fini(&thread->thread.nest);
		free(thread);
	}
	for (uint32_t i = 0; i < track->site_capacity; i++) {
		if (track->sites[i]) {
			free((void *)track->sites[i]->signature);
			free(track->sites[i]);
		}
	}
	free(track->sites);
	free(track->command);
	free(track->host);
	free(track->kernels);
}

struct hk_tracks *hk_tracks_free(struct hk_tracks *tracks)
{
	struct used_id *used, *next_used;

	if (!tracks) {
		return NULL;
	}
	for (size_t i = 0; i < tracks->count; i++) {
		actor_fini(&tracks->tracks[i]);
	}
	HASH_ITER (hh, tracks->used, used, next_used) {
		HASH_DEL(tracks->used, used);
		free(used);
	}
	free(tracks->shown);
	free(tracks->tracks);
	free(tracks);
	return NULL;
}

size_t hk_tracks_count(const struct hk_tracks *tracks)
{
	return tracks->count;
}

struct hk_process_track *hk_tracks_process(struct hk_tracks *tracks, size_t index)
{
	return &tracks->tracks[index];
}

const struct hk_export_process *const *hk_tracks_shown(const struct hk_tracks *tracks)
{
	return tracks->shown;
}

const Hk__Process *hk_process_track_process(const struct hk_process_track *track)
{
	return track->process;
}

const struct hk_export_process *hk_process_track_shown(const struct hk_process_track *track)
{
	return &track->shown;
}

size_t hk_process_track_ordinal(const struct hk_process_track *track)
{
	return track->ordinal;
}

/* ---- threads ---- */

/* Returns the number shown for TID. That of the main thread is the process's number. */
static uint32_t show_tid(struct hk_tracks *tracks, struct hk_process_track *track, uint32_t tid)
{
	if (tid == track->process->pid && !track->main_thread_shown) {
		track->main_thread_shown = true;
		return track->shown.show_pid;
	}
	return id_unique(tracks, tid);
}

static void name_thread(struct hk_export_thread *shown, const struct hk_process_track *track,
			const struct hk_chunk_thread *described)
{
	char name[HK_CHUNK_NAME_BYTES + 1] = {0};
	const char *from = name;

	memcpy(name, described->name, HK_CHUNK_NAME_BYTES);
	for (size_t i = 0; !*from && i < track->process->n_threads; i++) {
		if (track->process->threads[i]->uid == described->uid) {
			from = track->process->threads[i]->name;
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

struct hk_tracks_thread *hk_process_track_thread(struct hk_tracks *tracks,
						 struct hk_process_track *track,
						 const struct hk_chunk_thread *described)
{
	struct thread *thread = track->last;
	struct hk_export_thread *shown;

	if (thread && thread->thread.shown.uid == described->uid) {
		return &thread->thread;
	}
	HASH_FIND(hh, track->threads, &described->uid, sizeof(described->uid), thread);
	if (!thread) {
		thread = calloc(1, sizeof(*thread));
		if (!thread) {
			return NULL;
		}
		shown = &thread->thread.shown;
		shown->process = &track->shown;
		shown->uid = described->uid;
		/* Number 0 is the process itself. */
		shown->uuid = uuid_of(tracks, track->process, described->uid + 1);
		shown->sequence = tracks->next_sequence++;
		shown->is_main = described->tid == track->process->pid;
		shown->tid = described->tid;
		shown->show_tid = show_tid(tracks, track, described->tid);
		name_thread(shown, track, described);
		HASH_ADD(hh, track->threads, thread.shown.uid, sizeof(described->uid), thread);
		if (!thread->hh.tbl) {
			free(thread);
			return NULL;
		}
	}
	track->last = thread;
	return &thread->thread;
}

struct hk_tracks_thread *hk_process_track_next_thread(struct hk_process_track *track,
						      struct hk_tracks_thread *previous)
{
	struct thread *next = previous ? ((struct thread *)previous)->hh.next : track->threads;

	return next ? &next->thread : NULL;
}

/* ---- sites ---- */

static int reserve_site(struct hk_process_track *track, uint32_t id)
{
	uint32_t capacity = id + id / 2 + 64;
	struct hk_export_site **sites;

	if (id < track->site_capacity) {
		return 0;
	}
	sites = reallocarray(track->sites, capacity, sizeof(struct hk_export_site *));
	if (!sites) {
		return -ENOMEM;
	}
	memset(sites + track->site_capacity, 0,
	       (capacity - track->site_capacity) * sizeof(struct hk_export_site *));
	track->sites = sites;
	track->site_capacity = capacity;
	return 0;
}

/* Makes a site in one allocation: the struct and its three strings, each made valid UTF-8. */
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

static struct hk_export_site *describe_site(const struct hk_process_track *track, uint32_t id,
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
	known = snapshot_site(track->process, id);
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

/* Makes the short names of the process's kernels, for its launches. */
static void name_kernels(struct hk_process_track *track)
{
	size_t count = track->process->n_kernels, size = HK_KERNEL_SHORT_BYTES * 3;
	char label[HK_KERNEL_SHORT_BYTES], *at;

	track->kernels = calloc(count, sizeof(*track->kernels) + size);
	at = (char *)(track->kernels + count);
	for (size_t i = 0; track->kernels && i < count; i++) {
		hk_kernel_label(track->process->kernels[i], label);
		hk_utf8_copy(label, at, size);
		track->kernels[i] = at;
		at += size;
	}
}

static void describe_kernels(struct hk_process_track *track, struct hk_export_site *site)
{
	bool launches = false;

	for (unsigned i = 0; i < site->key_count; i++) {
		launches |= site->keys[i] == HK_KEY_KERNEL;
	}
	if (!launches || track->process->n_kernels == 0) {
		return;
	}
	if (!track->kernels) {
		name_kernels(track);
	}
	site->kernels = track->kernels;
	site->kernel_count = track->kernels ? track->process->n_kernels : 0;
}

/* Sets the site's signature, with its text in one allocation. An invalid one is left out. */
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

const struct hk_export_site *hk_process_track_site(struct hk_process_track *track, uint32_t id,
						   const struct hk_chunk_site *defined)
{
	if (id >= HK_CHUNK_SITES_MAX || reserve_site(track, id) < 0) {
		return NULL;
	}
	if (!track->sites[id]) {
		track->sites[id] = describe_site(track, id, defined);
		if (track->sites[id]) {
			track->sites[id]->index = track->site_count++;
			describe_kernels(track, track->sites[id]);
		}
	}
	if (track->sites[id] && !track->sites[id]->signature && defined && defined->signature) {
		describe_arguments(track->sites[id], defined->signature);
	}
	return track->sites[id];
}
