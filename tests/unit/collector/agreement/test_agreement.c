/* Digests of simulated ranks, through records, rows and changes, compared at any moment: what is
 * found first is what a search over everything that arrived finds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/agreement/compare.h"
#include "collector/agreement/rows.h"
#include "hooks/hook.h"
#include "wire/change.h"

#define RANKS 5
#define STEPS 40
#define TENSORS 7
#define RUNS 300
#define GROUP "parameters"

static uint64_t seed;

static uint64_t draw(uint64_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % below;
}

/* One rank: its process on the leaf, and what the root has of it. */
struct rank {
	struct hk_rows *rows;
	Hk__Process *leaf, *root;
	uint32_t sites;	   /* that the process has so far */
	const char *group; /* of all of them */
};

static int define_site(void *context, uint32_t id, struct hk_chunk_site *ret_site)
{
	static char name[16];
	const struct rank *rank = context;

	if (id >= rank->sites) {
		return -1;
	}
	snprintf(name, sizeof(name), "t%u", (unsigned)id);
	*ret_site = (struct hk_chunk_site){
	    .id = id,
	    .meaning = HK_MEANING_MARK,
	    .key_count = id == TENSORS ? 3 : 2,
	    .keys = {HK_KEY_STEP, id == TENSORS ? HK_KEY_COUNT : HK_KEY_DIGEST, HK_KEY_EPOCH},
	    .function = name,
	    .library = rank->group,
	    .domain = HK_AGREEMENT_DOMAIN,
	};
	return 0;
}

static void note(struct rank *rank, uint32_t site, uint64_t a, uint64_t b, uint64_t c)
{
	const struct hk_chunk_thread thread = {.uid = 1};
	const uint64_t words[] = {a, b, c};
	const struct hk_record record = {
	    .words = words,
	    .thread = &thread,
	    .site = site,
	    .kind = HK_CHUNK_KIND_CALL,
	    .word_count = site == TENSORS ? 3 : 2,
	};

	assert_int_equal(hk_rows_add(rank->rows, &record), 0);
}

static Hk__Process *new_process(int32_t number)
{
	uint8_t uid[16] = {(uint8_t)number};
	Hk__Process with = HK__PROCESS__INIT, *process;

	with.uid = (ProtobufCBinaryData){sizeof(uid), uid};
	assert_int_equal(hk_change_begin(&with, &process), 0);
	process->rank = number;
	process->role = HK__ROLE__ROLE_MAIN;
	process->sites = calloc(TENSORS, sizeof(*process->sites));
	for (uint32_t i = 0; i < TENSORS; i++) {
		Hk__Site *site = malloc(sizeof(*site));
		char name[16];
		hk__site__init(site);
		site->id = i;
		snprintf(name, sizeof(name), "t%u", (unsigned)i);
		site->function = strdup(name);
		process->sites[process->n_sites++] = site;
	}
	return process;
}

static void rank_init(struct rank *rank, int32_t number, const char *group)
{
	*rank = (struct rank){.leaf = new_process(number), .sites = TENSORS + 1, .group = group};
	const struct hk_rows_options options = {define_site, rank, rank->leaf};
	rank->rows = hk_rows_new(&options);
	assert_true(hk_rows_wanted(rank->rows));
	assert_int_equal(hk_change_begin(rank->leaf, &rank->root), 0);
}

static void rank_fini(struct rank *rank)
{
	hk_rows_free(rank->rows);
	hk__process__free_unpacked(rank->leaf, NULL);
	hk__process__free_unpacked(rank->root, NULL);
}

/* The leaf reports what has changed since its last report. */
static void report(struct rank *rank)
{
	Hk__Process *change;
	int r = hk_change_make(rank->leaf, rank->root, &change);

	assert_true(r >= 0);
	if (r > 0) {
		assert_int_equal(hk_change_apply(rank->root, change), 0);
		hk__process__free_unpacked(change, NULL);
	}
}

static int compare(Hk__Job *job, const struct rank *ranks, bool ended)
{
	Hk__Process *list[RANKS];

	for (size_t i = 0; i < RANKS; i++) {
		list[i] = ranks[i].root;
	}
	return hk_agreement_compare(job, list, RANKS, ended);
}

