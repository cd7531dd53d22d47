/* How shapes relate, and where an element is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/compare/shape.h"

struct shape {
	uint32_t dimensions;
	uint64_t sizes[4];
};

static struct hk_dump_row row_of(const struct shape *shape)
{
	return (struct hk_dump_row){.dimensions = shape->dimensions, .shape = shape->sizes};
}

static void relations_of_shapes(void **state)
{
	static const struct {
		struct shape a, b;
		enum hk_match_shape relation;
		uint8_t swapped[2];
	} cases[] = {
	    {{2, {3, 4}}, {2, {3, 4}}, HK_SHAPE_SAME, {0, 0}},
	    {{0, {0}}, {0, {0}}, HK_SHAPE_SAME, {0, 0}},
	    {{0, {0}}, {1, {1}}, HK_SHAPE_SQUEEZED, {0, 0}},
	    {{3, {3, 1, 4}}, {2, {3, 4}}, HK_SHAPE_SQUEEZED, {0, 0}},
	    {{2, {4, 3}}, {2, {3, 4}}, HK_SHAPE_TRANSPOSED, {0, 1}},
	    {{4, {2, 5, 3, 4}}, {4, {2, 4, 3, 5}}, HK_SHAPE_TRANSPOSED, {1, 3}},
	    {{3, {4, 2, 3}}, {3, {3, 4, 2}}, HK_SHAPE_RESHAPED, {0, 0}},
	    {{2, {6, 2}}, {2, {3, 4}}, HK_SHAPE_RESHAPED, {0, 0}},
	    {{2, {3, 4}}, {2, {3, 5}}, HK_SHAPE_COUNT, {0, 0}},
	    {{2, {3, 0}}, {2, {5, 0}}, HK_SHAPE_RESHAPED, {0, 0}},
	    {{4, {1ull << 32, 1ull << 32, 2, 2}}, {1, {0}}, HK_SHAPE_COUNT, {0, 0}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hk_dump_row a = row_of(&cases[i].a), b = row_of(&cases[i].b);
		uint8_t swapped[2] = {0, 0};
		assert_int_equal(hk_shape_relation(&a, &b, swapped), cases[i].relation);
		if (cases[i].relation == HK_SHAPE_TRANSPOSED) {
			assert_memory_equal(swapped, cases[i].swapped, 2);
		}
	}
}

static void exchange_gives_the_strides_of_the_transposed_tensor(void **state)
{
	const struct shape shape = {3, {2, 3, 4}};
	struct hk_dump_row row = row_of(&shape);
	uint64_t sizes[HK_TENSOR_DIMENSIONS];
	int64_t strides[HK_TENSOR_DIMENSIONS];
	const uint8_t swapped[2] = {0, 2};

	(void)state;
	hk_shape_exchange(&row, swapped, sizes, strides);
	assert_int_equal(sizes[0], 4);
	assert_int_equal(sizes[2], 2);
	assert_int_equal(strides[0], 1);
	assert_int_equal(strides[1], 4);
	assert_int_equal(strides[2], 12);
}

static void squares_are_the_last_equal_dimensions(void **state)
{
	static const struct shape shapes[] = {
	    {3, {5, 5, 5}}, {3, {4, 4, 3}}, {2, {1, 1}}, {1, {7}}};
	struct hk_dump_row rows[4];
	uint8_t swapped[2];

	(void)state;
	for (int i = 0; i < 4; i++) {
		rows[i] = row_of(&shapes[i]);
	}
	assert_true(hk_shape_square(&rows[0], swapped));
	assert_int_equal(swapped[0], 1);
	assert_true(hk_shape_square(&rows[1], swapped));
	assert_int_equal(swapped[0], 0);
	assert_false(hk_shape_square(&rows[2], swapped));
	assert_false(hk_shape_square(&rows[3], swapped));
}

static void texts_of_shapes_and_places(void **state)
{
	const uint64_t sizes[] = {3, 4, 5};
	uint64_t many[HK_TENSOR_DIMENSIONS];
	char text[HK_SHAPE_TEXT_BYTES];

	(void)state;
	assert_string_equal(hk_shape_text(text, sizes, 3), "[3,4,5]");
	assert_string_equal(hk_shape_text(text, NULL, 0), "[]");
	assert_string_equal(hk_shape_place(text, 59, sizes, 3), "[2,3,4]");
	assert_string_equal(hk_shape_place(text, 21, sizes, 3), "[1,0,1]");
	for (int i = 0; i < HK_TENSOR_DIMENSIONS; i++) {
		many[i] = UINT64_MAX;
	}
	hk_shape_text(text, many, HK_TENSOR_DIMENSIONS);
	assert_int_equal(text[0], '[');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(relations_of_shapes),
	    cmocka_unit_test(exchange_gives_the_strides_of_the_transposed_tensor),
	    cmocka_unit_test(squares_are_the_last_equal_dimensions),
	    cmocka_unit_test(texts_of_shapes_and_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
