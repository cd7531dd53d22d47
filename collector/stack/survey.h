/* survey.h: the stacks of all threads of a job's processes on this machine, at one moment.
 *
 * Each thread is asked by a signal, whose handler in the agent answers through the segment
 * (ring/segment.h, struct hk_ask). A thread that cannot be asked, or does not answer in time, gets
 * the reason instead; with `ptrace` its stack is read from outside (unwind.h). The caller advances
 * a survey often; no call waits. A collector makes one survey at a time. One thread.
 */
#ifndef HK_COLLECTOR_STACK_SURVEY_H
#define HK_COLLECTOR_STACK_SURVEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/wire.pb-c.h"

struct hk_collector;
struct hk_job;
struct hk_survey;

#define HK_SURVEY_STEP_NS 500000u /* between two calls of hk_survey_advance */

/* Begins with the processes of JOB that REQUEST names. The caller has checked that COLLECTOR is not
 * `surveying`. Returns NULL without memory. */
struct hk_survey *hk_survey_begin(struct hk_collector *collector, const struct hk_job *job,
				  const Hk__StacksRequest *request, uint64_t now_ns);
struct hk_survey *hk_survey_free(struct hk_survey *survey, struct hk_collector *collector);

/* Returns whether it is complete. */
bool hk_survey_advance(struct hk_survey *survey, struct hk_collector *collector, uint64_t now_ns);

/* Hands the processes over, as an array of messages, which the caller frees each. */
Hk__Process **hk_survey_take(struct hk_survey *survey, size_t *ret_count);

#endif