static void job_init(Hk__Job *job)
{
	hk__job__init(job);
	job->world_size = RANKS;
}

static void job_fini(Hk__Job *job)
{
	for (size_t i = 0; i < job->n_agreements; i++) {
		hk__agreement__free_unpacked(job->agreements[i], NULL);
	}
	free(job->agreements);
}

/* ---- what happens in a run ---- */

struct truth {
	uint64_t digests[RANKS][STEPS][TENSORS];
	bool arrived[RANKS][STEPS];
};

static void truth_init(struct truth *truth, unsigned faults)
{
	memset(truth, 0, sizeof(*truth));
	for (size_t s = 0; s < STEPS; s++) {
		for (size_t t = 0; t < TENSORS; t++) {
			uint64_t digest = draw(UINT64_MAX);
			for (size_t r = 0; r < RANKS; r++) {
				truth->digests[r][s][t] = digest;
			}
		}
	}
	while (faults-- > 0) {
		truth->digests[draw(RANKS)][draw(STEPS)][draw(TENSORS)]++;
	}
}

/* RANK takes its step S; with LOSS a record of it may be lost. */
static void take_step(struct rank *rank, struct truth *truth, size_t number, size_t s, bool loss)
{
	uint32_t lost = loss && draw(10) == 0 ? (uint32_t)draw(TENSORS + 1) : UINT32_MAX;

	for (uint32_t t = 0; t < TENSORS; t++) {
		if (t != lost) {
			note(rank, t, s * 10, truth->digests[number][s][t], 0);
		}
	}
	if (lost != TENSORS) {
		note(rank, TENSORS, s * 10, TENSORS, 0);
	}
	truth->arrived[number][s] = lost == UINT32_MAX;
}

static bool find_first(const struct truth *truth, size_t *ret_step, size_t *ret_tensor)
{
	for (size_t s = 0; s < STEPS; s++) {
		for (size_t t = 0; t < TENSORS; t++) {
			bool any = false;
			uint64_t digest = 0;
			for (size_t r = 0; r < RANKS; r++) {
				uint64_t own = truth->digests[r][s][t];
				if (truth->arrived[r][s] && any && own != digest) {
					*ret_step = s;
					*ret_tensor = t;
					return true;
				}
				digest = truth->arrived[r][s] ? own : digest;
				any |= truth->arrived[r][s];
			}
		}
	}
	return false;
}

static size_t count_complete(const struct truth *truth)
{
	size_t count = 0;

	for (size_t s = 0; s < STEPS; s++) {
		bool all = true;
		for (size_t r = 0; r < RANKS; r++) {
			all &= truth->arrived[r][s];
		}
		count += all;
	}
	return count;
}

static void check(const Hk__Job *job, const struct truth *truth)
{
	const Hk__Agreement *found = job->agreements[0];
	char name[16];
	size_t step, tensor;

	assert_int_equal(job->n_agreements, 1);
	assert_int_equal(found->expected, RANKS);
	assert_int_equal(found->compared, count_complete(truth));
	if (!find_first(truth, &step, &tensor)) {
		assert_null(found->first);
		return;
	}
	const Hk__Divergence *first = found->first;
	assert_non_null(first);
	assert_int_equal(first->step, step * 10);
	snprintf(name, sizeof(name), "t%zu", tensor);
	assert_string_equal(first->tensor, name);
	for (size_t i = 0; i < first->n_odd; i++) {
		assert_true(truth->digests[first->odd[i]][step][tensor] !=
			    truth->digests[first->others[0]][step][tensor]);
	}
	for (size_t i = 1; i < first->n_others; i++) {
		assert_true(truth->digests[first->others[i]][step][tensor] ==
			    truth->digests[first->others[0]][step][tensor]);
	}
	assert_int_equal(first->n_odd + first->n_others + first->missing, RANKS);
}

