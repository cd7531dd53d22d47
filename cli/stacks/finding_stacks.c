#include "cli/stacks/finding_stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/stacks/groups.h"
#include "cli/stacks/stacks_ask.h"
#include "cli/tables/stack_rows.h"
#include "report/findings/hang.h"
#include "report/findings/standing.h"
#include "text/name.h"
#include "text/ranks.h"

#define FRAMES_SHOWN 16u
#define FRAME_COLUMNS 100
#define RANKS_BYTES 96
#define RANKS_COMPARED 4096u
#define BUSY_MOST                                                                       \
	0.0005 /* share of the time in calls; threads look now and then whether to work \
		*/

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

/* Returns a hang without a stack, or NULL. */
static struct hk_finding *hang_of(struct hk_findings *findings)
{
	for (size_t i = 0; i < findings->count; i++) {
		struct hk_finding *finding = &findings->list[i];
		if (finding->topic == HK_TOPIC_PROGRESS && !finding->stack &&
		    strcmp(finding->kind, "death") != 0) {
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
		finding->stack = stack_text(group);
		return finding->stack ? 0 : -ENOMEM;
	}
	return 0;
}

/* ---- a hang without open calls ---- */

/* Whether most ranks, all of which run, have been in no call but waits for HK_HANG_NS. */
static bool stands_still(const struct hk_report *report)
{
	size_t still = 0;

	if (report->rank_count > RANKS_COMPARED) {
		return false;
	}
	for (size_t i = 0; i < report->rank_count; i++) {
		const struct hk_report_rank *rank = &report->ranks[i];
		bool long_enough =
		    (double)rank->end_ns - (double)rank->start_ns > (double)HK_HANG_NS;
		if (!rank->running || !long_enough) {
			return false;
		}
		still += hk_busy_lately(report, rank, (double)HK_HANG_NS) < BUSY_MOST;
	}
	return 2 * still > report->rank_count;
}

/* Returns the largest group of first threads if most ranks are in it and sleep there, or NULL. */
static const struct hk_stack_group *most_of(const struct hk_stack_groups *groups, size_t ranks)
{
	const struct hk_stack_group *most = NULL;

	for (size_t i = 0; i < groups->count; i++) {
		const struct hk_stack_group *group = &groups->groups[i];
		if (group->is_main && (!most || group->rank_count > most->rank_count)) {
			most = group;
		}
	}
	/* Ranks that run may all be at work in one place. */
	bool waits = most && most->thread->stack != 0 && strcmp(most->thread->state, "S") == 0;
	return waits && 2 * most->rank_count > ranks && most->rank_count < ranks ? most : NULL;
}

/* Adds the finding that the ranks outside of MOST are elsewhere. Returns 0 or -ENOMEM. */
static int apart_add(const struct hk_report *report, const struct hk_stack_groups *groups,
		     const struct hk_stack_group *most, struct hk_findings *findings)
{
	char waiting[RANKS_BYTES], apart[RANKS_BYTES], where[HK_NAME_BYTES(FRAME_COLUMNS)];
	int32_t *ranks = calloc(report->rank_count, sizeof(*ranks));
	char *place = stack_text(most);
	size_t count = 0;

	if (!ranks || !place) {
		free(ranks);
		free(place);
		return -ENOMEM;
	}
	for (size_t i = 0; i < report->rank_count; i++) {
		if (group_of(groups, report->ranks[i].rank) != most) {
			ranks[count++] = report->ranks[i].rank;
		}
	}
	place[strcspn(place, "\n")] = '\0';
	hk_name_print(where, FRAME_COLUMNS, place);
	hk_ranks_print(waiting, sizeof(waiting), most->ranks, most->rank_count);
	hk_ranks_print(apart, sizeof(apart), ranks, count);
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

static int reply_take(const Hk__StacksReply *reply, const struct hk_report *report,
		      struct hk_findings *findings)
{
	struct hk_stack_groups groups;
	int r = hk_stack_groups_init(&groups, reply);

	if (r < 0) {
		return r;
	}
	if (!hang_of(findings)) {
		const struct hk_stack_group *most = most_of(&groups, report->rank_count);
		r = most ? apart_add(report, &groups, most, findings) : 0;
		hk_findings_sort(findings);
	}
	struct hk_finding *hang = hang_of(findings);
	r = r == 0 && hang ? stack_set(hang, &groups) : r;
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
	int r = reply_take(response->stacks, report, findings);
	hk__response__free_unpacked(response, NULL);
	return r;
}
