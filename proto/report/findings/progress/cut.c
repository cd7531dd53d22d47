#include "report/findings/progress/cut.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "text/name.h"
#include "text/quantity.h"
#include "text/ranks.h"

#define QUIET_NS \
	UINT64_C(5000000000) /* least time for which ranks are quiet whose connections count */
#define RETRIES_LEAST \
	4u /* of one of them at least: over 3 s, with Linux's first interval of 0.2 s */
#define LINES_MOST 4u
#define NAME_COLUMNS 48
#define RANKS_BYTES 96

/* Connections of quiet ranks that nothing gets through. Texts are compared by address: the report
 * has each of them once. */
struct cut {
	const struct hk_report *report;
	size_t connections;
	bool among_ranks;  /* those between ranks count only */
	uint32_t retries;  /* of the connection with the most */
	uint64_t quiet_ns; /* of the ranks that have them, the shortest time */
	double sum_ns;
	/* An end of all of them. The other ends are several if `alone`, or else the one `other`. */
	const char *end, *other;
	bool alone;
};

static uint64_t quiet_of(const struct hk_report *report, int32_t rank)
{
	for (size_t i = 0; i < report->rank_count; i++) {
		if (report->ranks[i].rank == rank) {
			return report->ranks[i].quiet_ns;
		}
	}
	return 0;
}

static const char *host_at(const struct hk_report *report, const char *end)
{
	for (size_t i = 0; i < report->address_count; i++) {
		if (report->addresses[i].address == end) {
			return report->addresses[i].host;
		}
	}
	return NULL;
}

static bool is_among_ranks(const struct hk_report *report,
			   const struct hk_report_connection *connection)
{
	return host_at(report, connection->local) && host_at(report, connection->peer);
}

static bool counts(const struct cut *cut, const struct hk_report_connection *connection)
{
	return quiet_of(cut->report, connection->rank) >= QUIET_NS &&
	       (!cut->among_ranks || is_among_ranks(cut->report, connection));
}

/* Returns the end of CONNECTION that is not END, or NULL if END is none of its ends. */
static const char *other_end(const struct hk_report_connection *connection, const char *end)
{
	return connection->local == end	 ? connection->peer
	       : connection->peer == end ? connection->local
					 : NULL;
}

/* Returns of how many connections END is an end. *RET_OTHER is one of their other ends, *RET_ALONE
 * whether there are several. */
static size_t ends_count(const struct cut *cut, const char *end, const char **ret_other,
			 bool *ret_alone)
{
	const struct hk_report *report = cut->report;
	size_t count = 0;

	*ret_other = NULL;
	*ret_alone = false;
	for (size_t i = 0; i < report->connection_count; i++) {
		const struct hk_report_connection *connection = &report->connections[i];
		const char *other = counts(cut, connection) ? other_end(connection, end) : NULL;
		*ret_alone = *ret_alone || (other && *ret_other && other != *ret_other);
		*ret_other = other ? other : *ret_other;
		count += other != NULL;
	}
	return count;
}

/* Sets the end that all connections have; of two such ends the first. */
static void end_find(struct cut *cut)
{
	const struct hk_report *report = cut->report;

	for (size_t i = 0; i < report->connection_count && !cut->end; i++) {
		const struct hk_report_connection *connection = &report->connections[i];
		const char *ends[] = {connection->local, connection->peer}, *other;
		bool alone;
		for (size_t k = 0; k < 2 && counts(cut, connection) && !cut->end; k++) {
			if (ends_count(cut, ends[k], &other, &alone) == cut->connections) {
				cut->end = ends[k];
				cut->other = other;
				cut->alone = alone;
			}
		}
	}
}

static void cut_find(struct cut *cut)
{
	const struct hk_report *report = cut->report;

	for (size_t i = 0; i < report->connection_count && !cut->among_ranks; i++) {
		cut->among_ranks = counts(cut, &report->connections[i]) &&
				   is_among_ranks(report, &report->connections[i]);
	}
	cut->quiet_ns = UINT64_MAX;
	for (size_t i = 0; i < report->connection_count; i++) {
		uint32_t retries = report->connections[i].retries;
		uint64_t quiet_ns = quiet_of(report, report->connections[i].rank);
		if (counts(cut, &report->connections[i])) {
			cut->connections++;
			cut->retries = retries > cut->retries ? retries : cut->retries;
			cut->quiet_ns = quiet_ns < cut->quiet_ns ? quiet_ns : cut->quiet_ns;
		}
	}
	for (size_t i = 0; i < report->rank_count; i++) {
		cut->sum_ns += (double)report->ranks[i].quiet_ns;
	}
	end_find(cut);
}

/* ---- sentences ---- */

/* Whether the rank of ADDRESS has its end of a connection at END; without END, at one of the other
 * ends of connections to cut->end. */
static bool is_at(const struct cut *cut, const struct hk_report_address *address, const char *end)
{
	const struct hk_report *report = cut->report;

	if (end) {
		return address->address == end;
	}
	for (size_t i = 0; i < report->connection_count; i++) {
		const struct hk_report_connection *connection = &report->connections[i];
		if (counts(cut, connection) &&
		    (cut->end ? other_end(connection, cut->end) == address->address
			      : connection->local == address->address ||
				    connection->peer == address->address)) {
			return true;
		}
	}
	return false;
}

