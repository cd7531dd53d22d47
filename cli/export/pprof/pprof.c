/* pprof's profile: a sample for each distinct stack of calls, with calls, own time and bytes. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/export/call_tree.h"
#include "cli/export/pprof/pprof_tables.h"
#include "text/utf8.h"

#define DEEPER "[deeper]"
#define LABELS_MOST 5u
#define VALUES_MOST 3u
#define COMMENT_BYTES 1024u
#define BUILD_ID_DIGITS 129u

/* The root of the stacks of a process, or of a thread with --split thread. */
struct owner {
	struct owner *next;
	const struct hk_export_process *process;
	uint64_t thread; /* uid; 0: all */
	char name[96];	 /* of the thread */
};

/* A frame of the tree: a hooked function, or a frame of a caller's stack. */
struct frame {
	UT_hash_handle hh;
	struct {
		const struct hk_pprof_entry *location;
		int64_t domain; /* text; 0: of a caller's stack */
	} key;
	int64_t function; /* text */
};

struct hk_exporter {
	FILE *output;
	enum hk_folded_split split;
	char job[104]; /* its id, cut */
	uint64_t time_ns, end_ns, calls, stacks;
	struct hk_call_tree tree; /* on its root lie owners, on these frames */
	struct hk_pprof_file file;
	struct hk_pprof_tables tables;
	struct owner *owners;
	struct frame *frames;
};

/* ---- frames ---- */

static const struct frame *frame_of(struct hk_exporter *pprof,
				    const struct hk_pprof_entry *location, int64_t domain,
				    int64_t function)
{
	struct frame *frame, key = {.key = {location, domain}};

	if (!location || domain < 0 || function < 0) {
		return NULL;
	}
	HASH_FIND(hh, pprof->frames, &key.key, sizeof(key.key), frame);
	if (frame) {
		return frame;
	}
	frame = calloc(1, sizeof(*frame));
	if (!frame) {
		return NULL;
	}
	frame->key = key.key;
	frame->function = function;
	HASH_ADD(hh, pprof->frames, key, sizeof(frame->key), frame);
	if (!frame->hh.tbl) {
		free(frame);
		return NULL;
	}
	return frame;
}

static const void *called(struct hk_exporter *pprof, const char *function, const char *domain)
{
	const struct hk_pprof_frame shown = {
	    .name = function, .system_name = function, .path = "", .build_id = "", .file = ""};

	return frame_of(pprof, hk_pprof_location(&pprof->tables, &shown),
			hk_pprof_text(&pprof->tables, domain),
			hk_pprof_text(&pprof->tables, function));
}

static const void *site_frame(void *pprof, const struct hk_export_site *site)
{
	return called(pprof, site->function, site->domain);
}

static const void *deeper_frame(void *pprof)
{
	return called(pprof, DEEPER, DEEPER);
}

/* Writes the build id of the object of FRAME in hexadecimal digits, none if it is not known. */
static void write_build_id(const Hk__Process *process, const struct hk_stacks_frame *frame,
			   char text[BUILD_ID_DIGITS])
{
	const Hk__StackObject *object =
	    frame->object > 0 && frame->object <= process->n_stack_objects
		? process->stack_objects[frame->object - 1]
		: NULL;
	size_t count = object && object->number == frame->object ? object->build_id.len : 0;

	text[0] = '\0';
	for (size_t i = 0; i < count && 2 * i + 2 < BUILD_ID_DIGITS; i++) {
		snprintf(text + 2 * i, 3, "%02x", object->build_id.data[i]);
	}
}

static const void *caller_frame(void *context, const struct hk_export_process *process,
				uint32_t number, const struct hk_caller *caller)
{
	struct hk_exporter *pprof = context;
	char build_id[BUILD_ID_DIGITS];
	struct hk_stacks_frame frame;

	if (!hk_stacks_frame(process->stacks, number, &frame)) {
		return NULL;
	}
	write_build_id(process->stacks, &frame, build_id);
	bool addressed = *caller->library || frame.object == 0;
	const struct hk_pprof_frame shown = {
	    /* pprof shows an address by itself, and may find its function. */
	    .name = hk_stacks_is_python(&frame)	  ? caller->name
		    : *caller->name || !addressed ? caller->text
						  : "",
	    .system_name = caller->name,
	    .path = caller->library,
	    .build_id = build_id,
	    .file = caller->file,
	    .address = addressed ? frame.address : 0,
	    .line = caller->line,
	};
	return frame_of(pprof, hk_pprof_location(&pprof->tables, &shown), 0, 0);
}

/* ---- threads ---- */

static struct owner *owner_of(struct hk_exporter *pprof, const struct hk_export_thread *thread)
{
	uint64_t uid = pprof->split == HK_FOLDED_SPLIT_THREAD ? thread->uid : 0;
	struct owner *owner;

