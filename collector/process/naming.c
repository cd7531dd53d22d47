#include "collector/process/naming.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include <utlist.h>

#include "collector/model/collector.h"
#include "collector/model/fields.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "collector/process/ancestry.h"
#include "collector/process/kernels.h"
#include "collector/symbol/bad_files.h"
#include "collector/symbol/frame_names.h"
#include "collector/symbol/reply.h"
#include "collector/symbol/symbols.h"
#include "report/model/stacks.h"

#define SECOND_NS UINT64_C(1000000000)
#define CLOSE_WAIT_NS (10 * SECOND_NS)
#define REPLIES_MOST 64u     /* taken in one call */
#define WINDOW_FRAMES 20000u /* searched for frames of one object */
#define RETRY_MAX_NS (64 * SECOND_NS)
#define SOURCE_BYTES 64u
#define ATTEMPTS 2u /* at a file whose reader ended */

/* A process, or a message that is no process of the collector. */
struct key {
	uint8_t uid[HK_UID_BYTES]; /* of the process; 0: a message */
	uint64_t ticket;	   /* of the message; 0: a process */
};

/* A process or message with frames or kernels that have no name yet. */
struct entry {
	UT_hash_handle hh;
	struct entry *prev, *next; /* in the order of their turns */
	struct key key;
	Hk__Process *message; /* NULL: of the process */
	uint32_t pid;	      /* of the message */
	uint32_t cursor;      /* no frame before this number is pending */
	size_t bytes;	      /* of texts in the process's message */
	/* Names of generated code are looked for again, because the program adds them as it goes.
	 */
	bool generated;
	uint64_t retry_ns, retry_wait_ns;
	bool last_retry; /* the process has ended, or a message is not waited for */
};

/* What an entry names. */
struct target {
	Hk__Process *state;
	struct hk_process *process; /* NULL: a message */
	uint32_t pid;		    /* below whose root directory files lie; 0: not known */
};

/* The frames or kernels of one request: of one object. */
/* The addresses of one request, all of one object. */
struct batch {
	struct key key;
	uint32_t object; /* 0: generated code */
	bool kernels;	 /* the numbers are kernels', not frames' */
	uint32_t numbers[HK_SYMBOL_ADDRESSES_MOST];
	uint64_t addresses[HK_SYMBOL_ADDRESSES_MOST];
	size_t count;
	unsigned attempts;
};

struct hk_naming {
	struct hk_symbols *symbols;
	struct entry *entries; /* by key */
	struct entry *turns;
	struct hk_bad_files bad;
	struct batch batch; /* count 0: nothing */
	uint64_t failed_ns; /* monotonic: when a request could not be sent; 0: it could */
	uint64_t tickets;   /* given so far */
};

struct hk_naming *hk_naming_new(void)
{
	struct hk_naming *naming = calloc(1, sizeof(*naming));

	if (naming && !(naming->symbols = hk_symbols_new())) {
		free(naming);
		return NULL;
	}
	return naming;
}

static void drop(struct hk_naming *naming, struct entry *entry)
{
	HASH_DEL(naming->entries, entry);
	DL_DELETE(naming->turns, entry);
	free(entry);
}

struct hk_naming *hk_naming_free(struct hk_naming *naming)
{
	if (!naming) {
		return NULL;
	}
	while (naming->turns) {
		drop(naming, naming->turns);
	}
	hk_bad_files_fini(&naming->bad);
	hk_symbols_free(naming->symbols);
	free(naming);
	return NULL;
}

int hk_naming_fd(const struct hk_naming *naming)
{
	return hk_symbols_fd(naming->symbols);
}

/* ---- processes and messages ---- */

static struct key key_of(const struct hk_process *process)
{
	struct key key = {.ticket = 0};

	memcpy(key.uid, process->uid, HK_UID_BYTES);
	return key;
}

static struct entry *entry_by(struct hk_naming *naming, const struct key *key)
{
	struct entry *entry;

