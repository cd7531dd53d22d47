/* Which calls of a process are numbered as collectives, out of records in the order of their ends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "collector/arrival/arrivals.h"
#include "hooks/hook.h"

#define START_NS 5000000u

enum { BARRIER, BCAST, FORTRAN, SPLIT, SEND, READ, OTHER_BARRIER, ALLREDUCE, SITES };

static const struct hk_chunk_site sites[SITES] = {
    [BARRIER] = {.meaning = HK_MEANING_COLLECTIVE,
		 .key_count = 1,
		 .keys = {HK_KEY_COMM},
		 .function = "MPI_Barrier",
		 .domain = "mpi"},
    [BCAST] = {.meaning = HK_MEANING_COLLECTIVE,
	       .key_count = 2,
	       .keys = {HK_KEY_PEER, HK_KEY_COMM},
	       .function = "MPI_Bcast",
	       .domain = "mpi"},
    [FORTRAN] = {.meaning = HK_MEANING_COLLECTIVE,
		 .key_count = 1,
		 .keys = {HK_KEY_COMM},
		 .function = "mpi_barrier_",
		 .domain = "mpi"},
    [SPLIT] = {.meaning = HK_MEANING_COMM,
	       .key_count = 2,
	       .keys = {HK_KEY_NEW_COMM, HK_KEY_RANK},
	       .function = "MPI_Comm_split",
	       .domain = "mpi"},
    [SEND] = {.meaning = HK_MEANING_SEND,
	      .key_count = 1,
	      .keys = {HK_KEY_COMM},
	      .function = "MPI_Send",
	      .domain = "mpi"},
    [READ] = {.meaning = HK_MEANING_NONE, .function = "read", .domain = "io"},
    [OTHER_BARRIER] = {.meaning = HK_MEANING_COLLECTIVE,
		       .key_count = 1,
		       .keys = {HK_KEY_COMM},
		       .function = "MPI_Barrier",
		       .domain = "mpi"},
    [ALLREDUCE] = {.meaning = HK_MEANING_COLLECTIVE,
		   .key_count = 2,
		   .keys = {HK_KEY_TAG, HK_KEY_COMM},
		   .function = "_ZN4gloo9allreduceERKNS_16AllreduceOptionsE",
		   .domain = "gloo"},
};

static int define_site(void *context, uint32_t id, struct hk_chunk_site *ret_site)
{
	(void)context;
	if (id >= SITES) {
		return -1;
	}
	*ret_site = sites[id];
	return 0;
}

static struct hk_arrivals *make(void)
{
	const struct hk_arrivals_options options = {define_site, NULL};
	struct hk_arrivals *arrivals = hk_arrivals_new(&options);

	assert_non_null(arrivals);
	assert_true(hk_arrivals_wanted(arrivals));
	return arrivals;
}

static void add_by(struct hk_arrivals *arrivals, uint64_t thread, uint32_t site, uint64_t start,
		   uint64_t end, uint64_t a, uint64_t b)
{
	const struct hk_chunk_thread by = {.uid = thread};
	const uint64_t words[] = {a, b};
	const struct hk_record record = {.start_ticks = start,
					 .duration_ns = end - start,
					 .words = words,
					 .thread = &by,
					 .site = site,
					 .kind = HK_CHUNK_KIND_CALL,
					 .word_count = sites[site].key_count};

	hk_arrivals_add(arrivals, &record);
}

static void add(struct hk_arrivals *arrivals, uint32_t site, uint64_t start, uint64_t end,
		uint64_t a, uint64_t b)
{
	add_by(arrivals, 1, site, start, end, a, b);
}

/* Writes what is taken: "function:number@start" of each call, "r" behind it for a root. */
static const char *take_of(struct hk_arrivals *arrivals, const Hk__Process *values)
{
	static char text[1024];
	static uint8_t uid[16];
	Hk__Anchor start = HK__ANCHOR__INIT;
	Hk__Process state = *values;
	Hk__Arrivals *message;
	size_t used = 0;
	int64_t ns = 0;

	start.monotonic_ns = START_NS;
	state.uid = (ProtobufCBinaryData){sizeof(uid), uid};
	state.start = &start;
	state.tick_ns_q32 = UINT64_C(1) << 32;
	state.rank = 2;
	*text = 0;
	if (hk_arrivals_take(arrivals, &state, 100, &message) == 0) {
		return "nothing";
	}
	for (size_t i = 0; i < message->n_kind; i++) {
		ns += message->enter_ns[i];
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s:%d@%d%s",
					 i > 0 ? " " : "", message->function[message->kind[i] / 2],
					 (int)message->number[i], (int)(ns - START_NS),
					 message->kind[i] % 2 ? "r" : "");
	}
	snprintf(text + used, sizeof(text) - used, "%s",
		 message->doubt ? hk_doubt_text(message->doubt) : "");
	hk__arrivals__free_unpacked(message, NULL);
	return text;
}