/* Writes the ranks at END, as is_at() says, to RANKS, which has room for all of the report, in
 * order. Returns their number. */
static size_t ranks_at(const struct cut *cut, const char *end, int32_t *ranks)
{
	const struct hk_report *report = cut->report;
	size_t count = 0;

	for (size_t i = 0; i < report->rank_count; i++) {
		bool there = false;
		for (size_t k = 0; k < report->address_count && !there; k++) {
			const struct hk_report_address *address = &report->addresses[k];
			there = address->rank == report->ranks[i].rank && is_at(cut, address, end);
		}
		if (there) {
			ranks[count++] = report->ranks[i].rank;
		}
	}
	return count;
}

/* Writes who is at END: its ranks and host, if a rank has that address; without END, the ranks at
 * the other ends. */
static void end_text(const struct cut *cut, const char *end, int32_t *ranks, char *text,
		     size_t size)
{
	const char *host = end ? host_at(cut->report, end) : NULL;
	char list[RANKS_BYTES], name[HK_NAME_BYTES(NAME_COLUMNS)], on[2 * sizeof(name) + 16] = "";
	char address[HK_NAME_BYTES(NAME_COLUMNS)] = "";
	size_t count = ranks_at(cut, end, ranks);

	hk_name_print(address, NAME_COLUMNS, end ? end : "");
	if (count == 0) {
		snprintf(text, size, "%s", end ? address : "other hosts");
		return;
	}
	if (host) {
		hk_name_print(name, NAME_COLUMNS, host);
		snprintf(on, sizeof(on), " on %s (%s)", name, address);
	}
	hk_ranks_print(list, sizeof(list), ranks, count);
	snprintf(text, size, "rank%s %s%s", count == 1 ? "" : "s", list, on);
}

static void evidence_add(struct hk_findings *findings, const struct cut *cut)
{
	const struct hk_report *report = cut->report;
	char bytes[HK_QUANTITY_BYTES], peer[HK_NAME_BYTES(NAME_COLUMNS)];
	size_t lines = 0;

	for (size_t i = 0; i < report->connection_count && lines < LINES_MOST; i++) {
		const struct hk_report_connection *connection = &report->connections[i];
		if (counts(cut, connection)) {
			lines++;
			hk_name_print(peer, NAME_COLUMNS, connection->peer);
			hk_finding_evidence(
			    findings,
			    "rank %" PRId32 " sent %s to %s, %" PRIu32
			    " times again, without an answer",
			    connection->rank,
			    hk_quantity_bytes(bytes, (double)connection->unanswered), peer,
			    connection->retries);
		}
	}
}

static void advise(struct hk_findings *findings, const struct cut *cut)
{
	char host[HK_NAME_BYTES(NAME_COLUMNS)], address[HK_NAME_BYTES(NAME_COLUMNS)];
	const char *named = cut->end ? host_at(cut->report, cut->end) : NULL;

	hk_name_print(address, NAME_COLUMNS, cut->end ? cut->end : "");
	hk_name_print(host, NAME_COLUMNS, named ? named : address);
	if (cut->alone) {
		hk_finding_advise(findings,
				  "check the network of %s (cable, switch, firewall): from another "
				  "host, ping -c 3 %s",
				  host, address);
	} else {
		hk_finding_advise(findings, "check the network between these hosts (cable, switch, "
					    "firewall): ping each from the other");
	}
}

bool hk_cut_add(struct hk_findings *findings, const struct hk_report *report)
{
	struct cut cut = {.report = report};
	char one[2 * RANKS_BYTES], rest[2 * RANKS_BYTES], age[HK_QUANTITY_BYTES];
	const bool closed = report->job.closed;

	cut_find(&cut);
	if (cut.retries < RETRIES_LEAST) {
		return false;
	}
	int32_t *ranks = calloc(report->rank_count, sizeof(*ranks));
	if (!ranks) {
		findings->error = -ENOMEM;
		return false;
	}
	const char *other = cut.alone ? NULL : cut.other;
	end_text(&cut, cut.end, ranks, one, sizeof(one));
	end_text(&cut, other, ranks, rest, sizeof(rest));
	hk_finding_add(
	    findings, cut.among_ranks ? HK_TOPIC_PROGRESS : HK_TOPIC_BALANCE, HK_WEIGHT_FINDING,
	    "nothing %s through between %s%s%s; almost no call has returned for %s%s",
	    closed ? "got" : "gets", one, cut.end ? " and " : "", cut.end ? rest : "",
	    hk_quantity_time(age, (double)cut.quiet_ns), closed ? " when the job ended" : "");
	size_t count = cut.alone && cut.among_ranks ? ranks_at(&cut, cut.end, ranks) : 0;
	for (size_t i = 0; i < count; i++) {
		hk_finding_about_rank(findings, ranks[i]);
	}
	evidence_add(findings, &cut);
	hk_finding_classify(findings, cut.among_ranks ? "hang" : "stalled-connection",
			    count > 0	      ? HK_CONFIDENCE_HIGH
			    : cut.among_ranks ? HK_CONFIDENCE_MEDIUM
					      : HK_CONFIDENCE_LOW,
			    cut.sum_ns);
	advise(findings, &cut);
	free(ranks);
	return cut.among_ranks;
}
