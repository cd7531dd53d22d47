#include "cli/flow/flow.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <uthash.h>
#include <xxhash.h>

#include "cli/flow/mailbox.h"
#include "cli/flow/request.h"
#include "hooks/hook.h"

#define REQUESTS_AT_ONCE 65536u /* most requests of one wait; higher counts are garbage */

/* The rank of a process in a communicator. */
struct member {
	struct {
		uint64_t comm, process;
	} key;
	int32_t rank;
	bool unknown; /* the process has several ranks there, or its rank is unknown */
	UT_hash_handle hh;
};

/* Number of calls of one kind: of a process, or the highest of all processes (process
 * UINT64_MAX). */
struct count {
	struct {
		uint64_t kind, process;
	} key;
	uint64_t calls;
	UT_hash_handle hh;
};

struct process {
	uint64_t doubted_ns; /* calls from then on may be missing */
	bool doubted;	     /* its communicators have been marked doubtful */
	bool narrow;	     /* has requests of 4 bytes: some lie between those of 8 */
};

struct hk_flows {
	struct hk_mailboxes *boxes;
	struct process *processes;
	struct member *members;
	struct count *counts;
	struct hk_requests requests;
	struct hk_export_arrival *arrivals;
	size_t arrival_room;
	uint64_t next_id;
	struct hk_export_flows result;
};

struct hk_flows *hk_flows_new(size_t processes)
{
	struct hk_flows *flows = calloc(1, sizeof(*flows));

	if (!flows) {
		return NULL;
	}
	flows->boxes = hk_mailboxes_new();
	flows->processes = calloc(processes + 1, sizeof(*flows->processes));
	if (!flows->boxes || !flows->processes) {
		return hk_flows_free(flows);
	}
	for (size_t i = 0; i < processes; i++) {
		flows->processes[i].doubted_ns = UINT64_MAX;
	}
	return flows;
}

/* Releases MAIL, which may be NULL: its result is no longer needed. */
static void drop(struct hk_flows *flows, struct hk_mail *mail)
{
	struct hk_message message;

	if (mail) {
		hk_mail_take(flows->boxes, mail, 0, &message);
	}
}

struct hk_flows *hk_flows_free(struct hk_flows *flows)
{
	struct member *member, *next_member;
	struct count *count, *next_count;
	struct hk_mail *mail;

	if (!flows) {
		return NULL;
	}
	while ((mail = hk_requests_take_any(&flows->requests))) {
		drop(flows, mail);
	}
	HASH_ITER (hh, flows->members, member, next_member) {
		HASH_DEL(flows->members, member);
		free(member);
	}
	HASH_ITER (hh, flows->counts, count, next_count) {
		HASH_DEL(flows->counts, count);
		free(count);
	}
	hk_mailboxes_free(flows->boxes);
	free(flows->arrivals);
	free(flows->processes);
	free(flows);
	return NULL;
}

void hk_flows_doubt(struct hk_flows *flows, size_t process, uint64_t from_ns)
{
	uint64_t *doubted_ns = &flows->processes[process].doubted_ns;

	*doubted_ns = from_ns < *doubted_ns ? from_ns : *doubted_ns;
}

bool hk_flows_wants(const struct hk_export_site *site)
{
	switch (site->meaning) {
	case HK_MEANING_SEND:
	case HK_MEANING_RECV:
	case HK_MEANING_COLLECTIVE:
	case HK_MEANING_WAIT:
	case HK_MEANING_COMM:
		return site->key_count > 0;
	case HK_MEANING_NONE: /* requests that a later call starts, and cancelled ones */
		for (unsigned i = 0; i < site->key_count; i++) {
			if (site->keys[i] == HK_KEY_PEER || site->keys[i] == HK_KEY_REQUEST) {
				return true;
			}
		}
		return false;
	default:
		return false;
	}
}

/* ---- ranks of communicators ---- */

/* One call's communicator, values and process. */
struct call {
	const struct hk_export_thread *thread;
	struct hk_slice *slice;
	uint32_t process;
	bool shown;
};

