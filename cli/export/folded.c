/* Folded stacks, the input of flame graphs: one line per distinct stack of calls, outermost first,
 * ";" between, then a space and the sum of the innermost one's own weight. The nesting comes from
 * the records of each thread. Memory grows with the number of distinct stacks. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/export/exporter.h"
#include "text/name.h"
#include "text/utf8.h"

#include <uthash.h>

/* Deeper calls are summed in one frame: a line names every call on the path. */
#define DEPTH_MAX 512u
#define DEEPER "[deeper]"
#define FRAME_BYTES 256u

struct key {
	const struct node *parent;
	const char *frame; /* one copy of each text */
};

/* A distinct stack: its innermost frame, and its parent for the others. */
struct node {
	UT_hash_handle hh;
	struct key key;
	uint64_t weight;
	const struct hk_export_site *last_site; /* the most recent call inside of it ... */
	struct node *last;			/* ... and its node */
};

struct frame {
	UT_hash_handle hh;
	char text[];
};

struct open_call {
	struct node *node;
	uint64_t start_ns;
	uint64_t inner_ns; /* in calls inside of it */
};

struct track {
	struct open_call *calls;
	size_t depth, capacity;
	struct node *root;
};

struct hk_exporter {
	FILE *output;
	enum hk_folded_weight weight;
	enum hk_folded_split split;
	uint64_t from_ns, to_ns;
	struct node base; /* root of all: no frame */
	struct node *nodes;
	struct frame *frames;
};

static struct hk_exporter *folded_create(const struct hk_export_target *target)
{
	struct hk_exporter *folded = calloc(1, sizeof(*folded));

	if (folded) {
		folded->output = target->output;
		folded->weight = target->folded_weight;
		folded->split = target->folded_split;
	}
	return folded;
}

static int folded_begin(struct hk_exporter *folded, const struct hk_export_job *job)
{
	folded->from_ns = job->from_ns;
	folded->to_ns = job->to_ns;
	return 0;
}

/* ---- frames and stacks ---- */

/* Copies TEXT to FRAME and replaces characters that end a frame or a stack, or control a
 * terminal. */
static void clean(const char *text, char frame[FRAME_BYTES])
{
	size_t length = hk_utf8_copy(text, frame, FRAME_BYTES);

	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)frame[i];

		if (byte == ';') {
			frame[i] = ':';
		} else if (byte <= ' ' || byte == 0x7f) {
			frame[i] = '_';
		} else if (byte == 0xc2 && (unsigned char)frame[i + 1] < 0xa0) {
			frame[i] = frame[i + 1] = '_'; /* a C1 control */
		}
	}
}

static const char *frame_text(struct hk_exporter *folded, const char *text)
{
	char cleaned[FRAME_BYTES];
	struct frame *frame;

	clean(text, cleaned);
	HASH_FIND_STR(folded->frames, cleaned, frame);
	if (!frame) {
		size_t length = strlen(cleaned);

		frame = calloc(1, sizeof(*frame) + length + 1);
		if (!frame) {
			return NULL;
		}
		memcpy(frame->text, cleaned, length);
		HASH_ADD_KEYPTR(hh, folded->frames, frame->text, length, frame);
		if (!frame->hh.tbl) {
			free(frame);
			return NULL;
		}
	}
	return frame->text;
}

/* Returns the stack of PARENT with a frame TEXT on top, or NULL without memory. */
static struct node *node_get(struct hk_exporter *folded, const struct node *parent,
			     const char *text)
{
	struct key key = {.parent = parent, .frame = frame_text(folded, text)};
	struct node *node;

	if (!key.frame) {
		return NULL;
	}
	HASH_FIND(hh, folded->nodes, &key, sizeof(key), node);
	if (!node) {
		node = calloc(1, sizeof(*node));
		if (!node) {
			return NULL;
		}
		node->key = key;
		HASH_ADD(hh, folded->nodes, key, sizeof(key), node);
		if (!node->hh.tbl) {
			free(node);
			return NULL;
		}
	}
	return node;
}

/* ---- threads ---- */

/* Returns the bottom frames of a thread: its role unless it is main, then those of --split. Returns
 * NULL without memory. */
static struct node *root_of(struct hk_exporter *folded, const struct hk_export_thread *thread)
{
	const struct hk_export_process *process = thread->process;
	char texts[3][FRAME_BYTES] = {"", "", ""};
	struct node *node = &folded->base;

	if (strcmp(process->role, "main") != 0) {
		snprintf(texts[0], FRAME_BYTES, "[%s]", process->role);
	}
	if (folded->split != HK_FOLDED_SPLIT_NONE && process->rank >= 0) {
		snprintf(texts[1], FRAME_BYTES, "rank_%" PRId32, process->rank);
	}
	if (folded->split == HK_FOLDED_SPLIT_THREAD) {
		snprintf(texts[2], FRAME_BYTES, "%s-%" PRIu32, thread->name, thread->tid);
	}
	for (size_t i = 0; node && i < 3; i++) {
		node = *texts[i] ? node_get(folded, node, texts[i]) : node;
	}
	return node;
}

