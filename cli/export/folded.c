/* Folded stacks, the input of flame graphs: one line per distinct stack of calls, outermost first,
 * ";" between, then a space and the sum of the innermost one's own weight (call_tree.h). */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/export/call_tree.h"
#include "text/name.h"
#include "text/utf8.h"

#include <uthash.h>

#define DEEPER "[deeper]"
#define FRAME_BYTES 256u

struct frame {
	UT_hash_handle hh;
	char text[];
};

struct hk_exporter {
	FILE *output;
	enum hk_folded_weight weight;
	enum hk_folded_split split;
	struct hk_call_tree tree; /* its frames: one copy of each text */
	struct frame *frames;
};

/* ---- frames ---- */

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

static const void *site_frame(void *folded, const struct hk_export_site *site)
{
	return frame_text(folded, site->function);
}

static const void *caller_frame(void *folded, const struct hk_export_process *process,
				uint32_t number, const struct hk_caller *caller)
{
	(void)process;
	(void)number;
	return frame_text(folded, caller->text);
}

static const void *deeper_frame(void *folded)
{
	return frame_text(folded, DEEPER);
}

static struct hk_exporter *folded_create(const struct hk_export_target *target)
{
	struct hk_exporter *folded = calloc(1, sizeof(*folded));

	if (folded) {
		folded->output = target->output;
		folded->weight = target->folded_weight;
		folded->split = target->folded_split;
		folded->tree.site = site_frame;
		folded->tree.caller = caller_frame;
		folded->tree.deeper = deeper_frame;
		folded->tree.context = folded;
	}
	return folded;
}

static int folded_begin(struct hk_exporter *folded, const struct hk_export_job *job)
{
	folded->tree.from_ns = job->from_ns;
	folded->tree.to_ns = job->to_ns;
	folded->tree.callers = hk_callers_new(job);
	return folded->tree.callers ? 0 : -ENOMEM;
}

/* ---- threads ---- */

/* Returns the bottom frames of a thread: its role unless it is main, then those of --split. Returns
 * NULL without memory. */
static struct hk_call_node *root_of(struct hk_exporter *folded,
				    const struct hk_export_thread *thread)
{
	const struct hk_export_process *process = thread->process;
	char texts[3][FRAME_BYTES] = {"", "", ""};
	struct hk_call_node *node = &folded->tree.root;

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
		node = *texts[i]
			   ? hk_call_tree_node(&folded->tree, node, frame_text(folded, texts[i]))
			   : node;
	}
	return node;
}

static int folded_thread(struct hk_exporter *folded, struct hk_export_thread *thread)
{
	struct hk_call_track *track = calloc(1, sizeof(*track));

	thread->private = track;
	if (track) {
		track->process = thread->process;
		track->root = root_of(folded, thread);
	}
	return track && track->root ? 0 : -ENOMEM;
}

static void folded_forget(struct hk_exporter *folded, struct hk_export_thread *thread)
{
	(void)folded;
	if (thread->private) {
		hk_call_track_fini(thread->private);
		free(thread->private);
		thread->private = NULL;
	}
}

/* ---- calls ---- */

static int folded_open(struct hk_exporter *folded, struct hk_export_thread *thread,
		       const struct hk_slice *slice)
{
	return hk_call_tree_open(&folded->tree, thread->private, slice);
}

static int folded_close(struct hk_exporter *folded, struct hk_export_thread *thread,
			const struct hk_slice *slice)
{
	hk_call_tree_close(&folded->tree, thread->private, slice);
	return 0;
}

/* Counts an instant as a call without duration. */
static int folded_instant(struct hk_exporter *folded, struct hk_export_thread *thread,
			  const struct hk_slice *slice)
{
	return hk_call_tree_instant(&folded->tree, thread->private, slice);
}

/* ---- the file ---- */

static void write_stack(FILE *output, const struct hk_call_node *node, uint64_t weight)
{
	static const struct hk_call_node *path[HK_CALL_TREE_PATH];
	size_t count = 0;

	for (const struct hk_call_node *at = node; at->key.parent; at = at->key.parent) {
		path[count++] = at;
	}
	while (count--) {
		fputs_unlocked(path[count]->key.frame, output);
		putc_unlocked(count ? ';' : ' ', output);
	}
	fprintf(output, "%" PRIu64 "\n", weight);
}

static int folded_end(struct hk_exporter *folded)
{
	struct hk_call_node *node, *next;

	HASH_ITER (hh, folded->tree.nodes, node, next) {
		uint64_t weight = folded->weight == HK_FOLDED_CALLS ? node->calls : node->own_ns;
		if (weight) {
			write_stack(folded->output, node, weight);
		}
	}
	if (fflush(folded->output) || ferror(folded->output)) {
		return errno > 0 ? -errno : -EIO;
	}
	return 0;
}

static void folded_free(struct hk_exporter *folded)
{
	struct frame *frame, *next_frame;

	if (!folded) {
		return;
	}
	hk_call_tree_fini(&folded->tree);
	hk_callers_free(folded->tree.callers);
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
