#include "collector/process/naming.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include <utlist.h>

#include "base/log.h"
#include "collector/model/collector.h"
#include "collector/model/fields.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "collector/process/ancestry.h"
#include "collector/process/frame_names.h"
#include "collector/symbol/reply.h"
#include "collector/symbol/symbols.h"
#include "report/model/stacks.h"

#define SECOND_NS UINT64_C(1000000000)
#define CLOSE_WAIT_NS (10 * SECOND_NS)
#define REPLIES_MOST 64u     /* taken in one call */
#define WINDOW_FRAMES 20000u /* looked through for frames of one object */
#define RETRY_MAX_NS (64 * SECOND_NS)
#define ATTEMPTS 2u /* at a file that ended the process that read it */

/* A process with frames that have no name yet, or with generated code. */
struct entry {
	UT_hash_handle hh;
	struct entry *prev, *next; /* in the order in which they have their turn */
	uint8_t uid[HK_UID_BYTES];
	uint32_t cursor; /* no frame before this number is pending */
	size_t bytes;	 /* of texts in the process's message */
	/* Names of generated code are looked for again, because the program adds them as it goes.
	 */
	bool generated;
	uint64_t retry_ns, retry_wait_ns;
	bool last_retry; /* the process has ended */
};

/* A file that ended its readers. */
struct bad_file {
	struct bad_file *next;
	char *path;
	const char *problem;
};

struct asked {
	uint8_t uid[HK_UID_BYTES];
	uint32_t object; /* 0: generated code */
	uint32_t numbers[HK_SYMBOL_ADDRESSES_MOST];
	uint64_t addresses[HK_SYMBOL_ADDRESSES_MOST];
	size_t count;
	unsigned attempts;
};

struct hk_naming {
	struct hk_symbols *symbols;
	struct entry *entries; /* by uid */
	struct entry *turns;
	struct bad_file *bad;
	struct asked asked; /* count 0: nothing */
	uint64_t failed_ns; /* monotonic: when a request could not be sent; 0: it could */
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
	while (naming->bad) {
		struct bad_file *bad = naming->bad;
		naming->bad = bad->next;
		free(bad->path);
		free(bad);
	}
	hk_symbols_free(naming->symbols);
	free(naming);
	return NULL;
}

int hk_naming_fd(const struct hk_naming *naming)
{
	return hk_symbols_fd(naming->symbols);
}

/* ---- processes ---- */

static struct entry *entry_of(struct hk_naming *naming, const struct hk_process *process)
{
	struct entry *entry;

	HASH_FIND(hh, naming->entries, process->uid, HK_UID_BYTES, entry);
	return entry;
}

static struct entry *add_entry(struct hk_naming *naming, const struct hk_process *process)
{
	struct entry *entry = calloc(1, sizeof(*entry));

	if (entry) {
		memcpy(entry->uid, process->uid, HK_UID_BYTES);
		entry->bytes = hk_frame_names_bytes(process->state);
		HASH_ADD(hh, naming->entries, uid, HK_UID_BYTES, entry);
		DL_APPEND(naming->turns, entry);
	}
	return entry;
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
	if (added <= 0) {
		return added < 0 ? -ENOMEM : 0;
	}
	if (!entry && !(entry = add_entry(naming, process))) {
		return -ENOMEM;
	}
	entry->cursor = entry->cursor == 0 || first < entry->cursor ? first : entry->cursor;
	return 0;
}

/* ---- what is asked ---- */

/* Whether the object of frame NUMBER is OBJECT, and the frame is pending. Sets *ret_address. */
static bool is_pending(const Hk__Process *state, uint32_t number, uint32_t *ret_object,
		       uint64_t *ret_address)
{
	const uint32_t *entry = hk_frame_names_entry(state, number);

	if (!entry || *entry != HK_STACKS_NAME_PENDING) {
		return false;
	}
	const Hk__StackFrames *part = state->stack_frames[(number - 1u) / HK_STACKS_PART_FRAMES];
	*ret_object = part->object[(number - 1u) % HK_STACKS_PART_FRAMES];
	*ret_address = part->address[(number - 1u) % HK_STACKS_PART_FRAMES];
	return true;
}

/* Collects pending frames of one object, from the entry's cursor on, which it moves. */
static void collect(struct entry *entry, const Hk__Process *state, struct asked *asked)
{
	uint32_t number = entry->cursor ? entry->cursor : 1, object;
	uint64_t address;

	asked->count = 0;
	for (uint32_t end = UINT32_MAX; number < end && asked->count < HK_SYMBOL_ADDRESSES_MOST &&
					hk_frame_names_entry(state, number);
	     number++) {
		if (!is_pending(state, number, &object, &address)) {
			continue;
		}
		if (asked->count == 0) {
			asked->object = object;
			entry->cursor = number;
			end = number + WINDOW_FRAMES;
		}
		if (object == asked->object) {
			asked->numbers[asked->count] = number;
			asked->addresses[asked->count++] = address;
		}
	}
	if (asked->count == 0) {
		entry->cursor = number;
	}
}