	HASH_FIND(hh, naming->entries, key, sizeof(*key), entry);
	return entry;
}

static struct entry *entry_of(struct hk_naming *naming, const struct hk_process *process)
{
	const struct key key = key_of(process);

	return entry_by(naming, &key);
}

static struct entry *add_entry(struct hk_naming *naming, const struct key *key,
			       const Hk__Process *state)
{
	struct entry *entry = calloc(1, sizeof(*entry));

	if (entry) {
		entry->key = *key;
		entry->bytes = hk_frame_names_bytes(state) + hk_kernels_found_bytes(state);
		HASH_ADD(hh, naming->entries, key, sizeof(entry->key), entry);
		DL_APPEND(naming->turns, entry);
	}
	return entry;
}

/* Finds what KEY stands for. Returns false if that has ended or has no valid frames. */
static bool target_of(struct hk_collector *collector, const struct key *key,
		      struct target *ret_target)
{
	const struct entry *entry = entry_by(collector->naming, key);

	if (key->ticket != 0) {
		*ret_target = (struct target){.state = entry ? entry->message : NULL,
					      .pid = entry ? entry->pid : 0};
		return entry != NULL;
	}
	/* A process of a job that has closed is not looked for any more. */
	struct hk_process *process = hk_ancestry_by_uid(collector, key->uid);
	if (!process || process->remote || !hk_stacks_valid(process->state)) {
		return false;
	}
	*ret_target = (struct target){.state = process->state,
				      .process = process,
				      .pid = process->foreign ? 0 : process->state->pid};
	return true;
}

static void note_change(const struct target *target)
{
	if (target->process) {
		target->process->changed = true;
	}
}

int hk_naming_add(struct hk_naming *naming, struct hk_process *process)
{
	struct entry *entry = entry_of(naming, process);
	uint32_t first = 1;

	if (!hk_stacks_valid(process->state)) {
		return 0;
	}
	/* Frames never change, so only those behind the last one are new. */
	while (hk_frame_names_entry(process->state, first + HK_STACKS_PART_FRAMES - 1)) {
		first += HK_STACKS_PART_FRAMES;
	}
	int64_t added = hk_frame_names_extend(process->state);
	if (added < 0) {
		return -ENOMEM;
	}
	if (added == 0 && hk_kernels_next_nameless(process->state, process->kernels_named) == 0) {
		return 0;
	}
	const struct key key = key_of(process);
	if (!entry && !(entry = add_entry(naming, &key, process->state))) {
		return -ENOMEM;
	}
	entry->cursor = entry->cursor == 0 || first < entry->cursor ? first : entry->cursor;
	return 0;
}

uint64_t hk_naming_begin(struct hk_naming *naming, Hk__Process *message, uint32_t pid)
{
	const struct key key = {.ticket = naming->tickets + 1};
	bool pending = hk_stacks_valid(message) && hk_frame_names_extend(message) > 0;
	struct entry *entry = pending ? add_entry(naming, &key, message) : NULL;

	if (!entry) {
		return 0;
	}
	entry->message = message;
	entry->pid = pid;
	entry->last_retry = true;
	DL_DELETE(naming->turns, entry);
	DL_PREPEND(naming->turns, entry);
	return ++naming->tickets;
}

/* ---- requests ---- */

/* Collects pending frames of one object, from the entry's cursor on, which it moves. */
static void collect_frames(struct entry *entry, const Hk__Process *state, struct batch *batch)
{
	uint32_t number = entry->cursor ? entry->cursor : 1, object;
	uint64_t address;

	batch->count = 0;
	for (uint32_t end = UINT32_MAX; number < end && batch->count < HK_SYMBOL_ADDRESSES_MOST &&
					hk_frame_names_entry(state, number);
	     number++) {
		if (!hk_frame_names_is_pending(state, number, &object, &address)) {
			continue;
		}
		if (batch->count == 0) {
			batch->object = object;
			entry->cursor = number;
			end = number + WINDOW_FRAMES;
		}
		if (object == batch->object) {
			batch->numbers[batch->count] = number;
			batch->addresses[batch->count++] = address;
		}
	}
	if (batch->count == 0) {
		entry->cursor = number;
	}
}

