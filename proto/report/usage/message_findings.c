#include "report/usage/message_findings.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/finding/share.h"
#include "report/finding/stack_advice.h"
#include "text/mpi_name.h"
#include "text/name.h"
#include "text/quantity.h"

#define NAME_COLUMNS 48
/* Messages are small and many up to this size, from this rate of a rank on, if passing them takes
 * this share of the ranks' time. */
#define SMALL_BYTES 1024.0
#define SMALL_RATE 5000.0 /* a second */
#define SMALL_SHARE 0.02
#define FUNCTIONS_NAMED 3u

/* What a call does with messages between two ranks. */
enum part {
	NOTHING,
	SENDS,
	RECEIVES,
	EXCHANGES, /* sends one and receives one */
	COMPLETES, /* waits for some, or asks for them */
};

static const struct {
	const char *name; /* without "MPI_" */
	enum part part;
} calls[] = {
    {"send", SENDS},	     {"bsend", SENDS},
    {"ssend", SENDS},	     {"rsend", SENDS},
    {"isend", SENDS},	     {"ibsend", SENDS},
    {"issend", SENDS},	     {"irsend", SENDS},
    {"recv", RECEIVES},	     {"irecv", RECEIVES},
    {"mrecv", RECEIVES},     {"imrecv", RECEIVES},
    {"sendrecv", EXCHANGES}, {"sendrecv_replace", EXCHANGES},
    {"wait", COMPLETES},     {"waitall", COMPLETES},
    {"waitany", COMPLETES},  {"waitsome", COMPLETES},
    {"test", COMPLETES},     {"testall", COMPLETES},
    {"testany", COMPLETES},  {"testsome", COMPLETES},
    {"probe", COMPLETES},    {"iprobe", COMPLETES},
    {"mprobe", COMPLETES},   {"improbe", COMPLETES},
};

static enum part part_of(const char *function)
{
	char name[HK_MPI_NAME_BYTES];

	if (!hk_mpi_name(function, name)) {
		return NOTHING;
	}
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (strcmp(name, calls[i].name) == 0) {
			return calls[i].part;
		}
	}
	return NOTHING;
}

bool hk_is_message_call(const char *function)
{
	return part_of(function) != NOTHING;
}

static bool sends(enum part part)
{
	return part == SENDS || part == EXCHANGES;
}

/* Whether the calls of NUMBERS, which send, have small messages on average. */
static bool is_small(const struct hk_report_numbers *numbers)
{
	return numbers->have_bytes &&
	       (double)numbers->bytes <= SMALL_BYTES * (double)numbers->calls;
}

/* The messages of a job, and what passing the small ones takes. */
struct traffic {
	const struct hk_report *report;
	const struct hk_groups *groups;
	double small_sends, small_bytes, sends; /* over all ranks */
	double messages;			/* small ones, of the larger side of each rank */
	double time_ns;
};

static bool is_mpi_of_main(const char *domain, const char *role)
{
	return strcmp(domain, "mpi") == 0 && strcmp(role, "main") == 0;
}

static void sends_count(struct traffic *traffic)
{
	for (size_t i = 0; i < traffic->groups->count; i++) {
		const struct hk_group *group = &traffic->groups->groups[i];
		const struct hk_report_numbers *numbers = &group->numbers;
		if (!is_mpi_of_main(group->domain, group->role) ||
		    !sends(part_of(group->function))) {
			continue;
		}
		traffic->sends += (double)numbers->calls;
		if (is_small(numbers)) {
			traffic->small_sends += (double)numbers->calls;
			traffic->small_bytes += (double)numbers->bytes;
		}
	}
}

/* Returns the part of the time in GROUP's function that is for small messages. A receive has no
 * size: as many are small as of the messages that are sent. */
static double small_part(const struct traffic *traffic, const struct hk_group *group)
{
	enum part part = part_of(group->function);

	if (!is_mpi_of_main(group->domain, group->role) || part == NOTHING ||
	    !group->numbers.have_total) {
		return 0;
	}
	if (sends(part)) {
		return is_small(&group->numbers) ? 1 : 0;
	}
	return traffic->small_sends / traffic->sends;
}

/* Counts the messages of each rank by those that it sends or those that it receives, whichever are
 * more: a message has both sides, and a rank may have one of them only. A request is counted by the
 * call that makes it, and not again by the call that completes it. */