/* Sorts generated code by address: at most 256 frames, mostly in order. */
static void sort(struct asked *asked)
{
	for (size_t i = 1; i < asked->count; i++) {
		uint64_t address = asked->addresses[i];
		uint32_t number = asked->numbers[i];
		size_t at = i;
		for (; at > 0 && asked->addresses[at - 1] > address; at--) {
			asked->addresses[at] = asked->addresses[at - 1];
			asked->numbers[at] = asked->numbers[at - 1];
		}
		asked->addresses[at] = address;
		asked->numbers[at] = number;
	}
}

static const char *problem_of(const struct hk_naming *naming, const char *path)
{
	const struct bad_file *bad = naming->bad;

	while (bad && strcmp(bad->path, path) != 0) {
		bad = bad->next;
	}
	return bad ? bad->problem : NULL;
}

static const char *path_of(const Hk__Process *state, uint32_t object)
{
	return object > 0 && object <= state->n_stack_objects
		   ? state->stack_objects[object - 1]->path
		   : "";
}

/* Gives the frames that were asked for up. PROBLEM says why their file is not read; NULL: it was,
 * and they are not in it. */
static void give_up(struct hk_naming *naming, struct hk_process *process, const char *problem)
{
	struct asked *asked = &naming->asked;
	Hk__Process *state = process->state;

	for (size_t i = 0; i < asked->count; i++) {
		uint32_t *entry = hk_frame_names_entry(state, asked->numbers[i]);
		if (entry && *entry == HK_STACKS_NAME_PENDING) {
			*entry = 0;
		}
	}
	if (problem && *problem && asked->object > 0 && asked->object <= state->n_stack_objects) {
		hk_field_set_string(&state->stack_objects[asked->object - 1]->unread, problem);
	}
	process->changed = true;
}

static int ask(struct hk_naming *naming, const struct hk_process *process, uint64_t now)
{
	const Hk__Process *state = process->state;
	struct asked *asked = &naming->asked;
	Hk__SymbolRequest request = HK__SYMBOL_REQUEST__INIT;
	char root[32] = "";

	if (!process->foreign) {
		snprintf(root, sizeof(root), "/proc/%" PRIu32 "/root", state->pid);
	}
	if (asked->object > 0) {
		request.path = (char *)path_of(state, asked->object);
		request.build_id = state->stack_objects[asked->object - 1]->build_id;
	} else {
		sort(asked);
	}
	request.root = root;
	request.pid = state->pid;
	request.start_unix_ns = state->start ? state->start->realtime_ns : 0;
	request.address = asked->addresses;
	request.n_address = asked->count;
	asked->attempts++;
	return hk_symbols_ask(naming->symbols, &request, now);
}

/* Makes frames of generated code without a name pending again. Returns whether there are any. */
static bool retry_generated(struct entry *entry, const Hk__Process *state)
{
	bool any = false;

	for (size_t i = 0; i < state->n_stack_frames; i++) {
		Hk__StackFrames *part = state->stack_frames[i];
		for (size_t k = 0; k < part->n_name; k++) {
			if (part->object[k] == 0 && part->name[k] == 0) {
				part->name[k] = HK_STACKS_NAME_PENDING;
				any = true;
			}
		}
	}
	entry->cursor = 1;
	return any;
}

/* Handles an entry whose frames all were asked for. Returns whether some are to be asked for again.
 */
static bool rest(struct hk_naming *naming, struct entry *entry, const struct hk_process *process,
		 uint64_t now)
{
	if (!entry->generated || entry->last_retry) {
		drop(naming, entry);
	} else if (process->exited || now >= entry->retry_ns) {
		entry->last_retry = process->exited;
		entry->retry_wait_ns = entry->retry_wait_ns == 0 ? SECOND_NS
				       : entry->retry_wait_ns < RETRY_MAX_NS
					   ? 2 * entry->retry_wait_ns
					   : RETRY_MAX_NS;
		entry->retry_ns = now + entry->retry_wait_ns;
		return retry_generated(entry, process->state);
	}
	return false;
}

/* Asks for frames of ENTRY. Returns whether a request is under way. */
static bool ask_entry(struct hk_collector *collector, struct entry *entry, uint64_t now)
{
	struct hk_naming *naming = collector->naming;
	struct hk_process *process = hk_ancestry_by_uid(collector, entry->uid);
	struct asked *asked = &naming->asked;

	/* A process of a job that has closed is not looked for any more. */
	if (!process || process->remote || !hk_stacks_valid(process->state)) {
		drop(naming, entry);
		return false;
	}
	collect(entry, process->state, asked);
	if (asked->count == 0 && !rest(naming, entry, process, now)) {
		return false;
	}
	if (asked->count == 0) {
		collect(entry, process->state, asked);
	}
	memcpy(asked->uid, entry->uid, HK_UID_BYTES);
	asked->attempts = 0;
	entry->generated |= asked->object == 0 && !process->foreign;
	const char *problem = problem_of(naming, path_of(process->state, asked->object));
	if (problem || (asked->object == 0 && process->foreign)) {
		give_up(naming, process, problem);
		asked->count = 0;
		return false;
	}
	int r = ask(naming, process, now);
	if (r < 0) {
		naming->failed_ns = now;
		asked->count = 0;
	}
	return r == 0;
}

