#include "report/findings/progress/cut.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/findings/progress/standing.h"
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

/* An address that ranks of one host have. Texts are compared by address: the report has each of
 * them once. */
struct end {
	const char *address, *host;
};

struct cut {
	const struct hk_report *report;
	int64_t end_ns;	  /* of the job, or when a rank was last seen */
	struct end *ends; /* of ranks that are there, by address; ambiguous ones have no host */
	size_t end_count;
	/* Connections of quiet ranks that nothing gets through. */
	const struct hk_report_connection **connections;
	size_t count;
	bool among_ranks;  /* these are all between ranks */
	bool stuck;	   /* all ranks that are there are quiet */
	uint32_t retries;  /* of the connection with the most */
	uint64_t quiet_ns; /* of the ranks that have them, the shortest time */
	double sum_ns;
	/* An end of all of them, or NULL. The other ends are several if `alone`, or else the one
	 * `other`. */
	const char *end, *other;
	bool alone;
};

/* ---- ranks and their addresses ---- */

static bool is_there(const struct cut *cut, const struct hk_report_rank *rank)
{
	return rank->running || (uint64_t)(cut->end_ns - rank->end_ns) <= QUIET_NS;
}

/* Returns for how long RANK has made almost no call. A node does not report a rank of which nothing
 * changes. */
static uint64_t quiet_of(const struct cut *cut, const struct hk_report_rank *rank)
{
	return rank->quiet_ns + (rank->running ? (uint64_t)(cut->end_ns - rank->end_ns) : 0);
}

/* Returns RANK's row if it is there, or NULL. */
static const struct hk_report_rank *row_of(const struct cut *cut, int32_t rank)
{
	size_t low = 0, high = cut->report->rank_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct hk_report_rank *row = &cut->report->ranks[middle];
		if (row->rank == rank) {
			return is_there(cut, row) ? row : NULL;
		}
		low = row->rank < rank ? middle + 1 : low;
		high = row->rank < rank ? high : middle;
	}
	return NULL;
}

static int by_address(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t)((const struct end *)a)->address;
	uintptr_t y = (uintptr_t)((const struct end *)b)->address;

	return (x > y) - (x < y);
}

/* Finds the addresses of ranks. One that ranks of several hosts have, as inside of containers, says
 * nothing. */
static void ends_find(struct cut *cut)
{
	const struct hk_report *report = cut->report;
	size_t kept = 0;

	for (size_t i = 0; i < report->address_count; i++) {
		const struct hk_report_address *address = &report->addresses[i];
		if (row_of(cut, address->rank)) {
			cut->ends[cut->end_count++] = (struct end){address->address, address->host};
		}
	}
	qsort(cut->ends, cut->end_count, sizeof(*cut->ends), by_address);
	for (size_t i = 0; i < cut->end_count; i++) {
		struct end *last = kept > 0 ? &cut->ends[kept - 1] : NULL;
		if (last && last->address == cut->ends[i].address) {
			last->host = last->host == cut->ends[i].host ? last->host : NULL;
		} else {
			cut->ends[kept++] = cut->ends[i];
		}
	}
	cut->end_count = kept;
}

/* Returns the host of the ranks that have ADDRESS, or NULL. */
static const char *host_at(const struct cut *cut, const char *address)
{
	const struct end key = {address, NULL};
	const struct end *end =
	    address ? bsearch(&key, cut->ends, cut->end_count, sizeof(*cut->ends), by_address)
		    : NULL;

	return end ? end->host : NULL;
}

/* ---- connections ---- */

static bool is_among_ranks(const struct cut *cut, const struct hk_report_connection *connection)
{
	return host_at(cut, connection->local) && host_at(cut, connection->peer);
}

/* Sets the connections that count: those of quiet ranks, and if there are such between ranks, only
 * these. */