static void run(bool loss, unsigned faults)
{
	struct rank ranks[RANKS];
	static struct truth truth;
	size_t at[RANKS] = {0}, left = RANKS * STEPS;
	Hk__Job job;

	truth_init(&truth, faults);
	job_init(&job);
	for (int32_t i = 0; i < RANKS; i++) {
		rank_init(&ranks[i], i, GROUP);
	}
	while (left > 0) {
		size_t r = draw(RANKS);
		/* Ranks that reduce gradients together are less than a step apart. */
		bool behind = true;
		for (size_t other = 0; other < RANKS; other++) {
			behind &= at[r] <= at[other];
		}
		if (behind && at[r] < STEPS) {
			take_step(&ranks[r], &truth, r, at[r]++, loss);
			left--;
		}
		if (draw(3) == 0) {
			report(&ranks[draw(RANKS)]);
		}
		if (draw(5) == 0) {
			assert_true(compare(&job, ranks, false) >= 0);
		}
	}
	for (size_t r = 0; r < RANKS; r++) {
		report(&ranks[r]);
	}
	assert_true(compare(&job, ranks, true) >= 0);
	check(&job, &truth);
	assert_int_equal(compare(&job, ranks, true), 0);
	for (size_t r = 0; r < RANKS; r++) {
		rank_fini(&ranks[r]);
	}
	job_fini(&job);
}

static void first_difference_is_that_of_all_digests(void **state)
{
	(void)state;
	for (seed = 1; seed <= RUNS; seed++) {
		run(false, (unsigned)seed % 4);
	}
}

static void lost_records_make_no_difference(void **state)
{
	(void)state;
	for (seed = 1; seed <= RUNS; seed++) {
		run(true, (unsigned)seed % 3);
	}
}

static void step_of_one_rank_waits_for_the_others(void **state)
{
	struct rank ranks[RANKS];
	static struct truth truth;
	Hk__Job job;

	(void)state;
	seed = 1;
	truth_init(&truth, 0);
	truth.digests[0][0][3]++;
	job_init(&job);
	for (int32_t i = 0; i < RANKS; i++) {
		rank_init(&ranks[i], i, GROUP);
	}
	for (size_t r = 0; r < RANKS; r++) {
		assert_true(r == 0 || job.n_agreements == 1);
		assert_true(r == 0 || (!job.agreements[0]->first && !job.agreements[0]->compared));
		take_step(&ranks[r], &truth, r, 0, false);
		report(&ranks[r]);
		compare(&job, ranks, false);
	}
	const Hk__Divergence *first = job.agreements[0]->first;
	assert_non_null(first);
	assert_int_equal(first->n_odd, 1);
	assert_int_equal(first->odd[0], 0);
	assert_false(first->tie);
	assert_string_equal(first->tensor, "t3");
	for (size_t r = 0; r < RANKS; r++) {
		rank_fini(&ranks[r]);
	}
	job_fini(&job);
}

/* Step 0 of a second series is no later step 0 of the first. */
static void series_are_compared_apart(void **state)
{
	struct rank ranks[RANKS];
	Hk__Job job;

	(void)state;
	job_init(&job);
	for (int32_t i = 0; i < RANKS; i++) {
		rank_init(&ranks[i], i, GROUP);
	}
	for (uint64_t epoch = 0; epoch < 2; epoch++) {
		for (size_t r = 0; r < RANKS; r++) {
			for (uint32_t t = 0; t < TENSORS; t++) {
				note(&ranks[r], t, 0, epoch * 100 + t, 0);
			}
			note(&ranks[r], TENSORS, 0, TENSORS, epoch);
			report(&ranks[r]);
			assert_true(compare(&job, ranks, false) >= 0);
		}
	}
	assert_int_equal(job.agreements[0]->compared, 2);
	assert_null(job.agreements[0]->first);
	for (size_t r = 0; r < RANKS; r++) {
		rank_fini(&ranks[r]);
	}
	job_fini(&job);
}

static void two_ranks_have_no_majority(void **state)
{
	struct rank ranks[RANKS];
	Hk__Job job;

	(void)state;
	job_init(&job);
	for (int32_t i = 0; i < RANKS; i++) {
		rank_init(&ranks[i], i, "gradients of ranks 1,3");
		for (uint32_t t = 0; t < TENSORS && (i == 1 || i == 3); t++) {
			note(&ranks[i], t, 5, (uint64_t)(t == 6 ? i : 0), 0);
		}
		note(&ranks[i], TENSORS, 5, TENSORS, 0);
		report(&ranks[i]);
	}
	assert_true(compare(&job, ranks, false) > 0);
	const Hk__Divergence *first = job.agreements[0]->first;
	assert_int_equal(job.agreements[0]->expected, 2);
	assert_non_null(first);
	assert_true(first->tie);
	assert_int_equal(first->others[0], 1);
	assert_int_equal(first->odd[0], 3);
	for (size_t r = 0; r < RANKS; r++) {
		rank_fini(&ranks[r]);
	}
	job_fini(&job);
}