static bool value_of(const struct hk_slice *slice, uint8_t key, uint64_t *ret_word)
{
	for (unsigned i = 0; i < slice->word_count; i++) {
		if (slice->site->keys[i] == key) {
			*ret_word = slice->words[i];
			return true;
		}
	}
	return false;
}

static uint64_t word_of(const struct hk_slice *slice, uint8_t key)
{
	uint64_t word = 0;

	value_of(slice, key, &word);
	return word;
}

static struct member *member_of(struct hk_flows *flows, uint64_t comm, uint32_t process)
{
	struct member *member;
	struct member like = {.key = {comm, process}};

	HASH_FIND(hh, flows->members, &like.key, sizeof(like.key), member);
	return member;
}

static struct member *member_add(struct hk_flows *flows, uint64_t comm, uint32_t process)
{
	struct member *member = calloc(1, sizeof(*member));

	if (!member) {
		return NULL;
	}
	member->key.comm = comm;
	member->key.process = process;
	HASH_ADD(hh, flows->members, key, sizeof(member->key), member);
	if (!member->hh.tbl) {
		free(member);
		return NULL;
	}
	return member;
}

/* Notes CALL's rank in the communicator that it created. */
static int learn(struct hk_flows *flows, const struct call *call)
{
	uint64_t comm = word_of(call->slice, HK_KEY_NEW_COMM), word;
	bool known = value_of(call->slice, HK_KEY_RANK, &word) && (int32_t)word >= 0;
	struct member *member = comm ? member_of(flows, comm, call->process) : NULL;

	if (!comm) {
		return 0;
	}
	if (!member) {
		member = member_add(flows, comm, call->process);
		if (!member) {
			return -ENOMEM;
		}
		member->rank = known ? (int32_t)word : -1;
	}
	member->unknown |= !known || member->rank != (int32_t)word;
	return 0;
}

/* Returns CALL's rank in COMM, -1 if it is unknown, or -ENOMEM. */
static int rank_in(struct hk_flows *flows, const struct call *call, uint64_t comm)
{
	const struct hk_export_process *process = call->thread->process;
	struct member *member = comm ? member_of(flows, comm, call->process) : NULL;

	if (!member && comm == HK_COMM_WORLD && process->rank >= 0 &&
	    strcmp(process->role, "main") == 0) {
		member = member_add(flows, comm, call->process);
		if (!member) {
			return -ENOMEM;
		}
		member->rank = process->rank;
	}
	return member && !member->unknown ? member->rank : -1;
}

/* Marks the communicators of PROCESS as unknown, since later calls may be missing. */
static int lose(struct hk_flows *flows, uint32_t process)
{
	const struct member *member;
	int rc = 0;

	for (member = flows->members; member && rc == 0; member = member->hh.next) {
		struct hk_mail_call call = {
		    .comm = member->key.comm, .own = member->rank, .peer = HK_PEER_ANY};

		if (member->key.process == process && member->rank >= 0) {
			rc = hk_mailboxes_doubt(flows->boxes, &call);
		}
	}
	return rc;
}

/* ---- messages ---- */

/* Sets both ends of the message that CALL sends, or receives with SOURCE and TAG. Returns 1, 0 if
 * they are unknown, or -ENOMEM. */
static int ends_of(struct hk_flows *flows, const struct call *call, uint8_t peer, uint8_t tag,
		   struct hk_mail_call *ret_ends)
{
	const struct hk_slice *slice = call->slice;
	uint64_t comm = word_of(slice, HK_KEY_COMM);
	uint64_t word;
	int own = rank_in(flows, call, comm);

	if (own < 0 || !value_of(slice, peer, &word)) {
		return own < -1 ? own : 0;
	}
	*ret_ends = (struct hk_mail_call){.comm = comm,
					  .own = own,
					  .peer = (int32_t)word,
					  .tag = (int32_t)word_of(slice, tag),
					  .process = call->process,
					  .thread = call->thread,
					  .start_ns = slice->start_ns,
					  .end_ns = slice->end_ns};
	return 1;
}

