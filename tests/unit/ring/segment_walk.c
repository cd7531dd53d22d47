#include "segment_walk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SITES_ASKED 5000u

static void check(int holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "segment_walk: %s\n", what);
		abort();
	}
}

static void check_text(const char *text, size_t most)
{
	size_t length = strnlen(text, most + 1);
	check(length <= most, "text without an end");
	for (size_t i = 0; i < length; i++) {
		check((unsigned char)text[i] >= ' ' && text[i] != 0x7f, "text not printable");
	}
}

static void walk_sites(struct hk_reader *reader, const struct hk_segment_status *status,
		       struct segment_walk *walk)
{
	for (uint32_t id = 0; id < status->sites && id < SITES_ASKED; id++) {
		const struct hk_site_info *site = hk_reader_site(reader, id);
		if (site) {
			check(site->id == id, "site of another id");
			check(site->key_count <= HK_SITE_KEYS, "keys");
			check_text(site->function, 1023);
			check_text(site->library, 1023);
			check_text(site->provider, 1023);
			check_text(site->domain, sizeof(site->domain) - 1);
			walk->sites++;
		}
	}
}

static void walk_untraced(struct hk_reader *reader)
{
	struct hk_untraced_copy entry;
	for (uint32_t i = 0; i < HK_UNTRACED_MAX; i++) {
		if (hk_reader_untraced(reader, i, &entry)) {
			check(entry.state == HK_STATE_OPEN || entry.state == HK_STATE_EXITED,
			      "state of an untraced process");
			check(entry.error < 0 && entry.error > -4096, "its error");
		}
	}
}

static void walk_bare(struct hk_reader *reader)
{
	struct hk_bare_copy entry;
	for (uint32_t i = 0; i < HK_BARE_MAX; i++) {
		if (hk_reader_bare(reader, i, &entry)) {
			check(entry.reason >= 1 && entry.reason <= HK_BARE_REASONS,
			      "reason of a program without the agent");
			check_text(entry.program, HK_BARE_PROGRAM_BYTES - 1);
		}
	}
}

static void walk_stacks(struct hk_reader *reader, struct segment_walk *walk)
{
	uint32_t frames = 0, objects = 0, codes = 0;
	struct hk_stack_frame frame;
	struct hk_stack_object object;
	struct hk_code_copy code;
	const char *path;

	while (hk_reader_next_frame(reader, &frames, &frame) == 1) {
		check(frame.caller < frames, "a caller that comes later");
	}
	while (hk_reader_next_object(reader, &objects, &object, &path) == 1) {
		check(object.build_id_bytes <= HK_BUILD_ID_BYTES, "build id");
		check_text(path, 1023);
	}
	while (hk_reader_next_code(reader, &codes, &code) == 1) {
		check_text(code.file, 1023);
		check_text(code.name, 1023);
	}
	check(frames <= HK_FRAMES_MAX && objects <= HK_STACK_OBJECTS_MAX &&
		  codes <= HK_STACK_CODES_MAX,
	      "parts of stacks");
	walk->frames = frames;
	walk->objects = objects;
	walk->codes = codes;
}

static void walk_kernels(struct hk_reader *reader)
{
	struct hk_kernel kernel;
	uint32_t number = 0;
	const char *name;

	while (hk_reader_next_kernel(reader, &number, &kernel, &name) == 1) {
		check(number <= HK_KERNELS_MAX, "too many kernels");
		check_text(name, HK_KERNEL_NAME_BYTES);
	}
}

static void walk_asks(struct hk_reader *reader)
{
	static struct hk_ask_copy answer;

	for (uint32_t i = 0; i < HK_ASKS; i++) {
		if (hk_reader_answer(reader, i, SEGMENT_WALK_TID, &answer) != 1) {
			continue;
		}
		check(answer.count <= HK_ASK_FRAMES, "frames of an answer");
		check(answer.python_count <= HK_ASK_PYTHON_FRAMES, "its Python frames");
		for (uint32_t k = 0; k < answer.python_count; k++) {
			const struct hk_ask_python_frame *frame = &answer.python.frame[k];
			check(frame->file < HK_ASK_TEXT_BYTES && frame->name < HK_ASK_TEXT_BYTES,
			      "a text that is not there");
			check_text(answer.python.text + frame->file, HK_ASK_TEXT_BYTES - 1);
			check_text(answer.python.text + frame->name, HK_ASK_TEXT_BYTES - 1);
		}
	}
}

