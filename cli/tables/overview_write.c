#include <math.h>

#include "cli/tables/overview.h"

#define THOUSANDTHS 1000

static uint64_t thousandths(double share)
{
	return (uint64_t)llround(share * THOUSANDTHS);
}

static bool has_domain(const struct hk_overview *overview, const struct hk_overview_rank *rank,
		       size_t domain)
{
	for (size_t i = 0; i < overview->bins; i++) {
		if (rank->bins[i].busy_ns[domain] > 0) {
			return true;
		}
	}
	return false;
}

static void write_busy(const struct hk_overview *overview, const struct hk_overview_rank *rank,
		       struct hk_json *json)
{
	hk_json_open(json, "busy", '{');
	for (size_t domain = 0; domain < overview->domain_count; domain++) {
		if (!has_domain(overview, rank, domain)) {
			continue;
		}
		hk_json_open(json, overview->domains[domain], '[');
		for (size_t i = 0; i < overview->bins; i++) {
			hk_json_uint(json, NULL,
				     thousandths((double)rank->bins[i].busy_ns[domain] /
						 (double)overview->width_ns));
		}
		hk_json_close(json, ']');
	}
	hk_json_close(json, '}');
}

/* Writes [BIN, VALUE], and before the first one the beginning of the list. */
static void write_pair(const char *key, size_t bin, uint64_t value, bool *begun,
		       struct hk_json *json)
{
	if (!*begun) {
		hk_json_open(json, key, '[');
		*begun = true;
	}
	hk_json_open(json, NULL, '[');
	hk_json_uint(json, NULL, bin);
	hk_json_uint(json, NULL, value);
	hk_json_close(json, ']');
}

static void write_missing(const struct hk_overview *overview, const struct hk_overview_rank *rank,
			  struct hk_json *json)
{
	bool lost = false, unknown = false;

	for (size_t i = 0; i < overview->bins; i++) {
		if (rank->bins[i].lost > 0) {
			write_pair("lost", i, rank->bins[i].lost, &lost, json);
		}
	}
	if (lost) {
		hk_json_close(json, ']');
	}
	for (size_t i = 0; i < overview->bins; i++) {
		uint64_t share = thousandths(rank->bins[i].unknown);
		if (share > 0) {
			write_pair("unknown", i, share, &unknown, json);
		}
	}
	if (unknown) {
		hk_json_close(json, ']');
	}
}

static void write_rank(const struct hk_overview *overview, const struct hk_overview_rank *rank,
		       struct hk_json *json)
{
	hk_json_newline(json);
	hk_json_open(json, NULL, '{');
	hk_json_int(json, "rank", rank->rank);
	hk_json_int(json, "start_ns", rank->start_ns);
	hk_json_int(json, "end_ns", rank->end_ns);
	hk_json_bool(json, "seen", rank->seen);
	if (rank->bins) {
		hk_json_open(json, "calls", '[');
		for (size_t i = 0; i < overview->bins; i++) {
			hk_json_uint(json, NULL, rank->bins[i].calls);
		}
		hk_json_close(json, ']');
		write_busy(overview, rank, json);
		write_missing(overview, rank, json);
	}
	hk_json_close(json, '}');
}

void hk_overview_write(const struct hk_overview *overview, const char *key, struct hk_json *json)
{
	hk_json_open(json, key, '{');
	hk_json_int(json, "start_ns", overview->start_ns);
	hk_json_uint(json, "width_ns", overview->width_ns);
	hk_json_uint(json, "bins", overview->bins);
	hk_json_bool(json, "complete", overview->complete);
	hk_json_uint(json, "records", overview->records);
	hk_json_uint(json, "records_there", overview->records_there);
	hk_json_uint(json, "records_missing", overview->records_missing);
	hk_json_uint(json, "damaged", overview->damaged);
	hk_json_open(json, "domains", '[');
	for (size_t i = 0; i < overview->domain_count; i++) {
		hk_json_string(json, NULL, overview->domains[i]);
	}
	hk_json_close(json, ']');
	hk_json_open(json, "ranks", '[');
	for (size_t i = 0; i < overview->rank_count; i++) {
		write_rank(overview, &overview->ranks[i], json);
	}
	hk_json_close(json, ']');
	hk_json_close(json, '}');
}
