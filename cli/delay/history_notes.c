#include "cli/delay/history_notes.h"

#include <inttypes.h>
#include <stdarg.h>

#include "text/quantity.h"

#define RANKS_NAMED 4u

__attribute__((format(printf, 2, 3))) static void note(struct hk_history_notes *notes,
						       const char *format, ...)
{
	va_list arguments;

	if (notes->count < HK_HISTORY_NOTES) {
		va_start(arguments, format);
		vsnprintf(notes->list[notes->count++], HK_HISTORY_NOTE_BYTES, format, arguments);
		va_end(arguments);
	}
}

typedef bool lane_fn(const struct hk_lane *lane);

static bool is_doubted(const struct hk_lane *lane)
{
	return lane->doubt_ns < lane->end_ns;
}

static bool lacks_mpi(const struct hk_lane *lane)
{
	return lane->mpi_recorded < lane->mpi_calls;
}

static bool lacks_calls(const struct hk_lane *lane)
{
	return lane->recorded < lane->calls;
}

static bool is_empty(const struct hk_lane *lane)
{
	return lane->piece_count == 0;
}

/* Writes the ranks of lanes that are SO to TEXT: "ranks 0, 3 and 2 more". Returns how many there
 * are. */
static size_t ranks_of(const struct hk_history *history, lane_fn *so, char *text, size_t size)
{
	size_t count = 0, used = 0;

	*text = '\0';
	for (size_t i = 0; i < history->lane_count; i++) {
		if (so(&history->lanes[i]) && count++ < RANKS_NAMED) {
			used += (size_t)snprintf(text + used, size - used, "%s%" PRId32,
						 count == 1 ? "" : ", ", history->lanes[i].rank);
		}
	}
	if (count > RANKS_NAMED) {
		snprintf(text + used, size - used, " and %zu more", count - RANKS_NAMED);
	}
	return count;
}

static void doubts_note(const struct hk_history *history, struct hk_history_notes *notes)
{
	uint64_t first_ns = UINT64_MAX;
	char ranks[96], time[HK_QUANTITY_BYTES];

	if (ranks_of(history, is_doubted, ranks, sizeof(ranks)) == 0) {
		return;
	}
	for (size_t i = 0; i < history->lane_count; i++) {
		uint64_t doubt_ns = history->lanes[i].doubt_ns;
		first_ns = doubt_ns < first_ns ? doubt_ns : first_ns;
	}
	note(notes,
	     "nothing is charged to or by rank %s behind a gap in its records, the first at "
	     "%s",
	     ranks,
	     hk_quantity_time(time, first_ns > history->origin_ns
					? (double)(first_ns - history->origin_ns)
					: 0));
}

/* Notes calls that were counted only, or sampled. */
static void levels_note(const struct hk_history *history, struct hk_history_notes *notes)
{
	uint64_t mpi = 0, mpi_calls = 0, other = 0, calls = 0;
	char ranks[96];

	for (size_t i = 0; i < history->lane_count; i++) {
		const struct hk_lane *lane = &history->lanes[i];
		mpi_calls += lane->mpi_calls;
		mpi += lane->mpi_recorded;
		calls += lane->calls;
		other += lane->recorded;
	}
	if (ranks_of(history, lacks_mpi, ranks, sizeof(ranks)) > 0) {
		note(notes,
		     "%" PRIu64 " of %" PRIu64
		     " calls of MPI were recorded: on rank %s some were counted or sampled only",
		     mpi, mpi_calls, ranks);
	}
	if (ranks_of(history, lacks_calls, ranks, sizeof(ranks)) > 0) {
		note(
		    notes,
		    "%" PRIu64 " of %" PRIu64
		    " other calls were recorded: what was counted or sampled only is own work here",
		    other, calls);
	}
}

void hk_history_notes_make(const struct hk_history *history, struct hk_history_notes *ret_notes)
{
	char ranks[96], time[HK_QUANTITY_BYTES];

	*ret_notes = (struct hk_history_notes){0};
	if (history->damaged) {
		note(ret_notes, "records are damaged: their calls cannot be matched");
		return;
	}
	if (history->lost > 0) {
		note(ret_notes, "%" PRIu64 " records are missing", history->lost);
	}
	doubts_note(history, ret_notes);
	if (history->full_ns < UINT64_MAX) {
		note(ret_notes, "there are too many calls: those behind %s are left out",
		     hk_quantity_time(time, history->full_ns > history->origin_ns
						? (double)(history->full_ns - history->origin_ns)
						: 0));
	}
	levels_note(history, ret_notes);
	if (ranks_of(history, is_empty, ranks, sizeof(ranks)) > 0) {
		note(ret_notes, "there are no records of rank %s", ranks);
	}
	if (history->doubtful > 0) {
		note(ret_notes,
		     "%" PRIu64 " collectives are left out: a rank left them before the rank that "
		     "it would wait for had entered",
		     history->doubtful);
	}
	if (history->elsewhere > 0) {
		note(ret_notes,
		     "%" PRIu64 " waits are left out: in other threads than the first one of a "
		     "rank, before the end of MPI_Init, or behind missing records",
		     history->elsewhere);
	}
}

void hk_history_notes_write_text(const struct hk_history_notes *notes, FILE *output)
{
	for (size_t i = 0; i < notes->count; i++) {
		fprintf(output, "! %s\n", notes->list[i]);
	}
}

void hk_history_notes_write_json(const struct hk_history_notes *notes, struct hk_json *json)
{
	hk_json_open(json, "incomplete", '[');
	for (size_t i = 0; i < notes->count; i++) {
		hk_json_string(json, NULL, notes->list[i]);
	}
	hk_json_close(json, ']');
	hk_json_newline(json);
}
