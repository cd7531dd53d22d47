/* Names that mean the same, and the user's mapping. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/compare/names.h"

/* Reads TEXT as a mapping file. */
static int mapping_of(struct hk_mapping *mapping, const char *text, char *reason)
{
	char path[] = "/tmp/hk-mapping-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	int r = hk_mapping_read(mapping, path, reason);
	unlink(path);
	return r;
}

static void normal_forms_of_frameworks_are_equal(void **state)
{
	static const char *const pairs[][2] = {
	    {"torch.nn.functional.conv2d", "Functional.conv2d"},
	    {"torch.nn.functional.gelu", "torch._C._nn.gelu"},
	    {"torch.Tensor.add_", "Tensor.add_"},
	    {"torch.matmul", "Torch.matmul"},
	    {"paddle.nn.functional.relu", "torch.nn.functional.relu"},
	    {"mindspore.mint.matmul", "torch.matmul"},
	};
	char a[HK_NAMES_BYTES], b[HK_NAMES_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		hk_names_normal(HK_DUMP_API, pairs[i][0], a);
		hk_names_normal(HK_DUMP_API, pairs[i][1], b);
		assert_string_equal(a, b);
	}
	hk_names_normal(HK_DUMP_API, "torch.relu", a);
	hk_names_normal(HK_DUMP_API, "torch.nn.functional.relu", b);
	assert_string_not_equal(a, b);
}

static void wrappers_of_modules_are_left_out(void **state)
{
	char text[HK_NAMES_BYTES];

	(void)state;
	hk_names_normal(HK_DUMP_MODULE, "module._orig_mod.layers.0.module.attn", text);
	assert_string_equal(text, "layers.0.attn");
	hk_names_normal(HK_DUMP_STATE, "layers.module_list.weight", text);
	assert_string_equal(text, "layers.module_list.weight");
	hk_names_normal(HK_DUMP_MODULE, "", text);
	assert_string_equal(text, "");
}

static void mapping_carries_what_stars_cover(void **state)
{
	static const char *const cases[][2] = {
	    {"blocks.3.attention.q", "layers.3.attn.q"},
	    {"blocks.3.x.attention.q.w", "layers.3.x.attn.q.w"},
	    {"head", "lm_head"},
	};
	char text[64], reason[HK_MAPPING_REASON_BYTES];
	struct hk_mapping mapping;

	(void)state;
	assert_int_equal(mapping_of(&mapping,
				    "# models\n\nblocks.*.attention.* = layers.*.attn.*\n"
				    " head=lm_head \nrank 1 = rank 4\n",
				    reason),
			 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_true(hk_mapping_name(&mapping, cases[i][0], text, sizeof(text)));
		assert_string_equal(text, cases[i][1]);
	}
	assert_false(hk_mapping_name(&mapping, "heads", text, sizeof(text)));
	assert_true(hk_mapping_name(&mapping, "head", text, 4));
	assert_string_equal(text, "lm_");
	assert_int_equal(mapping.rank_count, 1);
	assert_int_equal(mapping.ranks[0].b, 4);
	hk_mapping_fini(&mapping);
}

static void layouts_belong_to_a_side_and_ranks(void **state)
{
	char reason[HK_MAPPING_REASON_BYTES];
	struct hk_mapping mapping;

	(void)state;
	assert_int_equal(mapping_of(&mapping,
				    "a: w.* = shard(1) over ranks 0-3\n"
				    "w.1 = shard(0) over ranks 4,6\nnorm.* = replicated\n",
				    reason),
			 0);
	const struct hk_mapping_layout *of =
	    hk_mapping_layout(&mapping, HK_SIDE_A, HK_SIDE_B, 2, "w.1");
	assert_non_null(of);
	assert_int_equal(of->dimension, 1);
	of = hk_mapping_layout(&mapping, HK_SIDE_B, HK_SIDE_B, 6, "w.1");
	assert_non_null(of);
	assert_int_equal(of->dimension, 0);
	assert_null(hk_mapping_layout(&mapping, HK_SIDE_B, HK_SIDE_B, 5, "w.1"));
	assert_null(hk_mapping_layout(&mapping, HK_SIDE_B, HK_SIDE_B, 2, "w.2"));
	of = hk_mapping_layout(&mapping, HK_SIDE_B, HK_SIDE_B, 5, "norm.weight");
	assert_true(of && of->replicated);
	hk_mapping_fini(&mapping);
}

static void invalid_statements_name_their_line(void **state)
{
	static const char *const texts[] = {"a",
					    "= b",
					    "a =",
					    "* = * *",
					    "x = shard(",
					    "x = shard(0) over ranks",
					    "x = shard(0) over ranks 3-1",
					    "*.*.*.*.*.*.*.*.* = b",
					    "a b = c",
					    "a = = c",
					    "rank one = rank 2",
					    "x = shared(0) over ranks 0-3"};
	char line[64], reason[HK_MAPPING_REASON_BYTES];
	struct hk_mapping mapping;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		snprintf(line, sizeof(line), "a = b\n\n%s\n", texts[i]);
		assert_int_equal(mapping_of(&mapping, line, reason), -EINVAL);
		assert_non_null(strstr(reason, "line 3: "));
		assert_int_equal(mapping.name_count, 0);
	}
	assert_int_equal(hk_mapping_read(&mapping, "/nonexistent/mapping", reason), -ENOENT);
}

static void numbers_are_equal_where_names_mean_the_same(void **state)
{
	char reason[HK_MAPPING_REASON_BYTES];
	struct hk_mapping mapping;

	(void)state;
	assert_int_equal(mapping_of(&mapping, "torch.relu = my.ReLU\n", reason), 0);
	struct hk_names *names = hk_names_new(&mapping);
	assert_non_null(names);
	uint32_t relu = hk_names_number(names, HK_SIDE_A, HK_DUMP_API, "torch.relu");
	assert_int_equal(relu, hk_names_number(names, HK_SIDE_B, HK_DUMP_API, "my.ReLU"));
	assert_int_not_equal(relu, hk_names_number(names, HK_SIDE_B, HK_DUMP_API, "torch.relu"));
	assert_int_not_equal(relu, hk_names_number(names, HK_SIDE_B, HK_DUMP_MODULE, "my.ReLU"));
	hk_names_free(names);
	hk_mapping_fini(&mapping);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(normal_forms_of_frameworks_are_equal),
	    cmocka_unit_test(wrappers_of_modules_are_left_out),
	    cmocka_unit_test(mapping_carries_what_stars_cover),
	    cmocka_unit_test(layouts_belong_to_a_side_and_ranks),
	    cmocka_unit_test(invalid_statements_name_their_line),
	    cmocka_unit_test(numbers_are_equal_where_names_mean_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