static const char *take(struct hk_arrivals *arrivals)
{
	const Hk__Process state = HK__PROCESS__INIT;

	return take_of(arrivals, &state);
}

static void calls_are_numbered_by_function_and_communicator(void **state)
{
	(void)state;
	struct hk_arrivals *arrivals = make();

	add(arrivals, BARRIER, 10, 20, HK_COMM_WORLD, 0);
	add(arrivals, BCAST, 30, 40, 2, HK_COMM_WORLD);
	add(arrivals, READ, 41, 44, 0, 0);
	add(arrivals, OTHER_BARRIER, 50, 60, HK_COMM_WORLD, 0);
	add(arrivals, BARRIER, 70, 80, 99, 0);
	add(arrivals, BCAST, 90, 95, 1, HK_COMM_WORLD);
	assert_string_equal(take(arrivals),
			    "MPI_Barrier:0@10 MPI_Bcast:0@30r MPI_Barrier:1@50 MPI_Barrier:0@70");
	assert_string_equal(take(arrivals), "nothing");
	hk_arrivals_end(arrivals);
	assert_string_equal(take(arrivals), "MPI_Bcast:1@90");
	hk_arrivals_free(arrivals);
}

static void call_inside_of_another_one_is_not_numbered(void **state)
{
	(void)state;
	struct hk_arrivals *arrivals = make();

	add(arrivals, BARRIER, 12, 18, HK_COMM_WORLD, 0);
	add(arrivals, FORTRAN, 10, 20, HK_COMM_WORLD, 0);
	add(arrivals, BARRIER, 32, 38, HK_COMM_WORLD, 0);
	add(arrivals, SEND, 30, 40, HK_COMM_WORLD, 0);
	add(arrivals, BARRIER, 50, 60, HK_COMM_WORLD, 0);
	hk_arrivals_end(arrivals);
	assert_string_equal(take(arrivals), "mpi_barrier_:0@10 MPI_Barrier:0@50");
	hk_arrivals_free(arrivals);
}

static void two_calls_inside_of_another_one_end_the_numbers(void **state)
{
	(void)state;
	struct hk_arrivals *arrivals = make();

	add(arrivals, BARRIER, 12, 14, HK_COMM_WORLD, 0);
	add(arrivals, BARRIER, 15, 18, HK_COMM_WORLD, 0);
	add(arrivals, SEND, 10, 20, HK_COMM_WORLD, 0);
	add(arrivals, BARRIER, 50, 60, HK_COMM_WORLD, 0);
	assert_string_equal(take(arrivals), "MPI_Barrier:0@12calls contain each other");
	hk_arrivals_free(arrivals);
}

static void second_thread_ends_the_numbers(void **state)
{
	(void)state;
	struct hk_arrivals *arrivals = make();

	add_by(arrivals, 1, BARRIER, 10, 20, HK_COMM_WORLD, 0);
	add_by(arrivals, 2, BCAST, 10, 20, 0, HK_COMM_WORLD);
	add_by(arrivals, 1, BARRIER, 30, 40, HK_COMM_WORLD, 0);
	add_by(arrivals, 2, BARRIER, 50, 60, HK_COMM_WORLD, 0);
	hk_arrivals_end(arrivals);
	assert_non_null(strstr(take(arrivals), "several threads"));
	hk_arrivals_free(arrivals);
}

static void threads_with_tagged_calls_keep_the_numbers(void **state)
{
	(void)state;
	struct hk_arrivals *arrivals = make();

	add_by(arrivals, 2, ALLREDUCE, 110, 190, 8, HK_COMM_WORLD);
	add_by(arrivals, 2, ALLREDUCE, 210, 220, 9, HK_COMM_WORLD);
	add_by(arrivals, 1, ALLREDUCE, 100, 200, 7, HK_COMM_WORLD);
	assert_string_equal(take(arrivals), "_ZN4gloo9allreduceERKNS_16AllreduceOptionsE:7@100 "
					    "_ZN4gloo9allreduceERKNS_16AllreduceOptionsE:8@110 "
					    "_ZN4gloo9allreduceERKNS_16AllreduceOptionsE:9@210");
	hk_arrivals_free(arrivals);
}

static void communicator_with_two_ranks_of_the_process_is_not_numbered(void **state)
{
	(void)state;
	struct hk_arrivals *arrivals = make();

	add(arrivals, SPLIT, 1, 2, 50, 0);
	add(arrivals, SPLIT, 3, 4, 60, 1);
	add(arrivals, SPLIT, 5, 6, 60, 3);
	add(arrivals, SPLIT, 7, 8, 70, (uint64_t)-1);
	for (uint64_t comm = 50; comm < 80; comm += 10) {
		add(arrivals, BARRIER, 10 * comm, 10 * comm + 5, comm, 0);
	}
	add(arrivals, BARRIER, 1000, 1005, 0, 0);
	hk_arrivals_end(arrivals);
	assert_string_equal(take(arrivals), "MPI_Barrier:0@500");
	hk_arrivals_free(arrivals);
}

