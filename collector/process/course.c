#include "collector/process/course.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARTS (HK_COURSE_BINS / HK_COURSE_PART_BINS)
#define OTHER "other"

static_assert(HK_COURSE_BINS % HK_COURSE_PART_BINS == 0, "parts are whole");

void hk_course_begin(struct hk_course *course, uint64_t start_ticks, uint32_t shift)
{
	*course = (struct hk_course){
	    .start_ticks = start_ticks, .until_ticks = start_ticks, .shift = shift, .count = 1};
}

void hk_course_fini(struct hk_course *course)
{
	for (uint32_t i = 0; i < course->row_count; i++) {
		free(course->rows[i]);
	}
	course->row_count = 0;
}

struct hk_course_row *hk_course_find(const struct hk_course *course, Hk__ActivityKind kind,
				     const char *domain)
{
	for (uint32_t i = 0; i < course->row_count; i++) {
		struct hk_course_row *row = course->rows[i];
		if (row->kind == kind && strcmp(row->domain, domain) == 0) {
			return row;
		}
	}
	return NULL;
}

static uint32_t domain_count(const struct hk_course *course)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < course->row_count; i++) {
		count += course->rows[i]->kind == HK__ACTIVITY_KIND__ACTIVITY_DOMAIN;
	}
	return count;
}

struct hk_course_row *hk_course_row(struct hk_course *course, Hk__ActivityKind kind,
				    const char *domain)
{
	struct hk_course_row *row = hk_course_find(course, kind, domain);
	if (!row && kind == HK__ACTIVITY_KIND__ACTIVITY_DOMAIN &&
	    domain_count(course) + 1 >= HK_COURSE_DOMAINS) {
		domain = OTHER;
		row = hk_course_find(course, kind, domain);
	}
	if (row || course->row_count == HK_COURSE_ROWS) {
		return row;
	}
	row = calloc(1, sizeof(*row));
	if (row) {
		row->kind = kind;
		snprintf(row->domain, sizeof(row->domain), "%s", domain);
		course->rows[course->row_count++] = row;
	}
	return row;
}

/* ---- looks ---- */

/* Joins each two bins to one. */
static void widen(struct hk_course *course)
{
	for (uint32_t k = 0; k < course->row_count; k++) {
		uint64_t *bins = course->rows[k]->bins;
		for (uint32_t i = 0; i < HK_COURSE_BINS / 2; i++) {
			bins[i] = bins[2 * i] + bins[2 * i + 1];
		}
		memset(bins + HK_COURSE_BINS / 2, 0, HK_COURSE_BINS / 2 * sizeof(*bins));
	}
	course->count = (course->count + 1) / 2;
	course->shift++;
}

/* Returns the bin that ends at TICKS or contains the time just before it. */
static uint64_t last_bin(const struct hk_course *course, uint64_t ticks)
{
	return ticks > course->start_ticks ? (ticks - course->start_ticks - 1) >> course->shift : 0;
}

void hk_course_reach(struct hk_course *course, uint64_t now_ticks)
{
	while (last_bin(course, now_ticks) >= HK_COURSE_BINS &&
	       course->shift < HK_COURSE_SHIFT_MAX) {
		widen(course);
	}
	uint64_t count = last_bin(course, now_ticks) + 1;
	count = count < HK_COURSE_BINS ? count : HK_COURSE_BINS;
	course->count = count > course->count ? (uint32_t)count : course->count;
}

