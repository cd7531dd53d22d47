#include "collector/stack/survey.h"

#include <stdlib.h>
#include <utlist.h>

#include "collector/model/attachment.h"
#include "collector/model/collector.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "collector/process/process_state.h"
#include "collector/stack/subject.h"
#include "collector/stack/traced.h"

struct hk_survey {
	struct hk_subject **subjects;
	size_t count;
	bool ptrace;
	uint64_t deadline_ns; /* for answers by signal */
};

#define ASKING_NS 4000000000u

static bool is_named(const Hk__StacksRequest *request, int32_t rank)
{
	bool named = request->n_ranks == 0;

	for (size_t i = 0; i < request->n_ranks && !named; i++) {
		named = rank >= 0 && (uint32_t)rank >= request->ranks[i]->first &&
			(uint32_t)rank <= request->ranks[i]->last;
	}
	return named;
}

struct hk_survey *hk_survey_begin(struct hk_collector *collector, const struct hk_job *job,
				  const Hk__StacksRequest *request, uint64_t now_ns)
{
	struct hk_survey *survey = calloc(1, sizeof(*survey));
	struct hk_process *process;

	if (!survey) {
		return NULL;
	}
	survey->ptrace = request->ptrace;
	survey->deadline_ns = now_ns + ASKING_NS;
	survey->subjects = calloc(job->process_count + 1, sizeof(*survey->subjects));
	DL_FOREACH (job->processes, process) {
		bool wanted = survey->subjects && survey->count < job->process_count &&
			      process->segment && !process->exited &&
			      is_named(request, process->state->rank);
		if (wanted && hk_state_refresh(collector, process, false) == 0) {
			struct hk_subject *subject = hk_subject_new(process);
			survey->subjects[survey->count] = subject;
			survey->count += subject != NULL;
		}
	}
	collector->surveying = true;
	return survey->subjects ? survey : hk_survey_free(survey, collector);
}

struct hk_survey *hk_survey_free(struct hk_survey *survey, struct hk_collector *collector)
{
	if (!survey) {
		return NULL;
	}
	collector->surveying = false;
	for (size_t i = 0; i < survey->count; i++) {
		hk_subject_free(survey->subjects[i]);
	}
	hk_traced_reap();
	free(survey->subjects);
	free(survey);
	return NULL;
}

bool hk_survey_advance(struct hk_survey *survey, struct hk_collector *collector, uint64_t now_ns)
{
	bool complete = true;

	for (size_t i = 0; i < survey->count; i++) {
		const struct hk_subject_limits limits = {now_ns, survey->deadline_ns,
							 survey->ptrace};
		complete &= hk_subject_advance(survey->subjects[i], collector, &limits);
	}
	return complete;
}

Hk__Process **hk_survey_take(struct hk_survey *survey, size_t *ret_count)
{
	Hk__Process **processes = calloc(survey->count + 1, sizeof(Hk__Process *));

	*ret_count = 0;
	for (size_t i = 0; processes && i < survey->count; i++) {
		processes[(*ret_count)++] = hk_subject_take(survey->subjects[i]);
	}
	return processes;
}
