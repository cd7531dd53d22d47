/* links: hk_cli */
/* The comparison of two ranks whose rows are anything that source.h allows, in all formats. Each
 * byte chooses from a few values, so that rows of both sides meet. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare/format.h"
#include "cli/compare/run/compare.h"

#define ROWS 96u
#define ROW_BYTES 12u
#define ELEMENTS 64u

struct side {
	struct hk_values values;
	struct hk_dump_row rows[ROWS];
	uint64_t shapes[ROWS][3];
	double elements[ELEMENTS];
};

static void row(const struct hk_values *values, size_t index, struct hk_dump_row *row)
{
	*row = ((const struct side *)values)->rows[index];
}

static const void *elements(struct hk_values *values, size_t index, const char **reason)
{
	(void)index;
	*reason = "";
	return ((struct side *)values)->elements;
}

static uint32_t stack(struct hk_values *values, uint32_t stack, const char *const **ret_frames)
{
	static const char *const frames[] = {"\033[31mf.py:1 f", "g.py:2 g"};

	(void)values;
	*ret_frames = frames;
	return stack % 3;
}

static void nothing_to_close(struct hk_values *values)
{
	(void)values;
}

static const struct hk_values_ops ops = {
    .row = row, .elements = elements, .stack = stack, .close = nothing_to_close};

static const char *name_of(uint8_t byte)
{
	static const char *const names[] = {
	    "torch.relu",      "layers.0",    "layers.0.weight", "",
	    "Functional.relu", "a.b.c.d.e.f", "\xff\x1b[2J",	 "w.1"};

	return names[byte % (sizeof(names) / sizeof(names[0]))];
}

static void row_fill(struct side *side, size_t index, const uint8_t *byte)
{
	struct hk_dump_row *row = &side->rows[index];
	uint64_t *shape = side->shapes[index], count = 1;

	for (int i = 0; i < 3; i++) {
		shape[i] = byte[10] >> (2 * i) & 3;
		count *= i < byte[9] % 4 ? shape[i] : 1;
	}
	*row = (struct hk_dump_row){.sequence = byte[0] % 32,
				    .forward_sequence = byte[1] % 32,
				    .step = byte[2] % 3,
				    .kind = (enum hk_dump_kind)(byte[3] % 3),
				    .phase = (enum hk_dump_phase)(byte[3] / 4 % 6),
				    .role = (enum hk_dump_role)(byte[3] / 28 % 3),
				    .name = name_of(byte[4]),
				    .of = name_of(byte[4] / 8),
				    .number = byte[5] % 4,
				    .slot = byte[5] & 64 ? "0" : "1.0",
				    .device = byte[5] & 128 ? "cpu" : "cuda:0",
				    .scalar = byte[6] == 255 ? "1.5" : NULL,
				    .flags = byte[6] & 0x7f,
				    .dtype = (enum hk_dtype)(byte[7] % HK_DTYPES),
				    .dimensions = byte[9] % 4,
				    .shape = shape,
				    .storage = byte[8] % 5,
				    .version = byte[8] / 5 % 3,
				    .offset = byte[8] / 15 % 4 * (UINT64_MAX / 3),
				    .stack = byte[11] & 1 ? byte[11] : HK_DUMP_NONE,
				    .has_payload = (byte[11] & 6) == 6 && byte[7] % HK_DTYPES != 0};
	row->statistics = (struct hk_statistics){.count = byte[11] & 4 ? count : byte[1],
						 .nans = byte[11] >> 6,
						 .min = -1,
						 .max = byte[7],
						 .mean = byte[11] & 8 ? 0.5 : 1.0 / 0.0,
						 .l2 = byte[10],
						 .digest = byte[11] >> 4 & 3};
}

static size_t side_fill(struct side *side, const uint8_t *data, size_t size)
{
	size_t count = size / ROW_BYTES < ROWS ? size / ROW_BYTES : ROWS;

	side->values = (struct hk_values){.ops = &ops, .count = count, .about = "{}"};
	for (size_t i = 0; i < count; i++) {
		row_fill(side, i, data + i * ROW_BYTES);
	}
	for (size_t i = 0; i < ELEMENTS && i < size; i++) {
		side->elements[i] = data[i] - 100.0;
	}
	return count;
}

static void progress(void *context, uint64_t done, uint64_t total)
{
	(void)context;
	(void)done;
	(void)total;
}

#define FORMAT(name) &hk_comparison_format_##name,
static const struct hk_comparison_format *const formats[] = {HK_COMPARISON_FORMATS(FORMAT)};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct hk_source source = {.name = "fuzz"};
	static struct side a, b;
	const struct hk_mapping mapping = {0};
	const struct hk_compare_options options = {
	    .mapping = &mapping, .factor = 1, .progress = progress};
	struct hk_comparison comparison = {.a = {.path = "a", .source = &source},
					   .b = {.path = "b", .source = &source},
					   .all = true};
	FILE *output = fopen("/dev/null", "w");

	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	side_fill(&a, data, size / 2);
	side_fill(&b, data + size / 2, size - size / 2);
	comparison.pairs = calloc(1, sizeof(*comparison.pairs));
	if (!output || !comparison.pairs) {
		abort();
	}
	comparison.pair_count = 1;
	comparison.pairs[0] = (struct hk_rank_pair){.a = &a.values, .b = &b.values, .factor = 1};
	if (hk_compare_pairs(&comparison, &options) == 0) {
		for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
			(void)formats[i]->write(&comparison, output);
		}
	}
	fclose(output);
	hk_comparison_fini(&comparison);
	return 0;
}