/* Collects kernels of one object for which no name was requested. */
static void collect_kernels(const struct hk_process *process, struct batch *batch)
{
	uint32_t number = process->kernels_named;

	while (batch->count < HK_SYMBOL_ADDRESSES_MOST &&
	       (number = hk_kernels_next_nameless(process->state, number)) > 0) {
		const Hk__Kernel *kernel = process->state->kernels[number - 1];
		if (batch->count > 0 && kernel->object != batch->object) {
			break;
		}
		batch->object = kernel->object;
		batch->numbers[batch->count] = number;
		batch->addresses[batch->count++] = kernel->address;
	}
}

/* Collects what TARGET has without a name, frames first. */
static void collect(struct entry *entry, const struct target *target, struct batch *batch)
{
	collect_frames(entry, target->state, batch);
	batch->kernels = batch->count == 0 && target->process;
	if (batch->kernels) {
		collect_kernels(target->process, batch);
	}
}

/* Sorts generated code by address: at most 256 frames, mostly in order. */
static void sort(struct batch *batch)
{
	for (size_t i = 1; i < batch->count; i++) {
		uint64_t address = batch->addresses[i];
		uint32_t number = batch->numbers[i];
		size_t at = i;
		for (; at > 0 && batch->addresses[at - 1] > address; at--) {
			batch->addresses[at] = batch->addresses[at - 1];
			batch->numbers[at] = batch->numbers[at - 1];
		}
		batch->addresses[at] = address;
		batch->numbers[at] = number;
	}
}

static const char *path_of(const Hk__Process *state, uint32_t object)
{
	return object > 0 && object <= state->n_stack_objects
		   ? state->stack_objects[object - 1]->path
		   : "";
}

/* Returns by what name it is known that OBJECT, or the map of generated code, is not to be read. */
static const char *source_of(const Hk__Process *state, uint32_t object, char text[SOURCE_BYTES])
{
	snprintf(text, SOURCE_BYTES, "perf-%u.map, %" PRIu64, state->pid, state->pid_start);
	return object > 0 ? path_of(state, object) : text;
}

/* Ends the batch; its rest stays without names. PROBLEM: why the file was not read, or NULL. */
static void give_up(struct hk_naming *naming, const struct target *target, const char *problem)
{
	struct batch *batch = &naming->batch;
	Hk__Process *state = target->state;

	if (batch->kernels) {
		target->process->kernels_named = batch->numbers[batch->count - 1];
	}
	for (size_t i = 0; i < batch->count && !batch->kernels; i++) {
		uint32_t *entry = hk_frame_names_entry(state, batch->numbers[i]);
		if (entry && *entry == HK_STACKS_NAME_PENDING) {
			*entry = 0;
		}
	}
	if (problem && *problem && batch->object > 0 && batch->object <= state->n_stack_objects) {
		hk_field_set_string(&state->stack_objects[batch->object - 1]->unread, problem);
	}
	note_change(target);
}

static int ask(struct hk_naming *naming, const struct target *target, uint64_t now)
{
	const Hk__Process *state = target->state;
	struct batch *batch = &naming->batch;
	Hk__SymbolRequest request = HK__SYMBOL_REQUEST__INIT;
	char root[32] = "";

	if (target->pid != 0) {
		snprintf(root, sizeof(root), "/proc/%" PRIu32 "/root", target->pid);
	}
	if (batch->object > 0) {
		request.path = (char *)path_of(state, batch->object);
		request.build_id = state->stack_objects[batch->object - 1]->build_id;
	} else {
		sort(batch);
	}
	request.root = root;
	request.pid = state->pid;
	request.start_unix_ns = state->start ? state->start->realtime_ns : 0;
	request.address = batch->addresses;
	request.n_address = batch->count;
	batch->attempts++;
	return hk_symbols_ask(naming->symbols, &request, now);
}