static void ranks_are_read_from_the_text(void **state)
{
	(void)state;
	assert_int_equal(hk_agreement_ranks("parameters"), 0);
	assert_int_equal(hk_agreement_ranks("parameters of ranks 0,4-7"), 5);
	assert_int_equal(hk_agreement_ranks("x of ranks 1 of ranks 2-3"), 2);
	assert_int_equal(hk_agreement_ranks("x of ranks 7-3"), 0);
	assert_int_equal(hk_agreement_ranks("x of ranks 1,,2"), 0);
	assert_int_equal(hk_agreement_ranks("x of ranks 0-4294967295"), 0);
	assert_int_equal(hk_agreement_ranks("x of ranks -"), 0);
	assert_int_equal(hk_agreement_ranks("x of ranks "), 0);
}

/* Begins RANKS, which report step 5. In rank ODD the fifth value differs; RANKS: in none. */
static void report_step(struct rank *ranks, int32_t odd)
{
	for (int32_t i = 0; i < RANKS; i++) {
		rank_init(&ranks[i], i, GROUP);
		for (uint32_t t = 0; t < TENSORS; t++) {
			note(&ranks[i], t, 5, 1 + (i == odd && t == 4), 0);
		}
		note(&ranks[i], TENSORS, 5, TENSORS, 0);
		report(&ranks[i]);
	}
}

/* Rows that a peer sends are anything. */
static void invalid_rows_are_left_out(void **state)
{
	struct rank ranks[RANKS];
	Hk__Job job;

	(void)state;
	job_init(&job);
	report_step(ranks, RANKS);
	free(ranks[0].root->agreed[0]->sites);
	ranks[0].root->agreed[0]->sites = NULL;
	ranks[0].root->agreed[0]->n_sites = 0;
	ranks[1].root->agreed[0]->sites[0] = UINT32_MAX;
	ranks[1].root->agreed[0]->digests[0] = 7;
	assert_true(compare(&job, ranks, true) >= 0);
	assert_int_equal(job.agreements[0]->reporting, RANKS - 1);
	assert_non_null(job.agreements[0]->first);
	assert_string_equal(job.agreements[0]->first->tensor, "?");
	for (size_t r = 0; r < RANKS; r++) {
		rank_fini(&ranks[r]);
	}
	job_fini(&job);
}

/* The sites of a process travel apart from its rows, and may come later. */
static void value_is_named_when_its_site_comes(void **state)
{
	struct rank ranks[RANKS];
	Hk__Job job;

	(void)state;
	job_init(&job);
	report_step(ranks, 2);
	for (int32_t i = 0; i < RANKS; i++) {
		ranks[i].root->n_sites = 2;
	}
	assert_int_equal(compare(&job, ranks, false), 1);
	assert_string_equal(job.agreements[0]->first->tensor, "?");
	assert_int_equal(compare(&job, ranks, false), 0);
	for (int32_t i = 0; i < RANKS; i++) {
		ranks[i].root->n_sites = TENSORS;
	}
	assert_int_equal(compare(&job, ranks, false), 1);
	assert_string_equal(job.agreements[0]->first->tensor, "t4");
	assert_int_equal(compare(&job, ranks, true), 0);
	for (size_t r = 0; r < RANKS; r++) {
		rank_fini(&ranks[r]);
	}
	job_fini(&job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(first_difference_is_that_of_all_digests),
	    cmocka_unit_test(lost_records_make_no_difference),
	    cmocka_unit_test(step_of_one_rank_waits_for_the_others),
	    cmocka_unit_test(series_are_compared_apart),
	    cmocka_unit_test(two_ranks_have_no_majority),
	    cmocka_unit_test(ranks_are_read_from_the_text),
	    cmocka_unit_test(invalid_rows_are_left_out),
	    cmocka_unit_test(value_is_named_when_its_site_comes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
