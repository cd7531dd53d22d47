/* Out of memory, at every allocation in turn: it is returned as an error, and nothing is left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <errno.h>

#include "cli/export/activity.h"
#include "cli/export/chain.h"
#include "cli/flow/flow.h"
#include "hooks/hook.h"

#define REQUESTS 400u /* more than a table of hashes begins with */

/* ---- an allocator that fails once ---- */

static uint64_t until; /* allocations that succeed before; 0: none fails */
static bool failed;

static bool fails(void)
{
	if (until == 0 || --until > 0) {
		return false;
	}
	failed = true;
	return true;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_reallocarray(void *old, size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_reallocarray(void *old, size_t count, size_t size);

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_reallocarray(void *old, size_t count, size_t size)
{
	return fails() ? NULL : __real_reallocarray(old, count, size);
}

/* Calls WORK with the first allocation failing, then the second, until none does; each time it must
 * return -ENOMEM. */
static void each_allocation_fails(int (*work)(void), uint64_t least)
{
	uint64_t count = 0;

	do {
		failed = false;
		until = ++count;
		int rc = work();
		until = 0;
		assert_int_equal(rc, failed ? -ENOMEM : 0);
	} while (failed);
	assert_true(count > least);
}

/* ---- calls of two ranks ---- */

static const struct hk_export_site receive_site = {
    .function = "MPI_Irecv",
    .domain = "mpi",
    .meaning = HK_MEANING_RECV,
    .key_count = 4,
    .keys = {HK_KEY_COMM, HK_KEY_PEER, HK_KEY_TAG, HK_KEY_REQUEST},
};
static const struct hk_export_site send_site = {
    .function = "MPI_Send",
    .domain = "mpi",
    .meaning = HK_MEANING_SEND,
    .key_count = 3,
    .keys = {HK_KEY_COMM, HK_KEY_PEER, HK_KEY_TAG},
};
static const struct hk_export_site reduce_site = {
    .function = "MPI_Allreduce",
    .domain = "mpi",
    .meaning = HK_MEANING_COLLECTIVE,
    .key_count = 1,
    .keys = {HK_KEY_COMM},
};
static const struct hk_export_process ranks[] = {{.index = 0, .rank = 0, .role = "main"},
						 {.index = 1, .rank = 1, .role = "main"}};
static const struct hk_export_thread threads[] = {{.process = &ranks[0]}, {.process = &ranks[1]}};

static int open_call(struct hk_flows *flows, int rank, const struct hk_export_site *site,
		     uint64_t start_ns, uint64_t tag, uint64_t request)
{
	struct hk_slice slice = {.start_ns = start_ns,
				 .end_ns = start_ns + 1,
				 .site = site,
				 .word_count = site->key_count,
				 .words = {HK_COMM_WORLD, (uint64_t)!rank, tag, request}};
	int rc = hk_flows_open(flows, &threads[rank], &slice, true);

	hk_flows_skip(flows, &slice);
	return rc;
}

static int flows_work(void)
{
	struct hk_flows *flows = hk_flows_new(2);
	int rc = flows ? 0 : -ENOMEM;

	for (uint64_t i = 0; rc == 0 && i < REQUESTS; i++) {
		rc = open_call(flows, 0, &receive_site, 10 * i, i, 4096 + 8 * i);
	}
	for (int rank = 0; rc == 0 && rank < 2; rank++) {
		rc = open_call(flows, rank, &reduce_site, 10 * REQUESTS, 0, 0);
	}
	if (rc == 0) {
		rc = open_call(flows, 1, &send_site, 10 * REQUESTS + 5, 7, 0);
	}
	hk_flows_free(flows);
	return rc;
}

static int streams_work(void)
{
	struct hk_stream *streams = NULL, *found;
	bool is_new;
	int rc = 0;

	for (uint64_t i = 0; rc == 0 && i < REQUESTS; i++) {
		const struct hk_device_activity activity = {.stream = 4096 + i};
		rc = hk_streams_find(&streams, 1, &activity, &found, &is_new);
	}
	hk_streams_free(streams);
	return rc;
}

static int chains_work(void)
{
	struct hk_chains chains = {.list = NULL};
	const struct hk_chain_part part = {.thread = &threads[0]};
	int rc = 0;

	for (uint64_t id = 1; rc == 0 && id <= REQUESTS; id++) {
		rc = hk_chains_begin(&chains, id, &part);
	}
	hk_chains_free(&chains);
	return rc;
}

static void test_flows(void **state)
{
	(void)state;
	each_allocation_fails(flows_work, 2 * REQUESTS);
}

static void test_streams(void **state)
{
	(void)state;
	each_allocation_fails(streams_work, REQUESTS);
}

static void test_chains(void **state)
{
	(void)state;
	each_allocation_fails(chains_work, REQUESTS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_flows),
	    cmocka_unit_test(test_streams),
	    cmocka_unit_test(test_chains),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