/* Handles an entry without pending frames. Returns whether some are pending again. */
static bool finish_pass(struct hk_naming *naming, struct entry *entry, const struct target *target,
			uint64_t now)
{
	bool exited = target->process && target->process->exited;

	if (!entry->generated || entry->last_retry) {
		drop(naming, entry);
	} else if (exited || now >= entry->retry_ns) {
		entry->last_retry = exited;
		entry->retry_wait_ns = entry->retry_wait_ns == 0 ? SECOND_NS
				       : entry->retry_wait_ns < RETRY_MAX_NS
					   ? 2 * entry->retry_wait_ns
					   : RETRY_MAX_NS;
		entry->retry_ns = now + entry->retry_wait_ns;
		entry->cursor = 1;
		return hk_frame_names_retry(target->state);
	}
	return false;
}

/* Asks for frames of ENTRY. Returns whether a request is under way. */
static bool ask_entry(struct hk_collector *collector, struct entry *entry, uint64_t now)
{
	struct hk_naming *naming = collector->naming;
	struct batch *batch = &naming->batch;
	struct target target;
	char source[SOURCE_BYTES];

	if (!target_of(collector, &entry->key, &target)) {
		drop(naming, entry);
		return false;
	}
	collect(entry, &target, batch);
	if (batch->count == 0 && !finish_pass(naming, entry, &target, now)) {
		return false;
	}
	if (batch->count == 0) {
		collect(entry, &target, batch);
	}
	batch->key = entry->key;
	batch->attempts = 0;
	entry->generated |= batch->object == 0 && target.pid != 0;
	const char *problem =
	    hk_bad_files_find(&naming->bad, source_of(target.state, batch->object, source));
	if (problem || (batch->object == 0 && target.pid == 0)) {
		give_up(naming, &target, problem);
		batch->count = 0;
		return false;
	}
	int r = ask(naming, &target, now);
	if (r < 0) {
		naming->failed_ns = now;
		batch->count = 0;
	}
	return r == 0;
}

/* ---- replies ---- */

static void apply(struct hk_naming *naming, const struct target *target,
		  const Hk__SymbolReply *reply)
{
	struct entry *entry = entry_by(naming, &naming->batch.key);
	size_t none = 0, *bytes = entry ? &entry->bytes : &none;

	for (size_t i = 0; i < reply->n_frame; i++) {
		const Hk__SymbolFrame *frame = reply->frame[i];
		if (frame->index >= naming->batch.count) {
			continue;
		}
		uint32_t number = naming->batch.numbers[frame->index];
		uint32_t *name = hk_frame_names_entry(target->state, number);
		if (naming->batch.kernels) {
			hk_kernels_set_name(target->state, number, frame, bytes);
		} else if (name && *name == HK_STACKS_NAME_PENDING) {
			*name = 0;
			hk_frame_names_set(target->state, number, frame, bytes);
		}
	}
	note_change(target);
	if (reply->last) {
		give_up(naming, target, reply->problem);
	}
}

/* Handles ERROR: the reader of the file ended, or was killed. */
static void lose(struct hk_naming *naming, const struct target *target, int error, uint64_t now)
{
	struct batch *batch = &naming->batch;
	bool again = error == -ECHILD && batch->attempts < ATTEMPTS;

	if (again && ask(naming, target, now) == 0) {
		return;
	}
	if (!again) {
		const char *problem = error == -ETIMEDOUT ? "reading it takes too long"
							  : "it ended the process that read it";
		char source[SOURCE_BYTES];
		hk_bad_files_add(&naming->bad, source_of(target->state, batch->object, source),
				 problem);
		give_up(naming, target, problem);
	}
	batch->count = 0;
}

