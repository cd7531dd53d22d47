/* subject.h: one process of a survey: its threads are asked, and their stacks put together. One
 * thread. */
#ifndef HK_COLLECTOR_STACK_SUBJECT_H
#define HK_COLLECTOR_STACK_SUBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/wire.pb-c.h"

struct hk_collector;
struct hk_process;
struct hk_subject;

struct hk_subject_limits {
	uint64_t now_ns;
	uint64_t deadline_ns; /* for answers by signal */
	bool ptrace;	      /* read the stacks of the other threads from outside */
};

/* For PROCESS, which has a segment and is up to date. Returns NULL without memory. */
struct hk_subject *hk_subject_new(const struct hk_process *process);
struct hk_subject *hk_subject_free(struct hk_subject *subject);

/* Takes answers and asks further threads. Returns whether the process is done. */
bool hk_subject_advance(struct hk_subject *subject, struct hk_collector *collector,
			const struct hk_subject_limits *limits);

/* Hands over the message of the process, once. */
Hk__Process *hk_subject_take(struct hk_subject *subject);

#endif