static void connections_find(struct cut *cut)
{
	const struct hk_report *report = cut->report;
	size_t kept = 0;

	cut->quiet_ns = UINT64_MAX;
	for (size_t i = 0; i < report->connection_count; i++) {
		const struct hk_report_connection *connection = &report->connections[i];
		const struct hk_report_rank *rank = row_of(cut, connection->rank);
		if (rank && quiet_of(cut, rank) >= QUIET_NS) {
			cut->connections[cut->count++] = connection;
			cut->among_ranks |= is_among_ranks(cut, connection);
		}
	}
	for (size_t i = 0; i < cut->count; i++) {
		const struct hk_report_connection *connection = cut->connections[i];
		uint64_t quiet_ns = quiet_of(cut, row_of(cut, connection->rank));
		if (!cut->among_ranks || is_among_ranks(cut, connection)) {
			cut->connections[kept++] = connection;
			cut->quiet_ns = quiet_ns < cut->quiet_ns ? quiet_ns : cut->quiet_ns;
			cut->retries =
			    connection->retries > cut->retries ? connection->retries : cut->retries;
		}
	}
	cut->count = kept;
}

/* Returns the other end of CONNECTION, which has END at one end. NULL: END is not one of its ends.
 */
static const char *other_end(const struct hk_report_connection *connection, const char *end)
{
	return connection->local == end	 ? connection->peer
	       : connection->peer == end ? connection->local
					 : NULL;
}

/* Sets END if it is one of all connections. */
static void end_try(struct cut *cut, const char *end)
{
	const char *first = other_end(cut->connections[0], end);
	bool alone = false;

	for (size_t i = 0; i < cut->count; i++) {
		const char *other = other_end(cut->connections[i], end);
		if (!other) {
			return;
		}
		alone |= other != first;
	}
	if (!cut->end) {
		cut->end = end;
		cut->other = first;
		cut->alone = alone;
	}
}

static bool is_stuck(const struct cut *cut)
{
	bool stuck = true;

	for (size_t i = 0; i < cut->report->rank_count; i++) {
		const struct hk_report_rank *rank = &cut->report->ranks[i];
		stuck = stuck && (!is_there(cut, rank) || quiet_of(cut, rank) >= HK_HANG_NS);
	}
	return stuck;
}

/* Needs room for all rows. */
static void cut_find(struct cut *cut)
{
	const struct hk_report *report = cut->report;

	cut->end_ns = INT64_MIN;
	for (size_t i = 0; i < report->rank_count; i++) {
		const struct hk_report_rank *rank = &report->ranks[i];
		cut->end_ns = rank->end_ns > cut->end_ns ? rank->end_ns : cut->end_ns;
	}
	for (size_t i = 0; i < report->rank_count; i++) {
		cut->sum_ns += (double)quiet_of(cut, &report->ranks[i]);
	}
	ends_find(cut);
	connections_find(cut);
	if (cut->count > 0) {
		end_try(cut, cut->connections[0]->local);
		end_try(cut, cut->connections[0]->peer);
	}
	cut->stuck = is_stuck(cut);
}

/* ---- sentences ---- */

/* Whether ADDRESS is END; without END, whether it is another end of a connection than cut->end. */
static bool is_at(const struct cut *cut, const char *address, const char *end)
{
	bool found = end && address == end;

	for (size_t i = 0; !end && !found && i < cut->count; i++) {
		const struct hk_report_connection *connection = cut->connections[i];
		found = cut->end ? other_end(connection, cut->end) == address
				 : connection->local == address || connection->peer == address;
	}
	return found;
}