/* ---- what is said ---- */

static void note_bad(struct hk_naming *naming, const char *path, const char *problem)
{
	struct bad_file *bad = calloc(1, sizeof(*bad));

	if (bad && (bad->path = strdup(path))) {
		bad->problem = problem;
		bad->next = naming->bad;
		naming->bad = bad;
	} else {
		free(bad);
	}
	hk_warning("functions of a file are not named path=%s reason=%s", path, problem);
}

static void apply(struct hk_naming *naming, struct hk_process *process,
		  const Hk__SymbolReply *reply)
{
	struct entry *entry = entry_of(naming, process);
	size_t none = 0;

	for (size_t i = 0; i < reply->n_frame; i++) {
		const Hk__SymbolFrame *frame = reply->frame[i];
		if (frame->index >= naming->asked.count) {
			continue;
		}
		uint32_t number = naming->asked.numbers[frame->index];
		uint32_t *name = hk_frame_names_entry(process->state, number);
		if (name && *name == HK_STACKS_NAME_PENDING) {
			*name = 0;
			hk_frame_names_set(process->state, number, frame,
					   entry ? &entry->bytes : &none);
		}
	}
	process->changed = true;
	if (reply->last) {
		give_up(naming, process, reply->problem);
	}
}

/* The reader of the file ended, or was ended: ERROR. */
static void lose(struct hk_collector *collector, struct hk_process *process, int error,
		 uint64_t now)
{
	struct hk_naming *naming = collector->naming;
	struct asked *asked = &naming->asked;

	if (!process) {
		asked->count = 0;
		return;
	}
	bool again = error == -ECHILD && asked->attempts < ATTEMPTS;
	if (again && ask(naming, process, now) == 0) {
		return;
	}
	if (!again) {
		const char *problem = error == -ETIMEDOUT ? "reading it takes too long"
							  : "it ended the process that read it";
		if (asked->object > 0) {
			note_bad(naming, path_of(process->state, asked->object), problem);
		}
		give_up(naming, process, problem);
	}
	asked->count = 0;
}

static void take_replies(struct hk_collector *collector, uint64_t now)
{
	struct hk_naming *naming = collector->naming;
	Hk__SymbolReply *reply;
	int r = 1;

	for (unsigned i = 0; i < REPLIES_MOST && r > 0; i++) {
		r = hk_symbols_take(naming->symbols, now, &reply);
		struct hk_process *process = naming->asked.count > 0
						 ? hk_ancestry_by_uid(collector, naming->asked.uid)
						 : NULL;
		if (process && !hk_stacks_valid(process->state)) {
			process = NULL;
		}
		if (r > 0) {
			if (process) {
				apply(naming, process, reply);
			}
			naming->asked.count = reply->last ? 0 : naming->asked.count;
			hk__symbol_reply__free_unpacked(reply, NULL);
		} else if (r < 0) {
			lose(collector, process, r, now);
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
		/* The next turn is another process's. */
		DL_DELETE(naming->turns, entry);
		DL_APPEND(naming->turns, entry);
		if (ask_entry(collector, entry, now_ns)) {
			return;
		}
	}
}

/* ---- the end of a job ---- */

/* Gives every pending frame of PROCESS up, and notes the files. */
static void give_up_all(struct hk_naming *naming, struct hk_process *process)
{
	Hk__Process *state = process->state;
	uint64_t address;
	uint32_t object;

	for (uint32_t number = 1; hk_frame_names_entry(state, number); number++) {
		if (!is_pending(state, number, &object, &address)) {
			continue;
		}
		*hk_frame_names_entry(state, number) = 0;
		if (object > 0 && object <= state->n_stack_objects &&
		    !*state->stack_objects[object - 1]->unread) {
			hk_field_set_string(&state->stack_objects[object - 1]->unread,
					    "it was not read in time");
		}
	}
	process->changed = true;
	drop(naming, entry_of(naming, process));
}

bool hk_naming_settled(struct hk_collector *collector, struct hk_job *job, uint64_t now_ns)
{
	struct hk_naming *naming = collector->naming;
	struct hk_process *process;
	bool waiting = false;

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
		if (entry_of(naming, process)) {
			give_up_all(naming, process);
		}
	}
	job->names_until_ns = 0;
	return true;
}