	for (owner = pprof->owners; owner; owner = owner->next) {
		if (owner->process == thread->process && owner->thread == uid) {
			return owner;
		}
	}
	owner = calloc(1, sizeof(*owner));
	if (owner) {
		owner->process = thread->process;
		owner->thread = uid;
		snprintf(owner->name, sizeof(owner->name), "%s-%" PRIu32, thread->name,
			 thread->tid);
		owner->next = pprof->owners;
		pprof->owners = owner;
	}
	return owner;
}

static int pprof_thread(struct hk_exporter *pprof, struct hk_export_thread *thread)
{
	struct hk_call_track *track = calloc(1, sizeof(*track));

	thread->private = track;
	if (!track) {
		return -ENOMEM;
	}
	track->process = thread->process;
	track->root = hk_call_tree_node(&pprof->tree, &pprof->tree.root, owner_of(pprof, thread));
	return track->root ? 0 : -ENOMEM;
}

static void pprof_forget(struct hk_exporter *pprof, struct hk_export_thread *thread)
{
	(void)pprof;
	if (thread->private) {
		hk_call_track_fini(thread->private);
		free(thread->private);
		thread->private = NULL;
	}
}

/* ---- calls ---- */

static void count(struct hk_exporter *pprof, const struct hk_slice *slice)
{
	pprof->calls++;
	pprof->stacks += slice->stack != 0;
	pprof->end_ns = slice->end_ns > pprof->end_ns ? slice->end_ns : pprof->end_ns;
}

static int pprof_open(struct hk_exporter *pprof, struct hk_export_thread *thread,
		      const struct hk_slice *slice)
{
	return hk_call_tree_open(&pprof->tree, thread->private, slice);
}

static int pprof_close(struct hk_exporter *pprof, struct hk_export_thread *thread,
		       const struct hk_slice *slice)
{
	count(pprof, slice);
	hk_call_tree_close(&pprof->tree, thread->private, slice);
	return 0;
}

static int pprof_instant(struct hk_exporter *pprof, struct hk_export_thread *thread,
			 const struct hk_slice *slice)
{
	count(pprof, slice);
	return hk_call_tree_instant(&pprof->tree, thread->private, slice);
}

/* ---- the file ---- */

static struct hk_exporter *pprof_create(const struct hk_export_target *target)
{
	struct hk_exporter *pprof = calloc(1, sizeof(*pprof));

	if (pprof) {
		pprof->output = target->output;
		pprof->split = target->folded_split;
		pprof->tables.file = &pprof->file;
		pprof->tree.site = site_frame;
		pprof->tree.caller = caller_frame;
		pprof->tree.deeper = deeper_frame;
		pprof->tree.context = pprof;
	}
	return pprof;
}

static int pprof_begin(struct hk_exporter *pprof, const struct hk_export_job *job)
{
	hk_utf8_copy(job->id, pprof->job, sizeof(pprof->job));
	pprof->time_ns = job->start_ns > job->from_ns ? job->start_ns : job->from_ns;
	pprof->tree.from_ns = job->from_ns;
	pprof->tree.to_ns = job->to_ns;
	pprof->tree.callers = hk_callers_new(job);
	return pprof->tree.callers ? 0 : -ENOMEM;
}

/* The labels of a sample in the making. */
struct labels {
	Hk__Pprof__Label list[LABELS_MOST], *pointers[LABELS_MOST];
	size_t count;
	bool failed; /* out of memory */
};

static void add_label(struct hk_exporter *pprof, struct labels *labels, const char *key,
		      int64_t text)
{
	Hk__Pprof__Label *label = &labels->list[labels->count];

	hk__pprof__label__init(label);
	label->key = hk_pprof_text(&pprof->tables, key);
	label->str = text;
	labels->failed |= label->key < 0 || label->str < 0;
	labels->pointers[labels->count++] = label;
}

/* All labels are texts: pprof takes the number 0 for no label, and compares digits as numbers. */
static void add_labels(struct hk_exporter *pprof, struct labels *labels, const struct owner *owner,
		       const struct frame *frame)
{
	const struct hk_export_process *process = owner->process;
	char rank[16];

	add_label(pprof, labels, "function", frame->function);
	add_label(pprof, labels, "domain", frame->key.domain);
	if (process->rank >= 0) {
		snprintf(rank, sizeof(rank), "rank%" PRId32, process->rank);
		add_label(pprof, labels, "rank", hk_pprof_text(&pprof->tables, rank));
	}
	if (strcmp(process->role, "main") != 0) {
		add_label(pprof, labels, "role", hk_pprof_text(&pprof->tables, process->role));
	}
	if (owner->thread) {
		add_label(pprof, labels, "thread", hk_pprof_text(&pprof->tables, owner->name));
	}
}