static void take_replies(struct hk_collector *collector, uint64_t now)
{
	struct hk_naming *naming = collector->naming;
	Hk__SymbolReply *reply;
	int r = 1;

	for (unsigned i = 0; i < REPLIES_MOST && r > 0; i++) {
		struct target target;
		r = hk_symbols_take(naming->symbols, now, &reply);
		bool wanted =
		    naming->batch.count > 0 && target_of(collector, &naming->batch.key, &target);
		if (r > 0) {
			if (wanted) {
				apply(naming, &target, reply);
			}
			naming->batch.count = reply->last ? 0 : naming->batch.count;
			hk__symbol_reply__free_unpacked(reply, NULL);
		} else if (r < 0 && wanted) {
			lose(naming, &target, r, now);
		} else if (r < 0) {
			naming->batch.count = 0;
		}
	}
}

void hk_naming_run(struct hk_collector *collector, uint64_t now_ns)
{
	struct hk_naming *naming = collector->naming;
	unsigned entries = HASH_COUNT(naming->entries);

	take_replies(collector, now_ns);
	if (naming->failed_ns != 0 && now_ns - naming->failed_ns < SECOND_NS) {
		return;
	}
	naming->failed_ns = 0;
	for (; entries > 0 && naming->turns && !hk_symbols_is_busy(naming->symbols); entries--) {
		struct entry *entry = naming->turns;
		/* The next turn is that of another process. A message keeps its turn, because a
		 * person waits for it. */
		if (!entry->message) {
			DL_DELETE(naming->turns, entry);
			DL_APPEND(naming->turns, entry);
		}
		if (ask_entry(collector, entry, now_ns) || naming->failed_ns != 0) {
			return;
		}
	}
}

/* ---- the end ---- */

static void note_late(Hk__Process *state, uint32_t object)
{
	if (object > 0 && object <= state->n_stack_objects &&
	    !*state->stack_objects[object - 1]->unread) {
		hk_field_set_string(&state->stack_objects[object - 1]->unread,
				    "it was not read in time");
	}
}

/* Leaves all pending frames of STATE, and all kernels behind KERNELS_NAMED, without names. Notes
 * their files. */
static void give_up_all(Hk__Process *state, uint32_t kernels_named)
{
	uint64_t address;
	uint32_t object;

	while ((kernels_named = hk_kernels_next_nameless(state, kernels_named)) > 0) {
		note_late(state, state->kernels[kernels_named - 1]->object);
	}
	for (uint32_t number = 1; hk_frame_names_entry(state, number); number++) {
		if (!hk_frame_names_is_pending(state, number, &object, &address)) {
			continue;
		}
		*hk_frame_names_entry(state, number) = 0;
		note_late(state, object);
	}
}

bool hk_naming_is_pending(struct hk_naming *naming, uint64_t ticket)
{
	const struct key key = {.ticket = ticket};

	return ticket != 0 && entry_by(naming, &key) != NULL;
}

void hk_naming_end(struct hk_naming *naming, uint64_t ticket)
{
	const struct key key = {.ticket = ticket};
	struct entry *entry = ticket != 0 ? entry_by(naming, &key) : NULL;

	if (entry) {
		give_up_all(entry->message, 0);
		drop(naming, entry);
	}
}

bool hk_naming_settled(struct hk_collector *collector, struct hk_job *job, uint64_t now_ns)
{
	struct hk_naming *naming = collector->naming;
	struct hk_process *process;
	bool waiting = false;

	if (!naming) {
		return true;
	}
	DL_FOREACH (job->processes, process) {
		waiting |= entry_of(naming, process) != NULL;
	}
	if (!waiting) {
		job->names_until_ns = 0;
		return true;
	}
	if (job->names_until_ns == 0) {
		job->names_until_ns = now_ns + CLOSE_WAIT_NS;
	}
	if (now_ns < job->names_until_ns) {
		return false;
	}
	DL_FOREACH (job->processes, process) {
		struct entry *entry = entry_of(naming, process);
		if (entry) {
			give_up_all(process->state, process->kernels_named);
			process->kernels_named = (uint32_t)process->state->n_kernels;
			process->changed = true;
			drop(naming, entry);
		}
	}
	job->names_until_ns = 0;
	return true;
}