static void messages_count(struct traffic *traffic)
{
	const struct hk_report *report = traffic->report;
	double sent = 0, received = 0;

	for (size_t i = 0; i < report->call_count; i++) {
		const struct hk_report_call *call = &report->calls[i];
		enum part part =
		    is_mpi_of_main(call->domain, call->role) ? part_of(call->function) : NOTHING;
		sent += sends(part) ? (double)call->numbers.calls : 0;
		received += part == RECEIVES || part == EXCHANGES ? (double)call->numbers.calls : 0;
		if (i + 1 == report->call_count || report->calls[i + 1].rank != call->rank) {
			traffic->messages += fmax(sent, received);
			sent = received = 0;
		}
	}
	traffic->messages *= traffic->small_sends / traffic->sends;
}

/* Returns the group behind BEFORE (NULL: the first one) in the order of the time that small
 * messages take, longest first, or NULL. */
static const struct hk_group *next_longest(const struct traffic *traffic,
					   const struct hk_group *before)
{
	const struct hk_group *next = NULL;
	double longest_ns = 0;
	double most_ns = before ? small_part(traffic, before) * (double)before->numbers.total_ns
				: (double)INFINITY;

	for (size_t i = 0; i < traffic->groups->count; i++) {
		const struct hk_group *group = &traffic->groups->groups[i];
		double time_ns = small_part(traffic, group) * (double)group->numbers.total_ns;
		if (time_ns < most_ns && time_ns > longest_ns) {
			next = group;
			longest_ns = time_ns;
		}
	}
	return next;
}

static void evidence_add(const struct traffic *traffic, struct hk_findings *findings)
{
	const struct hk_group *group = NULL;
	char name[HK_NAME_BYTES(NAME_COLUMNS)], all[HK_QUANTITY_BYTES], each[HK_QUANTITY_BYTES];

	for (unsigned i = 0; i < FUNCTIONS_NAMED; i++) {
		group = next_longest(traffic, group);
		if (!group) {
			return;
		}
		double time_ns = (double)group->numbers.total_ns;
		hk_name_print(name, NAME_COLUMNS, group->function);
		hk_finding_evidence(findings, "%s: %" PRIu64 " calls, %s in all, %s each", name,
				    group->numbers.calls, hk_quantity_time(all, time_ns),
				    hk_quantity_time(each, time_ns / (double)group->numbers.calls));
	}
}

static void finding_add(const struct traffic *traffic, struct hk_findings *findings)
{
	const struct hk_group *longest = next_longest(traffic, NULL);
	double wall_ns = hk_report_wall_ns(traffic->report);
	char name[HK_NAME_BYTES(NAME_COLUMNS)], size[HK_QUANTITY_BYTES], rate[HK_QUANTITY_BYTES];

	hk_name_print(name, NAME_COLUMNS, longest->function);
	hk_finding_add(
	    findings, HK_TOPIC_TIME, HK_WEIGHT_FINDING,
	    "each rank passes %s messages of %s a second: %.1f %% of the ranks' time, most in %s",
	    hk_quantity_count(rate, traffic->messages / (wall_ns / 1e9)),
	    hk_quantity_bytes(size, (uint64_t)(traffic->small_bytes / traffic->small_sends)),
	    100 * traffic->time_ns / wall_ns, name);
	hk_finding_classify(findings, "small-messages", HK_CONFIDENCE_HIGH, traffic->time_ns);
	hk_finding_about_function(findings, longest->function);
	evidence_add(traffic, findings);
	hk_finding_advise_stack(findings, traffic->report, "send several values in one message; ",
				longest->function);
}

void hk_findings_add_messages(const struct hk_report *report, const struct hk_groups *groups,
			      struct hk_findings *findings)
{
	struct traffic traffic = {.report = report, .groups = groups};
	double wall_ns = hk_report_wall_ns(report);

	sends_count(&traffic);
	if (traffic.small_sends == 0 || wall_ns <= 0) {
		return;
	}
	messages_count(&traffic);
	for (size_t i = 0; i < groups->count; i++) {
		const struct hk_group *group = &groups->groups[i];
		traffic.time_ns += small_part(&traffic, group) * (double)group->numbers.total_ns;
	}
	if (traffic.time_ns > 0 && traffic.time_ns >= SMALL_SHARE * wall_ns &&
	    traffic.messages >= SMALL_RATE * wall_ns / 1e9) {
		finding_add(&traffic, findings);
	}
}