static int append_sample(struct hk_exporter *pprof, const struct hk_call_node *node,
			 size_t value_count)
{
	static uint64_t path[HK_CALL_TREE_PATH];
	int64_t values[VALUES_MOST] = {(int64_t)node->calls, (int64_t)node->own_ns,
				       (int64_t)node->bytes};
	Hk__Pprof__Sample sample = HK__PPROF__SAMPLE__INIT, *samples[] = {&sample};
	Hk__Pprof__Profile part = HK__PPROF__PROFILE__INIT;
	const struct frame *innermost = node->key.frame;
	struct labels labels = {.count = 0};

	for (; node->key.parent != &pprof->tree.root; node = node->key.parent) {
		const struct frame *frame = node->key.frame;
		path[sample.n_location_id++] = hk_pprof_number(frame->key.location);
	}
	add_labels(pprof, &labels, node->key.frame, innermost);
	sample.location_id = path;
	sample.n_value = value_count;
	sample.value = values;
	sample.n_label = labels.count;
	sample.label = labels.pointers;
	part.n_sample = 1;
	part.sample = samples;
	return labels.failed ? -ENOMEM : hk_pprof_append(&pprof->file, &part);
}

static int append_samples(struct hk_exporter *pprof, size_t value_count)
{
	struct hk_call_node *node, *next;

	HASH_ITER (hh, pprof->tree.nodes, node, next) {
		int rc = node->calls ? append_sample(pprof, node, value_count) : 0;

		if (rc < 0) {
			return rc;
		}
	}
	return 0;
}

static bool has_bytes(const struct hk_exporter *pprof)
{
	struct hk_call_node *node, *next;
	bool any = false;

	HASH_ITER (hh, pprof->tree.nodes, node, next) {
		any |= node->bytes > 0;
	}
	return any;
}

/* Says what the samples' values are, and of how many calls the stack is known. */
static int append_head(struct hk_exporter *pprof, size_t value_count)
{
	static const char *const types[VALUES_MOST][2] = {
	    {"calls", "count"}, {"time", "nanoseconds"}, {"bytes", "bytes"}};
	Hk__Pprof__ValueType list[VALUES_MOST], *pointers[VALUES_MOST];
	Hk__Pprof__Profile part = HK__PPROF__PROFILE__INIT;
	char comment[COMMENT_BYTES];
	int64_t text;

	for (size_t i = 0; i < value_count; i++) {
		hk__pprof__value_type__init(&list[i]);
		list[i].type = hk_pprof_text(&pprof->tables, types[i][0]);
		list[i].unit = hk_pprof_text(&pprof->tables, types[i][1]);
		pointers[i] = &list[i];
	}
	snprintf(comment, sizeof(comment),
		 "hooktrace job %s: stacks of %" PRIu64 " of %" PRIu64 " calls", pprof->job,
		 pprof->stacks, pprof->calls);
	text = hk_pprof_text(&pprof->tables, comment);
	for (size_t i = 0; i < value_count; i++) {
		text = list[i].type < 0 || list[i].unit < 0 ? -ENOMEM : text;
	}
	part.n_sample_type = value_count;
	part.sample_type = pointers;
	part.default_sample_type = list[1].type;
	part.n_comment = 1;
	part.comment = &text;
	part.time_nanos = (int64_t)pprof->time_ns;
	part.duration_nanos =
	    pprof->end_ns > pprof->time_ns ? (int64_t)(pprof->end_ns - pprof->time_ns) : 0;
	return text < 0 ? -ENOMEM : hk_pprof_append(&pprof->file, &part);
}

static int pprof_end(struct hk_exporter *pprof)
{
	size_t value_count = has_bytes(pprof) ? VALUES_MOST : VALUES_MOST - 1;
	int rc = append_head(pprof, value_count);

	rc = rc < 0 ? rc : append_samples(pprof, value_count);
	rc = rc < 0 ? rc : hk_pprof_write_mappings(&pprof->tables);
	return rc < 0 ? rc : hk_pprof_write(&pprof->file, pprof->output);
}

static void pprof_free(struct hk_exporter *pprof)
{
	struct frame *frame, *next_frame;

	if (!pprof) {
		return;
	}
	for (struct owner *owner = pprof->owners, *next; owner; owner = next) {
		next = owner->next;
		free(owner);
	}
	HASH_ITER (hh, pprof->frames, frame, next_frame) {
		HASH_DEL(pprof->frames, frame);
		free(frame);
	}
	hk_call_tree_fini(&pprof->tree);
	hk_callers_free(pprof->tree.callers);
	hk_pprof_tables_fini(&pprof->tables);
	hk_pprof_file_fini(&pprof->file);
	free(pprof);
}

const struct hk_exporter_ops hk_pprof_exporter = {
    .format = "pprof",
    .suffix = "pb.gz",
    .binary = true,
    .create = pprof_create,
    .begin = pprof_begin,
    .thread = pprof_thread,
    .open = pprof_open,
    .close = pprof_close,
    .instant = pprof_instant,
    .forget = pprof_forget,
    .end = pprof_end,
    .free = pprof_free,
};
