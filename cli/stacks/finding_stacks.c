#include "cli/stacks/finding_stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/command.h"
#include "cli/job/notes.h"
#include "cli/stacks/groups.h"
#include "cli/stacks/stacks_ask.h"
#include "cli/tables/stack_rows.h"
#include "report/findings/progress/hang.h"
#include "report/findings/progress/hang_notes.h"
#include "text/name.h"
#include "text/quantity.h"
#include "text/ranks.h"

#define FRAMES_SHOWN 16u
#define FRAME_COLUMNS 100
#define RANKS_BYTES 96
#define RANKS_COMPARED 4096u
#define NOTE_BYTES 400 /* longer notes are cut */

/* Writes the functions of GROUP's stack, innermost first, each with a newline. Returns NULL without
 * memory. */
static char *stack_text(const struct hk_stack_group *group)
{
	struct hk_export_function functions[HK_EXPORT_FUNCTIONS];
	char name[HK_NAME_BYTES(FRAME_COLUMNS)], *text = NULL;
	uint32_t numbers[HK_GROUPS_FRAMES];
	size_t size, shown = 0;
	size_t count = hk_stack_groups_frames(group->process, group->thread, numbers);
	FILE *output = open_memstream(&text, &size);

	for (size_t i = 0; output && i < count && shown < FRAMES_SHOWN; i++) {
		size_t here = hk_stack_rows_functions(group->process, numbers[i], functions);
		for (size_t k = 0; k < here && shown < FRAMES_SHOWN; k++, shown++) {
			hk_name_print(name, FRAME_COLUMNS, functions[k].text);
			fprintf(output, "%s\n", name);
		}
	}
	return output && fclose(output) == 0 ? text : NULL;
}

/* Returns the group of first threads that RANK is in, or NULL. */
static const struct hk_stack_group *group_of(const struct hk_stack_groups *groups, int32_t rank)
{
	for (size_t i = 0; i < groups->count; i++) {
		const struct hk_stack_group *group = &groups->groups[i];
		for (size_t k = 0; group->is_main && k < group->rank_count; k++) {
			if (group->ranks[k] == rank) {
				return group;
			}
		}
	}
	return NULL;
}

/* Returns the hang of FINDINGS, or NULL. */
static struct hk_finding *hang_of(struct hk_findings *findings)
{
	for (size_t i = 0; i < findings->count; i++) {
		struct hk_finding *finding = &findings->list[i];
		if (finding->topic == HK_TOPIC_PROGRESS && strcmp(finding->kind, "death") != 0) {
			return finding;
		}
	}
	return NULL;
}

static int stack_set(struct hk_finding *finding, const struct hk_stack_groups *groups)
{
	const struct hk_stack_group *group =
	    finding->rank_count > 0 ? group_of(groups, finding->ranks[0]) : NULL;

	if (group && group->thread->stack != 0) {
		free(finding->stack); /* that of an earlier look */
		finding->stack = stack_text(group);
		return finding->stack ? 0 : -ENOMEM;
	}
	return 0;
}

/* ---- what stays when the hang is over ---- */

/* Adds a note about RANK to the job's directory, where hookcli may write there. */
static void note_add(const struct hk_job *job, const char *kind, const char *text, int32_t rank)
{
	Hk__Note note = HK__NOTE__INIT;

	note.kind = (char *)kind;
	note.text = (char *)text;
	note.rank = rank;
	int r = hk_notes_add(job->directory, &note);
	if (r < 0) {
		hk_debug("note not kept kind=%s error=%s", kind, strerror(-r));
	}
}

/* Keeps the sentence and the stack of HANG, which the job's end would take away. */
static void hang_keep(const struct hk_job *job, const struct hk_finding *hang)
{
	char stack[NOTE_BYTES] = "";
	size_t used = 0;

	if (job->elsewhere || !*job->directory || !hang->stack || hang->rank_count == 0) {
		return;
	}
	for (const char *text = hang->stack; *text;) {
		size_t length = strcspn(text, "\n");
		if (used + length + sizeof(HK_HANG_CALLER) > sizeof(stack)) {
			break;
		}
		used += (size_t)snprintf(stack + used, sizeof(stack) - used, "%s%.*s",
					 used > 0 ? HK_HANG_CALLER : "", (int)length, text);
		text += length + (text[length] == '\n');
	}
	note_add(job, HK_HANG_NOTE, hang->text, hang->ranks[0]);
	note_add(job, HK_HANG_STACK_NOTE, stack, hang->ranks[0]);
}

/* ---- a hang without open calls ---- */

static bool has_left(const struct hk_report_rank *rank)
{
	return !rank->running && strcmp(rank->exit.kind, "exited") == 0 && rank->exit.code == 0;
}

