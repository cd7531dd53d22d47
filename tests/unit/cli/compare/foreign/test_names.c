/* Names of other tools' calls as rows have them, and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/compare/foreign/msprobe_name.h"
#include "cli/compare/foreign/ptdbg_name.h"

static void test_msprobe_names_are_calls(void **state)
{
	static const struct {
		const char *text, *name, *of;
		enum hk_dump_kind kind;
		enum hk_dump_phase phase;
		uint32_t number;
	} names[] = {
	    {"Functional.conv2d.0.forward", "torch.nn.functional.conv2d", "", HK_DUMP_API,
	     HK_DUMP_FORWARD, 0},
	    {"Tensor.__mul__.12.backward", "torch.Tensor.__mul__", "", HK_DUMP_API,
	     HK_DUMP_BACKWARD, 12},
	    {"Torch.linalg.norm.3.forward", "torch.linalg.norm", "", HK_DUMP_API, HK_DUMP_FORWARD,
	     3},
	    {"Module.layers.0.attn.Linear.forward.2", "layers.0.attn", "Linear", HK_DUMP_MODULE,
	     HK_DUMP_FORWARD, 2},
	    {"Cell.fc.Dense.backward.0", "fc", "Dense", HK_DUMP_MODULE, HK_DUMP_BACKWARD, 0},
	    {"Module.c1.Conv2d.parameters_grad.0", "c1", "Conv2d", HK_DUMP_STATE, HK_DUMP_GRADIENT,
	     0},
	    {"Module.c1.Conv2d.parameters_grad", "c1", "Conv2d", HK_DUMP_STATE, HK_DUMP_GRADIENT,
	     0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct hk_msprobe_name name;
		assert_true(hk_msprobe_name_parse(&name, names[i].text));
		assert_string_equal(name.name, names[i].name);
		assert_string_equal(name.of, names[i].of);
		assert_int_equal(name.kind, names[i].kind);
		assert_int_equal(name.phase, names[i].phase);
		assert_int_equal(name.number, names[i].number);
	}
}

static void test_other_texts_are_no_msprobe_names(void **state)
{
	static const char *const texts[] = {"",
					    ".",
					    "forward",
					    "Functional.conv2d.forward",
					    "Functional.conv2d.x.forward",
					    "Functional.0.forward",
					    "Functional.conv2d.0.sideways",
					    "Functional.conv2d.4294967296.forward",
					    "Module.forward.0",
					    "Module.c1.Conv2d.forward.0.1"};
	struct hk_msprobe_name name;
	char longest[HK_MSPROBE_NAME_BYTES + 1];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		assert_false(hk_msprobe_name_parse(&name, texts[i]));
	}
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = 0;
	assert_false(hk_msprobe_name_parse(&name, longest));
}

static void test_apis_have_the_tools_type(void **state)
{
	static const char *const pairs[][2] = {
	    {"torch.nn.functional.conv2d", "Functional.conv2d"},
	    {"torch.Tensor.add_", "Tensor.add_"},
	    {"torch.add", "Torch.add"},
	    {"torch.distributed.all_reduce", "Distributed.all_reduce"},
	    {"mine.op", "mine.op"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		char text[HK_MSPROBE_NAME_BYTES];
		hk_msprobe_api_text(text, pairs[i][0]);
		assert_string_equal(text, pairs[i][1]);
	}
}

static void test_frames_are_path_line_function(void **state)
{
	char frame[HK_MSPROBE_NAME_BYTES];

	(void)state;
	hk_msprobe_frame(frame, "File /a/b.py, line 12, in forward, \n return f(x)");
	assert_string_equal(frame, "/a/b.py:12 forward");
	hk_msprobe_frame(frame, "File cut");
	assert_string_equal(frame, "File cut");
}

static void test_ptdbg_names_of_both_versions(void **state)
{
	struct hk_ptdbg_name name;

	(void)state;
	assert_true(hk_ptdbg_name_parse(&name, "21_Torch_norm_forward_input.0.1"));
	assert_string_equal(name.api, "torch.norm");
	assert_string_equal(name.slot, "0.1");
	assert_true(name.has_firing && name.firing == 21 && !name.has_number);
	assert_true(hk_ptdbg_name_parse(&name, "3_Tensor___add___backward_output"));
	assert_string_equal(name.api, "torch.Tensor.__add__");
	assert_string_equal(name.slot, "");
	assert_int_equal(name.role, HK_DUMP_OUTPUT);
	assert_true(hk_ptdbg_name_parse(&name, "Functional_max_pool2d_4_forward_output.0"));
	assert_string_equal(name.api, "torch.nn.functional.max_pool2d");
	assert_true(name.has_number && name.number == 4 && !name.has_firing);
	assert_true(hk_ptdbg_name_parse(&name, "0_Tensor_t_forward_stack_info") && name.is_stack);
	assert_false(hk_ptdbg_name_parse(&name, "x_y"));
	assert_false(hk_ptdbg_name_parse(&name, "_forward_input"));
	assert_false(hk_ptdbg_name_parse(&name, "12_Torch_forward_input.0"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_msprobe_names_are_calls),
	    cmocka_unit_test(test_other_texts_are_no_msprobe_names),
	    cmocka_unit_test(test_apis_have_the_tools_type),
	    cmocka_unit_test(test_frames_are_path_line_function),
	    cmocka_unit_test(test_ptdbg_names_of_both_versions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