static void walk_cells(struct hk_reader *reader, struct segment_walk *walk)
{
	uint64_t buckets[HK_OCTAVE_BUCKETS];
	struct hk_cell_copy cell;
	uint64_t cursor = 0;

	while (hk_reader_next_cell(reader, &cursor, &cell) == 1) {
		check(cell.site < HK_SITES_MAX, "cell of an absurd site");
		walk->cells++;
		for (uint32_t i = 0; i < HK_OCTAVES; i++) {
			if (cell.octave[i] &&
			    hk_reader_octave(reader, cell.octave[i], buckets) == 0) {
				walk->octaves++;
			}
		}
	}
}

static void check_run(const struct hk_run *run)
{
	size_t at = 0;

	check(run->word_count > 0, "empty run");
	while (at < run->word_count) {
		check(run->word_count - at >= 2, "cut record");
		uint64_t kind = run->words[at + 1] >> 52 & 15;
		at += 2 + (run->words[at + 1] >> 56);
		check(kind != 0 && kind != HK_RECORD_THREAD, "record that is none");
	}
	check(at == run->word_count, "record beyond its run");
}

static void walk_threads(struct hk_reader *reader, const struct hk_segment_status *status,
			 struct segment_walk *walk)
{
	uint64_t words = 0;
	struct hk_thread_copy thread;
	uint64_t cursor = 0;

	while (hk_reader_next_thread(reader, &cursor, &thread) == 1) {
		walk->threads++;
		for (uint32_t stream = 0; stream < HK_STREAMS; stream++) {
			struct hk_run run;
			int got;
			while ((got = hk_reader_next_run(reader, thread.slot, stream, &run)) == 1) {
				check_run(&run);
				words += run.word_count;
				walk->runs++;
				check(words <= (uint64_t)status->blocks * HK_BLOCK_BYTES / 8,
				      "more records than the file holds");
			}
			walk->lies += got == -EBADMSG;
		}
	}
	walk->words += words;
}

void segment_walk_reader(struct hk_reader *reader, struct segment_walk *walk)
{
	struct hk_segment_status status;
	uint64_t used;
	uint64_t cap;

	walk->status = hk_reader_refresh(reader, &status);
	if (walk->status == 0) {
		walk_sites(reader, &status, walk);
		walk_untraced(reader);
		walk_bare(reader);
		walk_stacks(reader, walk);
		walk_kernels(reader);
		walk_asks(reader);
		walk_cells(reader, walk);
		walk_threads(reader, &status, walk);
		hk_reader_pool(reader, &used, &cap);
		check(cap > 0, "no pool");
		hk_reader_beat(reader, 1, 2);
		hk_reader_raise_generation(reader);
		const struct hk_rule rule = {.pattern = "*", .level = 2};
		for (uint32_t id = 0; id < status.sites && id < 64; id++) {
			hk_reader_set_ceiling(reader, id, 2);
		}
		hk_reader_publish(reader, &rule, 1, HK_SEGMENT_OFF);
	}
	walk->damage = hk_reader_damage(reader);
}

struct segment_walk segment_walk_file(int dirfd, const char *name)
{
	struct segment_walk walk = {0};
	struct segment_walk again = {0};
	struct hk_reader *reader;

	walk.status = hk_reader_open(dirfd, name, &reader);
	if (walk.status < 0) {
		return walk;
	}
	const struct hk_segment_identity *identity = hk_reader_identity(reader);
	check_text(identity->job, sizeof(identity->job) - 1);
	check_text(identity->command, sizeof(identity->command) - 1);
	check_text(identity->note, sizeof(identity->note) - 1);
	segment_walk_reader(reader, &walk);
	hk_reader_release(reader);
	segment_walk_reader(reader, &again);
	check(again.words == 0, "records delivered twice");
	walk.damage = again.damage;
	hk_reader_free(reader);
	return walk;
}