/* Whether most ranks, all of which run or have ended with status 0, have been in no call but waits
 * for HK_HANG_NS. */
static bool stands_still(const struct hk_report *report)
{
	size_t still = 0;

	if (report->rank_count > RANKS_COMPARED) {
		return false;
	}
	for (size_t i = 0; i < report->rank_count; i++) {
		const struct hk_report_rank *rank = &report->ranks[i];
		if (!rank->running && !has_left(rank)) {
			return false;
		}
		still += rank->running && rank->quiet_ns >= HK_HANG_NS;
	}
	return 2 * still > report->rank_count;
}

/* Copies the next Python function of PROCESS's stack from frame *NUMBER on, and sets *NUMBER to its
 * caller's. Returns whether there is one. */
static bool python_next(const Hk__Process *process, uint32_t *number,
			struct hk_stacks_frame *ret_frame)
{
	for (size_t i = 0; i < HK_GROUPS_FRAMES; i++) {
		if (!hk_stacks_frame(process, *number, ret_frame)) {
			return false;
		}
		*number = ret_frame->caller;
		if (hk_stacks_is_python(ret_frame)) {
			return true;
		}
	}
	return false;
}

/* Whether both groups are in the same lines of the same Python functions. False without any. */
static bool same_python(const struct hk_stack_group *a, const struct hk_stack_group *b)
{
	uint32_t x = a->thread->stack, y = b->thread->stack;
	struct hk_stacks_frame in_x, in_y;
	size_t count = 0;
	bool more = true, same = true;

	for (; same && more && count < HK_GROUPS_FRAMES; count += more) {
		more = python_next(a->process, &x, &in_x);
		same = more == python_next(b->process, &y, &in_y);
		same = same && (!more || (in_x.address == in_y.address &&
					  strcmp(in_x.name, in_y.name) == 0 &&
					  strcmp(in_x.path, in_y.path) == 0));
	}
	return same && count > 0;
}

/* Whether first threads of A and B are in the same place. Below a Python line native functions may
 * differ, and some of them may have no names yet. */
static bool is_together(const struct hk_stack_group *a, const struct hk_stack_group *b,
			bool by_python)
{
	return a == b || (by_python && same_python(a, b));
}

/* Returns a group of first threads if most ranks are in its place and sleep there, or NULL. */
static const struct hk_stack_group *most_of(const struct hk_stack_groups *groups, size_t ranks,
					    bool by_python)
{
	const struct hk_stack_group *most = NULL;
	size_t in_most = 0;

	for (size_t i = 0; i < groups->count; i++) {
		const struct hk_stack_group *group = &groups->groups[i];
		size_t count = 0;
		for (size_t k = 0; group->is_main && k < groups->count; k++) {
			const struct hk_stack_group *other = &groups->groups[k];
			count += other->is_main && is_together(group, other, by_python)
				     ? other->rank_count
				     : 0;
		}
		if (count > in_most) {
			most = group;
			in_most = count;
		}
	}
	/* Ranks that run may all be at work in one place. */
	bool waits = most && most->thread->stack != 0 && strcmp(most->thread->state, "S") == 0;
	return waits && 2 * in_most > ranks && in_most < ranks ? most : NULL;
}

/* Returns the first function of GROUP's stack that says most: of Python, else the innermost one.
 * The caller frees it. Returns NULL without memory. */
static char *place_text(const struct hk_stack_group *group)
{
	struct hk_export_function functions[HK_EXPORT_FUNCTIONS];
	struct hk_stacks_frame frame;
	uint32_t numbers[HK_GROUPS_FRAMES];
	size_t count = hk_stack_groups_frames(group->process, group->thread, numbers), shown = 0;

	for (size_t i = count; i-- > 0;) {
		bool found = hk_stacks_frame(group->process, numbers[i], &frame) &&
			     hk_stacks_is_python(&frame);
		shown = found ? i : shown;
	}
	size_t here =
	    count > 0 ? hk_stack_rows_functions(group->process, numbers[shown], functions) : 0;
	return strdup(here > 0 ? functions[0].text : "one place");
}

/* Adds that the one rank APART from those WAITING in a place has ended. Returns false if they are
 * COUNT instead, or if it runs. */