static int by_rank(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

/* Writes the ranks at END, as is_at() says, to RANKS, which has room for all addresses, in order.
 * Returns their number. */
static size_t ranks_at(const struct cut *cut, const char *end, int32_t *ranks)
{
	const struct hk_report *report = cut->report;
	size_t count = 0, kept = 0;

	for (size_t i = 0; i < report->address_count; i++) {
		const struct hk_report_address *address = &report->addresses[i];
		if (host_at(cut, address->address) && is_at(cut, address->address, end)) {
			ranks[count++] = address->rank;
		}
	}
	qsort(ranks, count, sizeof(*ranks), by_rank);
	for (size_t i = 0; i < count; i++) {
		if (kept == 0 || ranks[kept - 1] != ranks[i]) {
			ranks[kept++] = ranks[i];
		}
	}
	return kept;
}

/* Writes who is at END: its ranks and host, if a rank has that address; without END, the ranks at
 * the other ends. */
static void end_text(const struct cut *cut, const char *end, int32_t *ranks, char *text,
		     size_t size)
{
	const char *host = host_at(cut, end);
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
	char bytes[HK_QUANTITY_BYTES], peer[HK_NAME_BYTES(NAME_COLUMNS)];

	for (size_t i = 0; i < cut->count && i < LINES_MOST; i++) {
		const struct hk_report_connection *connection = cut->connections[i];
		hk_name_print(peer, NAME_COLUMNS, connection->peer);
		hk_finding_evidence(
		    findings,
		    "rank %" PRId32 " sent %s to %s, %" PRIu32 " times again, without an answer",
		    connection->rank, hk_quantity_bytes(bytes, connection->unanswered), peer,
		    connection->retries);
	}
}

static void advise(struct hk_findings *findings, const struct cut *cut)
{
	char host[HK_NAME_BYTES(NAME_COLUMNS)], address[HK_NAME_BYTES(NAME_COLUMNS)];
	const char *named = host_at(cut, cut->end);

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

/* Adds the ranks at the end that is cut off. The confidence is high if most other addresses have a
 * connection there that nothing gets through: an end in the middle of a star has connections to few
 * of them if those few are cut off. */
static enum hk_confidence culprits_add(struct hk_findings *findings, const struct cut *cut,
				       int32_t *ranks)
{
	size_t count = cut->alone ? ranks_at(cut, cut->end, ranks) : 0, others = 0;

	for (size_t i = 0; i < count; i++) {
		hk_finding_about_rank(findings, ranks[i]);
	}
	for (size_t i = 0; count > 0 && i < cut->end_count; i++) {
		others += is_at(cut, cut->ends[i].address, NULL);
	}
	return 2 * others > cut->end_count - 1 ? HK_CONFIDENCE_HIGH : HK_CONFIDENCE_MEDIUM;
}

static void cut_write(struct hk_findings *findings, const struct cut *cut, int32_t *ranks)
{
	char one[2 * RANKS_BYTES], rest[2 * RANKS_BYTES], age[HK_QUANTITY_BYTES];
	bool closed = cut->report->job.closed, hang = cut->among_ranks && cut->stuck;

	end_text(cut, cut->end, ranks, one, sizeof(one));
	end_text(cut, cut->alone ? NULL : cut->other, ranks, rest, sizeof(rest));
	hk_finding_add(findings, hang ? HK_TOPIC_PROGRESS : HK_TOPIC_BALANCE, HK_WEIGHT_FINDING,
		       "nothing %s through between %s%s%s; almost no call has returned for %s%s",
		       closed ? "got" : "gets", one, cut->end ? " and " : "", cut->end ? rest : "",
		       hk_quantity_time(age, (double)cut->quiet_ns),
		       closed ? " when the job ended" : "");
	evidence_add(findings, cut);
	if (hang) {
		enum hk_confidence confidence = culprits_add(findings, cut, ranks);
		hk_finding_classify(findings, "hang", confidence, cut->sum_ns);
	} else {
		hk_finding_classify(findings, "stalled-connection", HK_CONFIDENCE_LOW, 0);
	}
	advise(findings, cut);
}

bool hk_cut_add(struct hk_findings *findings, const struct hk_report *report)
{
	struct cut cut = {.report = report};
	int32_t *ranks = NULL;

	if (report->connection_count == 0) {
		return false;
	}
	cut.ends = calloc(report->address_count + 1, sizeof(*cut.ends));
	cut.connections = calloc(report->connection_count, sizeof(*cut.connections));
	ranks = calloc(report->address_count + 1, sizeof(*ranks));
	bool found = false;
	if (!cut.ends || !cut.connections || !ranks) {
		findings->error = -ENOMEM;
	} else {
		cut_find(&cut);
		found = cut.retries >= RETRIES_LEAST;
	}
	if (found) {
		cut_write(findings, &cut, ranks);
	}
	free(cut.ends);
	free(cut.connections);
	free(ranks);
	return found && cut.among_ranks && cut.stuck;
}