static int send(struct hk_flows *flows, const struct call *call)
{
	struct hk_mail_call ends;
	struct hk_message message = {.sent_ns = call->slice->start_ns,
				     .bytes = word_of(call->slice, HK_KEY_BYTES)};
	int rc = ends_of(flows, call, HK_KEY_PEER, HK_KEY_TAG, &ends);

	if (rc <= 0 || ends.peer < 0) {
		return rc < 0 ? rc : 0;
	}
	flows->result.sends += call->shown;
	message.source = ends.own;
	message.id = call->shown ? flows->next_id += 2 : 0; /* collectives have odd ids */
	rc = hk_mailboxes_send(flows->boxes, &ends, &message);
	call->slice->flow_out = rc > 0 ? message.id : 0;
	return rc < 0 ? rc : 0;
}

/* Sets *ret_mail to the receive that CALL posts, or NULL. */
static int receive(struct hk_flows *flows, const struct call *call, uint8_t peer, uint8_t tag,
		   struct hk_mail **ret_mail)
{
	struct hk_mail_call ends;
	int rc = ends_of(flows, call, peer, tag, &ends);

	*ret_mail = NULL;
	if (rc <= 0 || ends.peer < HK_PEER_ANY) {
		return rc < 0 ? rc : 0;
	}
	flows->result.receives += call->shown;
	flows->result.any += call->shown && ends.peer == HK_PEER_ANY;
	rc = hk_mailboxes_receive(flows->boxes, &ends, ret_mail);
	if (*ret_mail) {
		(*ret_mail)->counted = call->shown;
	}
	return rc;
}

/* Ends the matching of messages between the ranks of CALL: it failed, or does not record the
 * message that it sends or receives. */
static int doubt(struct hk_flows *flows, const struct call *call)
{
	struct hk_mail_call ends;
	int rc = ends_of(flows, call, HK_KEY_PEER, HK_KEY_TAG, &ends);

	return rc > 0 && ends.peer >= HK_PEER_ANY ? hk_mailboxes_doubt(flows->boxes, &ends)
	       : rc < 0				  ? rc
						  : 0;
}

static void hold(struct hk_slice *slice, struct hk_mail *mail)
{
	if (mail) {
		mail->held = slice->flow_held;
		slice->flow_held = mail;
	}
}

/* ---- requests ---- */

/* Drops the receive at the address of the request that CALL starts, and adds MAIL there, unless it
 * is NULL. */
static int start(struct hk_flows *flows, const struct call *call, struct hk_mail *mail)
{
	uint64_t address = word_of(call->slice, HK_KEY_REQUEST);
	int rc = 0;

	flows->processes[call->process].narrow |=
	    address % 8 != 0 && !islower((unsigned char)call->slice->site->function[0]);
	drop(flows, hk_requests_take(&flows->requests, call->process, address));
	if (mail) {
		rc = hk_requests_put(&flows->requests, call->process, address, mail);
	}
	if (rc < 0) {
		drop(flows, mail);
	}
	return rc;
}

static void complete_at(struct hk_flows *flows, const struct call *call, uint64_t address)
{
	hold(call->slice, hk_requests_take(&flows->requests, call->process, address));
}

/* Completes one request, one of several, or all of them, as CALL says. */
static void complete(struct hk_flows *flows, const struct call *call)
{
	const struct hk_slice *slice = call->slice;
	bool fortran = islower((unsigned char)slice->site->function[0]);
	uint64_t width = fortran || flows->processes[call->process].narrow ? 4 : 8;
	uint64_t address = word_of(slice, HK_KEY_REQUEST), count = 1, index;

	if (!address || !flows->requests.list) {
		return;
	}
	if (value_of(slice, HK_KEY_INDEX, &index)) {
		int64_t at = (int64_t)(int32_t)index - fortran; /* Fortran counts from 1 */

		if (at >= 0 && at < REQUESTS_AT_ONCE) {
			complete_at(flows, call, address + (uint64_t)at * width);
		}
		return;
	}
	value_of(slice, HK_KEY_COUNT, &count);
	count = (int32_t)count < 0 ? 0 : count < REQUESTS_AT_ONCE ? count : REQUESTS_AT_ONCE;
	for (uint64_t i = 0; i < count && flows->requests.list; i++) {
		complete_at(flows, call, address + i * width);
	}
}

