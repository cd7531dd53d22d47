/* Whether the gradients of a backward call belong to the inputs of its forward call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "cli/compare/foreign/msprobe_gradients.h"

#define TENSOR(shape, wanted) "{\"type\":\"t\",\"shape\":" shape ",\"requires_grad\":" wanted "}"

static bool judged(const char *api, const char *inputs, const char *gradients)
{
	char text[1024], name[64];

	snprintf(name, sizeof(name), "%s.0.backward", api);
	snprintf(text, sizeof(text),
		 "{\"data\":{\"%s.0.forward\":{\"input_args\":[%s],\"input_kwargs\":{}},"
		 "\"%s.0.backward\":{\"output\":[%s]}}}",
		 api, inputs, api, gradients);
	json_t *dump = json_loads(text, 0, NULL);
	assert_non_null(dump);
	bool result = hk_msprobe_gradients_are_of_inputs(
	    dump, name, json_object_get(json_object_get(dump, "data"), name));
	json_decref(dump);
	return result;
}

static void test_as_many_and_as_large_belong_to_inputs(void **state)
{
	(void)state;
	/* linear: x, weight, bias; the gradients of bias, x and the transposed weight */
	assert_true(judged(
	    "Functional.linear",
	    TENSOR("[4,256]", "true") "," TENSOR("[10,256]", "true") "," TENSOR("[10]", "true"),
	    TENSOR("[10]", "false") "," TENSOR("[4,256]", "false") "," TENSOR("[256,10]",
									      "false")));
	/* conv2d of data: no gradient of the first input, which requires none */
	assert_true(judged("Functional.conv2d",
			   TENSOR("[2,3]", "false") "," TENSOR("[8,3]", "true"),
			   "null," TENSOR("[8,3]", "false")));
}

static void test_others_belong_to_an_inner_operator(void **state)
{
	(void)state;
	/* matmul of four dimensions ends in a view */
	assert_false(judged("Torch.matmul",
			    TENSOR("[2,3,4,5]", "true") "," TENSOR("[2,3,5,6]", "true"),
			    TENSOR("[6,4,6]", "false")));
	assert_false(judged("Functional.cross_entropy",
			    TENSOR("[4,10]", "true") "," TENSOR("[4]", "false"),
			    TENSOR("[4,10]", "false")));
}

static void test_without_a_forward_call_they_are_taken_for_the_inputs(void **state)
{
	json_t *dump = json_object();

	(void)state;
	assert_true(hk_msprobe_gradients_are_of_inputs(dump, "Tensor.t.0.backward", dump));
	assert_true(hk_msprobe_gradients_are_of_inputs(dump, "", dump));
	json_decref(dump);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_as_many_and_as_large_belong_to_inputs),
	    cmocka_unit_test(test_others_belong_to_an_inner_operator),
	    cmocka_unit_test(test_without_a_forward_call_they_are_taken_for_the_inputs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
