/* The critical path through the work of devices, of histories whose path is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/delay/path.h"

#define BASE 1000u

static const struct hk_work_row *row_of(const struct hk_work_rows *rows, uint32_t activity)
{
	for (size_t i = 0; i < rows->count; i++) {
		if (rows->list[i].key == hk_work_call(activity)) {
			return &rows->list[i];
		}
	}
	return NULL;
}

static void path_goes_through_the_device_that_a_call_waits_for(void **state)
{
	static const struct hk_activity sync = {
	    .function = "cudaStreamSynchronize", .kind = HK_WORK_CALL, .syncs = true};
	static const struct hk_activity launch = {.function = "cudaLaunchKernel",
						  .kind = HK_WORK_CALL};
	static const struct hk_activity kernel = {.function = "sgemm", .kind = HK_WORK_DEVICE};
	struct hk_history history;
	struct hk_path path;
	(void)state;
	assert_int_equal(hk_history_init(&history, 1), 0);
	history.lanes[0].begin_ns = BASE;
	uint32_t syncs = (uint32_t)hk_history_activity(&history, &sync);
	uint32_t launches = (uint32_t)hk_history_activity(&history, &launch);
	uint32_t kernels = (uint32_t)hk_history_activity(&history, &kernel);
	assert_int_equal(hk_history_piece(&history, 0, launches, BASE + 10, BASE + 12), 0);
	assert_int_equal(hk_history_piece(&history, 0, launches, BASE + 14, BASE + 16), 0);
	assert_int_equal(hk_history_piece(&history, 0, syncs, BASE + 20, BASE + 100), 0);
	const struct hk_device_piece first = {BASE + 20, BASE + 50, BASE + 11, 7, kernels};
	const struct hk_device_piece second = {BASE + 51, BASE + 95, BASE + 15, 7, kernels};
	const struct hk_device_piece other = {BASE + 15, BASE + 18, BASE + 11, 8, kernels};
	assert_int_equal(hk_history_device(&history, 0, &second), 0);
	assert_int_equal(hk_history_device(&history, 0, &other), 0);
	assert_int_equal(hk_history_device(&history, 0, &first), 0);
	assert_int_equal(hk_history_finish(&history), 0);
	assert_int_equal(hk_path_find(&history, &path), 0);
	/* 100 to 95 in the call, to 11 on the device, to 10 in the launch, and before that own. */
	assert_float_equal(path.all_ns, 100, 0);
	assert_float_equal(row_of(&path.rows, syncs)->ns, 5, 0);
	assert_float_equal(row_of(&path.rows, kernels)->ns, 84, 0);
	assert_float_equal(row_of(&path.rows, launches)->ns, 1, 0);
	assert_float_equal(path.class_ns[HK_WORK_OWN], 10, 0);
	hk_path_fini(&path);
	hk_history_fini(&history);
}

static void path_goes_to_the_stream_that_a_copy_waits_for(void **state)
{
	static const struct hk_activity copies = {
	    .function = "cudaMemcpy", .kind = HK_WORK_CALL, .syncs = true};
	static const struct hk_activity kernel = {.function = "sgemm", .kind = HK_WORK_DEVICE};
	static const struct hk_activity copied = {.function = "Memcpy", .kind = HK_WORK_DEVICE};
	struct hk_history history;
	struct hk_path path;
	(void)state;
	assert_int_equal(hk_history_init(&history, 1), 0);
	history.lanes[0].begin_ns = BASE;
	uint32_t copy = (uint32_t)hk_history_activity(&history, &copies);
	uint32_t kernels = (uint32_t)hk_history_activity(&history, &kernel);
	uint32_t device = (uint32_t)hk_history_activity(&history, &copied);
	assert_int_equal(hk_history_piece(&history, 0, copy, BASE + 20, BASE + 100), 0);
	const struct hk_device_piece first = {BASE + 10, BASE + 80, BASE + 5, 7, kernels};
	const struct hk_device_piece second = {BASE + 81, BASE + 99, BASE + 21, 8, device};
	assert_int_equal(hk_history_device(&history, 0, &second), 0);
	assert_int_equal(hk_history_device(&history, 0, &first), 0);
	assert_int_equal(hk_history_finish(&history), 0);
	assert_int_equal(hk_path_find(&history, &path), 0);
	assert_float_equal(row_of(&path.rows, copy)->ns, 1, 0);
	assert_float_equal(row_of(&path.rows, device)->ns, 19, 0);
	assert_float_equal(row_of(&path.rows, kernels)->ns, 75, 0);
	assert_float_equal(path.class_ns[HK_WORK_OWN], 5, 0);
	hk_path_fini(&path);
	hk_history_fini(&history);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(path_goes_through_the_device_that_a_call_waits_for),
	    cmocka_unit_test(path_goes_to_the_stream_that_a_copy_waits_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
