/* Offsets of records, against the toolkit's own header where it is; names of copies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "agent/device/layout.h"

static const struct hk_device_layout *layout_of(const struct hk_device_layout *layouts,
						uint32_t version)
{
	for (; layouts->count; layouts++) {
		if (version >= layouts->from && version <= layouts->to) {
			return layouts;
		}
	}
	return NULL;
}

static void test_versions_that_are_read(void **state)
{
	(void)state;
	assert_null(layout_of(hk_device_layouts_cupti, 0));
	assert_null(layout_of(hk_device_layouts_cupti, 11));
	assert_non_null(layout_of(hk_device_layouts_cupti, 12));
	assert_non_null(layout_of(hk_device_layouts_cupti, 28));
	assert_null(layout_of(hk_device_layouts_cupti, 100));
	assert_non_null(layout_of(hk_device_layouts_cupti, 130000));
	assert_non_null(layout_of(hk_device_layouts_cupti, 130202));
	assert_null(layout_of(hk_device_layouts_cupti, 140000));
	assert_non_null(layout_of(hk_device_layouts_mspti, 0));
}

static void test_every_field_lies_in_its_record(void **state)
{
	const struct hk_device_layout *const all[] = {hk_device_layouts_cupti,
						      hk_device_layouts_mspti};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		for (const struct hk_device_layout *layout = all[i]; layout->count; layout++) {
			assert_in_range(layout->count, 1, HK_DEVICE_RECORDS);
			for (uint32_t k = 0; k < layout->count; k++) {
				const struct hk_device_record *record = &layout->records[k];
				assert_true(record->start + 8u <= record->least);
				assert_true(record->end + 8u <= record->least);
				assert_true(record->correlation + record->correlation_bytes <=
					    record->least);
				assert_true(!record->name || record->name + 8u <= record->least);
				assert_true(!record->bytes || record->bytes + 8u <= record->least);
				assert_ptr_equal(hk_device_layout_find(layout, record->kind),
						 record);
			}
		}
	}
	assert_null(hk_device_layout_find(hk_device_layouts_cupti, 12345));
}

static void test_copies_have_names(void **state)
{
	(void)state;
	assert_string_equal(hk_device_copy_name(1), "Memcpy HtoD");
	assert_string_equal(hk_device_copy_name(10), "Memcpy PtoP");
	assert_string_equal(hk_device_copy_name(0), "Memcpy");
	assert_string_equal(hk_device_copy_name(4000000000u), "Memcpy");
}

#ifdef HK_CUPTI_HEADER
#include <cupti.h>

#define SAME(type, kind_number, field, of) \
	assert_int_equal(hk_device_layout_find(layout, kind_number)->of, offsetof(type, field))

static void test_offsets_are_those_of_the_header(void **state)
{
	const struct hk_device_layout *layout =
	    layout_of(hk_device_layouts_cupti, CUPTI_API_VERSION);

	(void)state;
	assert_non_null(layout);
	SAME(CUpti_ActivityKernel10, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, start, start);
	SAME(CUpti_ActivityKernel10, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, end, end);
	SAME(CUpti_ActivityKernel10, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, deviceId, device);
	SAME(CUpti_ActivityKernel10, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, streamId, stream);
	SAME(CUpti_ActivityKernel10, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, correlationId,
	     correlation);
	SAME(CUpti_ActivityKernel10, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, name, name);
	SAME(CUpti_ActivityMemcpy6, CUPTI_ACTIVITY_KIND_MEMCPY, bytes, bytes);
	SAME(CUpti_ActivityMemcpy6, CUPTI_ACTIVITY_KIND_MEMCPY, copyKind, direction);
	SAME(CUpti_ActivityMemcpy6, CUPTI_ACTIVITY_KIND_MEMCPY, start, start);
	SAME(CUpti_ActivityMemcpy6, CUPTI_ACTIVITY_KIND_MEMCPY, streamId, stream);
	SAME(CUpti_ActivityMemcpy6, CUPTI_ACTIVITY_KIND_MEMCPY, correlationId, correlation);
	SAME(CUpti_ActivityMemcpyPtoP4, CUPTI_ACTIVITY_KIND_MEMCPY2, bytes, bytes);
	SAME(CUpti_ActivityMemcpyPtoP4, CUPTI_ACTIVITY_KIND_MEMCPY2, deviceId, device);
	SAME(CUpti_ActivityMemcpyPtoP4, CUPTI_ACTIVITY_KIND_MEMCPY2, correlationId, correlation);
	SAME(CUpti_ActivityMemset4, CUPTI_ACTIVITY_KIND_MEMSET, bytes, bytes);
	SAME(CUpti_ActivityMemset4, CUPTI_ACTIVITY_KIND_MEMSET, end, end);
	SAME(CUpti_ActivityMemset4, CUPTI_ACTIVITY_KIND_MEMSET, correlationId, correlation);
	SAME(CUpti_ActivityAPI, CUPTI_ACTIVITY_KIND_RUNTIME, start, start);
	SAME(CUpti_ActivityAPI, CUPTI_ACTIVITY_KIND_DRIVER, threadId, thread);
	SAME(CUpti_ActivityAPI, CUPTI_ACTIVITY_KIND_DRIVER, correlationId, correlation);
}
#else
static void test_offsets_are_those_of_the_header(void **state)
{
	(void)state;
	puts("cupti.h of the CUDA toolkit is not here: left out");
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_versions_that_are_read),
	    cmocka_unit_test(test_every_field_lies_in_its_record),
	    cmocka_unit_test(test_copies_have_names),
	    cmocka_unit_test(test_offsets_are_those_of_the_header),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