/* A cancelled receive may still get its message. */
static int cancel(struct hk_flows *flows, const struct call *call)
{
	hk_mail_doubt(flows->boxes, hk_requests_get(&flows->requests, call->process,
						    word_of(call->slice, HK_KEY_REQUEST)));
	return 0;
}

/* ---- collectives ---- */

static struct count *count_of(struct hk_flows *flows, uint64_t kind, uint64_t process)
{
	struct count *count;
	struct count like = {.key = {kind, process}};

	HASH_FIND(hh, flows->counts, &like.key, sizeof(like.key), count);
	if (count || !(count = calloc(1, sizeof(*count)))) {
		return count;
	}
	count->key = like.key;
	HASH_ADD(hh, flows->counts, key, sizeof(count->key), count);
	if (!count->hh.tbl) {
		free(count);
		return NULL;
	}
	return count;
}

/* Counts CALL as the next one of its KIND in its process: equal numbers belong together. The number
 * of a collective with a tag is the tag. */
static int join(struct hk_flows *flows, const struct call *call, uint64_t kind)
{
	struct count *own = count_of(flows, kind, call->process);
	struct count *most = count_of(flows, kind, UINT64_MAX);
	uint64_t parts[2] = {kind, 0};

	if (!own || !most) {
		return -ENOMEM;
	}
	bool tagged = call->slice->site->meaning == HK_MEANING_COLLECTIVE &&
		      value_of(call->slice, HK_KEY_TAG, &parts[1]);
	parts[1] = tagged ? parts[1] : own->calls;
	own->calls = parts[1] + 1;
	call->slice->flow_first = own->calls > most->calls;
	most->calls = call->slice->flow_first ? own->calls : most->calls;
	flows->result.joined += !call->slice->flow_first;
	call->slice->flow_joint = XXH3_64bits(parts, sizeof(parts)) | 1;
	return 0;
}

static int collective(struct hk_flows *flows, const struct call *call)
{
	uint64_t comm = word_of(call->slice, HK_KEY_COMM);
	const char *function = call->slice->site->function;
	const struct member *member = member_of(flows, comm, call->process);

	if (!comm || (member && member->unknown)) {
		return 0;
	}
	return join(flows, call, XXH3_64bits_withSeed(function, strlen(function), comm));
}

/* Matches one end of a message that CALL enqueues on a device's stream, in any order. */
static int enqueue(struct hk_flows *flows, const struct call *call)
{
	struct hk_mail_call ends;
	bool sends = call->slice->site->meaning == HK_MEANING_SEND;
	int rc = ends_of(flows, call, HK_KEY_PEER, HK_KEY_TAG, &ends);

	if (rc <= 0 || ends.peer < 0) {
		return rc < 0 ? rc : 0;
	}
	int32_t ranks[2] = {sends ? ends.own : ends.peer, sends ? ends.peer : ends.own};
	return join(flows, call, XXH3_64bits_withSeed(ranks, sizeof(ranks), ends.comm));
}

/* ---- calls ---- */

static bool is_matched_probe(const char *function)
{
	return strncasecmp(function, "mpi_mprobe", 10) == 0 ||
	       strncasecmp(function, "mpi_improbe", 11) == 0;
}