void hk_course_add(struct hk_course *course, struct hk_course_row *row, uint64_t total,
		   uint64_t from_ticks, uint64_t now_ticks)
{
	uint64_t grown = total > row->total ? total - row->total : 0, placed = 0;
	uint64_t from = from_ticks < course->until_ticks ? from_ticks : course->until_ticks;
	row->total += grown;
	from = from > course->start_ticks ? from : course->start_ticks;
	if (now_ticks <= from) {
		row->bins[course->count - 1] += grown;
		return;
	}
	for (uint64_t bin = (from - course->start_ticks) >> course->shift; placed < grown; bin++) {
		uint64_t end = course->start_ticks + ((bin + 1) << course->shift);
		bool last = bin + 1 >= course->count || end >= now_ticks;
		unsigned __int128 share = (unsigned __int128)grown * (end - from);
		uint64_t so_far = last ? grown : (uint64_t)(share / (now_ticks - from));
		row->bins[bin < course->count ? bin : course->count - 1] += so_far - placed;
		placed = so_far;
	}
}

void hk_course_end(struct hk_course *course, uint64_t now_ticks)
{
	course->until_ticks = now_ticks > course->until_ticks ? now_ticks : course->until_ticks;
}

/* ---- as a message ---- */

static void clear(Hk__Process *state)
{
	for (size_t i = 0; i < state->n_activity; i++) {
		hk__activity__free_unpacked(state->activity[i], NULL);
	}
	free(state->activity);
	state->activity = NULL;
	state->n_activity = 0;
}

static int add_part(Hk__Process *state, const struct hk_course *course,
		    const struct hk_course_row *row, uint32_t number)
{
	uint32_t first = number * HK_COURSE_PART_BINS, left = course->count - first;
	size_t count = left < HK_COURSE_PART_BINS ? left : HK_COURSE_PART_BINS;
	Hk__Activity *part = malloc(sizeof(*part));
	if (!part) {
		return -ENOMEM;
	}
	hk__activity__init(part);
	state->activity[state->n_activity++] = part;
	part->kind = row->kind;
	part->part = number;
	part->start_ticks = course->start_ticks;
	part->shift = course->shift;
	char *domain = strdup(row->domain);
	part->domain = domain ? domain : part->domain;
	part->value = malloc(count * sizeof(*part->value));
	if (!domain || !part->value) {
		return -ENOMEM;
	}
	memcpy(part->value, row->bins + first, count * sizeof(*part->value));
	part->n_value = count;
	return 0;
}

int hk_course_write(const struct hk_course *course, Hk__Process *state)
{
	uint32_t parts = (course->count + HK_COURSE_PART_BINS - 1) / HK_COURSE_PART_BINS;
	int r = 0;
	clear(state);
	state->activity = malloc((course->row_count * parts + 1) * sizeof(*state->activity));
	if (!state->activity) {
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < course->row_count; i++) {
		for (uint32_t k = 0; k < parts && r == 0; k++) {
			r = add_part(state, course, course->rows[i], k);
		}
	}
	return r;
}

static bool is_sound(const Hk__Activity *part)
{
	return part->part < PARTS && part->shift <= HK_COURSE_SHIFT_MAX &&
	       part->n_value <= HK_COURSE_PART_BINS;
}

int hk_course_recover(struct hk_course *course, const Hk__Process *state, uint64_t until_ticks)
{
	const Hk__Activity *first = state->n_activity > 0 ? state->activity[0] : NULL;
	if (!first || !is_sound(first) || until_ticks < first->start_ticks) {
		return -ENOENT;
	}
	hk_course_begin(course, first->start_ticks, first->shift);
	for (size_t i = 0; i < state->n_activity; i++) {
		const Hk__Activity *part = state->activity[i];
		if (!is_sound(part) || part->start_ticks != first->start_ticks ||
		    part->shift != first->shift) {
			continue;
		}
		struct hk_course_row *row = hk_course_row(course, part->kind, part->domain);
		uint32_t at = part->part * HK_COURSE_PART_BINS;
		if (!row) {
			return -ENOMEM;
		}
		for (size_t k = 0; k < part->n_value; k++) {
			row->bins[at + k] = part->value[k];
			row->total += part->value[k];
		}
		uint32_t end = at + (uint32_t)part->n_value;
		course->count = end > course->count ? end : course->count;
	}
	hk_course_reach(course, until_ticks);
	course->until_ticks = until_ticks;
	return 0;
}