static bool left_add(const struct hk_report *report, const int32_t *apart, size_t count,
		     const char *waiting, const char *where, struct hk_findings *findings)
{
	const struct hk_report_rank *rank = NULL;
	char when[HK_QUANTITY_BYTES];

	for (size_t i = 0; count == 1 && i < report->rank_count; i++) {
		rank = report->ranks[i].rank == *apart ? &report->ranks[i] : rank;
	}
	if (!rank || !has_left(rank)) {
		return false;
	}
	hk_finding_add(findings, HK_TOPIC_PROGRESS, HK_WEIGHT_FINDING,
		       "rank %" PRId32 " ended (status 0) at %s; ranks %s wait for it in %s",
		       rank->rank, hk_quantity_time(when, (double)rank->end_ns), waiting, where);
	hk_finding_classify(findings, "early-exit", HK_CONFIDENCE_MEDIUM,
			    (double)HK_HANG_NS * (double)(report->rank_count - 1));
	hk_finding_about_rank(findings, rank->rank);
	hk_finding_advise(findings, "hookcli log --ranks %" PRId32 " | tail shows its last calls",
			  rank->rank);
	return true;
}

/* Adds the finding that the ranks outside of MOST's place are elsewhere. Returns 0 or -ENOMEM. */
static int apart_add(const struct hk_report *report, const struct hk_stack_groups *groups,
		     const struct hk_stack_group *most, bool by_python,
		     struct hk_findings *findings)
{
	char waiting[RANKS_BYTES], apart[RANKS_BYTES], where[HK_NAME_BYTES(FRAME_COLUMNS)];
	/* The ranks elsewhere from the front on, the others behind them. */
	int32_t *ranks = calloc(report->rank_count, sizeof(*ranks));
	char *place = place_text(most);
	size_t count = 0, others = 0;

	if (!ranks || !place) {
		free(ranks);
		free(place);
		return -ENOMEM;
	}
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < report->rank_count; i++) {
			int32_t rank = report->ranks[i].rank;
			const struct hk_stack_group *group = group_of(groups, rank);
			bool there = group && is_together(most, group, by_python);
			if (there == (round == 1)) {
				ranks[count + others] = rank;
				count += !there;
				others += there;
			}
		}
	}
	hk_name_print(where, FRAME_COLUMNS, place);
	hk_ranks_print(waiting, sizeof(waiting), ranks + count, others);
	hk_ranks_print(apart, sizeof(apart), ranks, count);
	if (left_add(report, ranks, count, waiting, where, findings)) {
		free(ranks);
		free(place);
		return findings->error;
	}
	hk_finding_add(findings, HK_TOPIC_PROGRESS, HK_WEIGHT_FINDING,
		       "no rank has made progress for %d s: ranks %s wait in %s, rank%s %s %s "
		       "elsewhere",
		       (int)(HK_HANG_NS / 1000000000), waiting, where, count == 1 ? "" : "s", apart,
		       count == 1 ? "is" : "are");
	hk_finding_classify(findings, "hang", HK_CONFIDENCE_MEDIUM,
			    (double)HK_HANG_NS * (double)report->rank_count);
	for (size_t i = 0; i < count; i++) {
		hk_finding_about_rank(findings, ranks[i]);
	}
	hk_finding_advise(findings, "hookcli stacks --ranks %s", apart);
	free(ranks);
	free(place);
	return findings->error;
}

/* ---- both ---- */

static int reply_take(const struct hk_job *job, const Hk__StacksReply *reply,
		      const struct hk_report *report, struct hk_findings *findings)
{
	struct hk_stack_groups groups;
	int r = hk_stack_groups_init(&groups, reply);

	if (r < 0) {
		return r;
	}
	if (!hang_of(findings)) {
		const struct hk_stack_group *most = most_of(&groups, report->rank_count, true);
		bool by_python = most != NULL;
		most = most ? most : most_of(&groups, report->rank_count, false);
		r = most ? apart_add(report, &groups, most, by_python, findings) : 0;
		hk_findings_sort(findings);
	}
	struct hk_finding *hang = hang_of(findings);
	r = r == 0 && hang ? stack_set(hang, &groups) : r;
	if (r == 0 && hang) {
		hang_keep(job, hang);
	}
	hk_stack_groups_fini(&groups);
	return r;
}

int hk_finding_stacks_add(const struct hk_job *job, const struct hk_report *report,
			  struct hk_findings *findings)
{
	static struct hk_span_ranks ranks[HK_SPAN_RANKS_MAX];
	const struct hk_finding *hang = hang_of(findings);
	Hk__Response *response;
	size_t count = 0;

	if (!job->live || !*job->url || (!hang && !stands_still(report)) ||
	    (hang && hang->rank_count == 0)) {
		return 0;
	}
	if (hang) {
		ranks[count++] = (struct hk_span_ranks){hang->ranks[0], hang->ranks[0]};
	}
	if (hk_stacks_ask(job, ranks, count, false, &response) != HK_EXIT_DONE) {
		return 0;
	}
	int r = reply_take(job, response->stacks, report, findings);
	hk__response__free_unpacked(response, NULL);
	return r;
}