static void calls_without_room_leave_a_gap(void **state)
{
	(void)state;
	static uint8_t uid[16];
	struct hk_arrivals *arrivals = make();
	Hk__Process process = HK__PROCESS__INIT;
	Hk__Arrivals *message;

	process.uid = (ProtobufCBinaryData){sizeof(uid), uid};
	for (uint64_t i = 1; i <= HK_ARRIVALS_WAITING + 11; i++) {
		add(arrivals, BARRIER, 10 * i, 10 * i + 5, HK_COMM_WORLD, 0);
	}
	assert_int_equal(hk_arrivals_take(arrivals, &process, 2 * HK_ARRIVALS_WAITING, &message),
			 1);
	assert_int_equal(message->n_number, HK_ARRIVALS_WAITING);
	assert_int_equal(message->dropped, 10);
	hk__arrivals__free_unpacked(message, NULL);
	hk_arrivals_end(arrivals);
	assert_int_equal(hk_arrivals_take(arrivals, &process, 1, &message), 1);
	assert_int_equal(message->number[0], HK_ARRIVALS_WAITING + 10);
	assert_int_equal(message->dropped, 0);
	hk__arrivals__free_unpacked(message, NULL);
	hk_arrivals_free(arrivals);
}

static void lost_records_end_the_numbers(void **state)
{
	(void)state;
	struct hk_arrivals *arrivals = make();

	add(arrivals, BARRIER, 10, 20, HK_COMM_WORLD, 0);
	add(arrivals, BARRIER, 30, 40, HK_COMM_WORLD, 0);
	hk_arrivals_doubt(arrivals, HK_DOUBT_LOST);
	add(arrivals, BARRIER, 50, 60, HK_COMM_WORLD, 0);
	assert_string_equal(take(arrivals), "MPI_Barrier:0@10records were lost");
	assert_string_equal(take(arrivals), "nothing");
	assert_false(hk_arrivals_wanted(arrivals));
	hk_arrivals_free(arrivals);
}

static void level_below_record_is_reported_without_new_calls(void **state)
{
	(void)state;
	const struct hk_arrivals_options options = {define_site, NULL};
	struct hk_arrivals *arrivals = hk_arrivals_new(&options);
	Hk__Site site = HK__SITE__INIT, *list = &site;
	Hk__Cells cells = HK__CELLS__INIT;
	Hk__Process process = HK__PROCESS__INIT;
	uint64_t calls = 0;

	site.id = 9;
	site.level = HK_LEVEL_COUNT;
	site.meaning = HK_MEANING_COLLECTIVE;
	site.domain = (char *)(uintptr_t) "mpi";
	site.function = (char *)(uintptr_t) "MPI_Barrier";
	cells.n_site = cells.n_calls = 1;
	cells.site = &site.id;
	cells.calls = &calls;
	process.cells = &cells;
	process.sites = &list;
	process.n_sites = 1;
	assert_string_equal(take_of(arrivals, &process), "nothing");
	calls = 1;
	assert_string_equal(take_of(arrivals, &process), "a level was below record");
	assert_string_equal(take_of(arrivals, &process), "nothing");
	hk_arrivals_free(arrivals);
}

static void level_that_was_below_record_is_reported(void **state)
{
	(void)state;
	struct hk_arrivals *arrivals = make();
	Hk__GovernorStep step = HK__GOVERNOR_STEP__INIT, *list = &step;
	Hk__Process process = HK__PROCESS__INIT;

	step.pattern = (char *)(uintptr_t) "libmpi.so:MPI_Bcast";
	step.from = HK_LEVEL_RECORD;
	step.to = HK_LEVEL_RECORD;
	process.governor = &list;
	process.n_governor = 1;
	assert_string_equal(take_of(arrivals, &process), "nothing");
	step.to = HK_LEVEL_TIME;
	assert_string_equal(take_of(arrivals, &process), "a level was below record");
	hk_arrivals_free(arrivals);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(calls_are_numbered_by_function_and_communicator),
	    cmocka_unit_test(call_inside_of_another_one_is_not_numbered),
	    cmocka_unit_test(two_calls_inside_of_another_one_end_the_numbers),
	    cmocka_unit_test(second_thread_ends_the_numbers),
	    cmocka_unit_test(threads_with_tagged_calls_keep_the_numbers),
	    cmocka_unit_test(communicator_with_two_ranks_of_the_process_is_not_numbered),
	    cmocka_unit_test(calls_without_room_leave_a_gap),
	    cmocka_unit_test(lost_records_end_the_numbers),
	    cmocka_unit_test(level_below_record_is_reported_without_new_calls),
	    cmocka_unit_test(level_that_was_below_record_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