static int message_call(struct hk_flows *flows, const struct call *call)
{
	bool requests = hk_slice_has(call->slice, HK_KEY_REQUEST);
	bool sends = call->slice->site->meaning == HK_MEANING_SEND;
	struct hk_mail *mail = NULL;
	int rc = 0;

	if (hk_slice_has(call->slice, HK_KEY_STREAM)) {
		return enqueue(flows, call);
	}
	if (sends) {
		rc = send(flows, call);
		rc = rc < 0 ? rc : receive(flows, call, HK_KEY_SOURCE, HK_KEY_SOURCE_TAG, &mail);
	} else {
		rc = receive(flows, call, HK_KEY_PEER, HK_KEY_TAG, &mail);
	}
	if (requests) {
		return rc < 0 ? rc : start(flows, call, mail);
	}
	hold(call->slice, mail);
	return rc;
}

static int wait_call(struct hk_flows *flows, const struct call *call)
{
	if (hk_slice_has(call->slice, HK_KEY_REQUEST)) {
		complete(flows, call);
		return 0;
	}
	return is_matched_probe(call->slice->site->function) ? doubt(flows, call) : 0;
}

/* Processes CALL, of a process without missing calls up to it. */
static int take(struct hk_flows *flows, const struct call *call)
{
	if (call->slice->failed || call->slice->unwound) {
		return doubt(flows, call);
	}
	switch (call->slice->site->meaning) {
	case HK_MEANING_SEND:
	case HK_MEANING_RECV:
		return message_call(flows, call);
	case HK_MEANING_WAIT:
		return wait_call(flows, call);
	case HK_MEANING_COLLECTIVE:
		return collective(flows, call);
	case HK_MEANING_COMM:
		return learn(flows, call);
	default:
		return hk_slice_has(call->slice, HK_KEY_REQUEST) ? cancel(flows, call)
								 : doubt(flows, call);
	}
}

int hk_flows_open(struct hk_flows *flows, const struct hk_export_thread *thread,
		  struct hk_slice *slice, bool shown)
{
	struct call call = {thread, slice, (uint32_t)thread->process->index, shown};
	struct process *process = &flows->processes[call.process];

	if (slice->start_ns < process->doubted_ns) {
		return take(flows, &call);
	}
	flows->result.apart++;
	if (process->doubted) {
		return 0;
	}
	process->doubted = true;
	return lose(flows, call.process);
}

static int arrive(struct hk_flows *flows, const struct hk_message *message, uint32_t *count)
{
	if (*count == flows->arrival_room) {
		size_t room = flows->arrival_room ? flows->arrival_room * 2 : 16;
		struct hk_export_arrival *grown =
		    reallocarray(flows->arrivals, room, sizeof(*grown));

		if (!grown) {
			return -ENOMEM;
		}
		flows->arrivals = grown;
		flows->arrival_room = room;
	}
	flows->arrivals[(*count)++] = (struct hk_export_arrival){message->id, message->sent_ns,
								 message->bytes, message->source};
	return 0;
}

/* Releases the mail in SLICE. With WANTED, received messages become its arrivals. */
static int settle(struct hk_flows *flows, struct hk_slice *slice, bool wanted)
{
	struct hk_mail *mail = slice->flow_held, *next;
	struct hk_message message;
	uint32_t count = 0;
	int rc = 0;

	for (; mail; mail = next) {
		bool counted = mail->counted;

		next = mail->held;
		if (hk_mail_take(flows->boxes, mail, wanted ? slice->end_ns : 0, &message) &&
		    wanted && rc == 0) {
			rc = arrive(flows, &message, &count);
			flows->result.receives += !counted; /* posted before the export begins */
		}
	}
	slice->flow_held = NULL;
	slice->arrivals = flows->arrivals;
	slice->arrival_count = count;
	flows->result.messages += count;
	return rc;
}

int hk_flows_close(struct hk_flows *flows, struct hk_slice *slice)
{
	return settle(flows, slice, true);
}

void hk_flows_skip(struct hk_flows *flows, struct hk_slice *slice)
{
	settle(flows, slice, false);
}

struct hk_export_flows hk_flows_result(const struct hk_flows *flows)
{
	struct hk_export_flows result = flows->result;

	result.early = hk_mailboxes_early(flows->boxes);
	return result;
}