static int folded_thread(struct hk_exporter *folded, struct hk_export_thread *thread)
{
	struct track *track = calloc(1, sizeof(*track));

	thread->private = track;
	if (track) {
		track->root = root_of(folded, thread);
	}
	return track && track->root ? 0 : -ENOMEM;
}

static void folded_forget(struct hk_exporter *folded, struct hk_export_thread *thread)
{
	struct track *track = thread->private;

	(void)folded;
	if (track) {
		free(track->calls);
		free(track);
		thread->private = NULL;
	}
}

/* ---- calls ---- */

/* Returns the stack of a call of SITE that begins now. */
static struct node *node_of(struct hk_exporter *folded, const struct track *track,
			    const struct hk_export_site *site)
{
	struct node *top = track->depth ? track->calls[track->depth - 1].node : track->root;

	if (track->depth > DEPTH_MAX) {
		return top;
	}
	if (track->depth == DEPTH_MAX) {
		return node_get(folded, top, DEEPER);
	}
	if (top->last_site == site) {
		return top->last;
	}
	struct node *node = node_get(folded, top, site->function);

	top->last_site = node ? site : NULL;
	top->last = node;
	return node;
}

static int track_reserve(struct track *track)
{
	size_t capacity = track->capacity ? track->capacity * 2 : 16;
	struct open_call *calls;

	if (track->depth < track->capacity) {
		return 0;
	}
	calls = reallocarray(track->calls, capacity, sizeof(*calls));
	if (!calls) {
		return -ENOMEM;
	}
	track->calls = calls;
	track->capacity = capacity;
	return 0;
}

/* Returns TIME_NS clamped to the requested range: time outside is not counted. */
static uint64_t within(const struct hk_exporter *folded, uint64_t time_ns)
{
	time_ns = time_ns < folded->from_ns ? folded->from_ns : time_ns;
	return time_ns > folded->to_ns ? folded->to_ns : time_ns;
}

static int folded_open(struct hk_exporter *folded, struct hk_export_thread *thread,
		       const struct hk_slice *slice)
{
	struct track *track = thread->private;
	struct node *node = node_of(folded, track, slice->site);

	if (!node || track_reserve(track) < 0) {
		return -ENOMEM;
	}
	track->calls[track->depth++] =
	    (struct open_call){.node = node, .start_ns = within(folded, slice->start_ns)};
	return 0;
}

static int folded_close(struct hk_exporter *folded, struct hk_export_thread *thread,
			const struct hk_slice *slice)
{
	struct track *track = thread->private;
	struct open_call *call = &track->calls[--track->depth];
	uint64_t total_ns = within(folded, slice->end_ns) - call->start_ns;

	if (track->depth) {
		call[-1].inner_ns += total_ns;
	}
	call->node->weight += folded->weight == HK_FOLDED_CALLS ? 1
			      : total_ns > call->inner_ns	? total_ns - call->inner_ns
								: 0;
	return 0;
}

/* Counts an instant as a call without duration. */
static int folded_instant(struct hk_exporter *folded, struct hk_export_thread *thread,
			  const struct hk_slice *slice)
{
	struct node *node = node_of(folded, thread->private, slice->site);

	if (!node) {
		return -ENOMEM;
	}
	node->weight += folded->weight == HK_FOLDED_CALLS;
	return 0;
}

/* ---- the file ---- */

static void write_stack(FILE *output, const struct node *node)
{
	const struct node *path[DEPTH_MAX + 8];
	size_t count = 0;

	for (const struct node *at = node; at->key.parent; at = at->key.parent) {
		path[count++] = at;
	}
	while (count--) {
		fputs_unlocked(path[count]->key.frame, output);
		putc_unlocked(count ? ';' : ' ', output);
	}
	fprintf(output, "%" PRIu64 "\n", node->weight);
}

static int folded_end(struct hk_exporter *folded)
{
	struct node *node, *next;

	HASH_ITER (hh, folded->nodes, node, next) {
		if (node->weight) {
			write_stack(folded->output, node);
		}
	}
	if (fflush(folded->output) || ferror(folded->output)) {
		return errno > 0 ? -errno : -EIO;
	}
	return 0;
}

static void folded_free(struct hk_exporter *folded)
{
	struct node *node, *next_node;
	struct frame *frame, *next_frame;

	if (!folded) {
		return;
	}
	HASH_ITER (hh, folded->nodes, node, next_node) {
		HASH_DEL(folded->nodes, node);
		free(node);
	}
	HASH_ITER (hh, folded->frames, frame, next_frame) {
		HASH_DEL(folded->frames, frame);
		free(frame);
	}
	free(folded);
}

const struct hk_exporter_ops hk_folded_exporter = {
    .format = "folded",
    .suffix = "folded",
    .create = folded_create,
    .begin = folded_begin,
    .thread = folded_thread,
    .open = folded_open,
    .close = folded_close,
    .instant = folded_instant,
    .forget = folded_forget,
    .end = folded_end,
    .free = folded_free,
};
