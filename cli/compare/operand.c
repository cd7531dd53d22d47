#include "cli/compare/operand.h"

#include <stdlib.h>

#include "cli/compare/sample.h"

int hk_operand_init(struct hk_operand *operand, struct hk_shards *shards, enum hk_mapping_side side,
		    struct hk_values *values, uint32_t index)
{
	*operand = (struct hk_operand){.values = values, .index = index};
	int r = hk_shards_join(shards, side, values, index, &operand->joined);

	operand->is_joined = r == 1;
	if (operand->is_joined) {
		operand->row = operand->joined.row;
		operand->row.shape = operand->joined.shape;
	} else {
		operand->joined.elements = NULL;
		values->ops->row(values, index, &operand->row);
	}
	operand->tensor = (struct hk_tensor){.data = operand->joined.elements,
					     .dtype = operand->row.dtype,
					     .dimensions = operand->row.dimensions,
					     .shape = operand->row.shape};
	return r < 0 ? r : 0;
}

void hk_operand_fini(struct hk_operand *operand)
{
	free(operand->joined.elements);
	free(operand->sample);
}

/* Reads the elements of one side. Returns whether they are there. */
static bool elements_read(struct hk_operand *operand)
{
	const char *reason;
	struct hk_values *values = operand->values;

	if (!operand->is_joined && operand->row.has_payload) {
		operand->tensor.data = values->ops->elements(values, operand->index, &reason);
		/* Some figures of other tools' rows are known once their elements are read. */
		values->ops->row(values, operand->index, &operand->row);
	}
	/* A tool may store elements alone. */
	if (operand->tensor.data && (operand->row.flags & HK_DUMP_NO_STATISTICS)) {
		(void)hk_statistics_take(&operand->tensor, &operand->row.statistics);
	}
	return operand->tensor.data != NULL;
}

static bool is_sampled(const struct hk_operand *operand, struct hk_sampling *sampling)
{
	const struct hk_values *values = operand->values;

	return !operand->is_joined && values->ops->sampling &&
	       values->ops->sampling(values, operand->index, sampling);
}

/* Makes a tensor of one dimension of the sample of OPERAND, which has all elements unless SAMPLED.
 * Returns false without memory. */
static bool sample_take(struct hk_operand *operand, const struct hk_sampling *sampling,
			bool sampled)
{
	uint64_t count = operand->row.statistics.count;
	size_t size = hk_dtype_bytes(operand->row.dtype), bytes;

	operand->sample_count = hk_sample_count(sampling, count);
	if (!sampled) {
		if (__builtin_mul_overflow(operand->sample_count, size, &bytes) ||
		    !(operand->sample = malloc(bytes + 1))) {
			return false;
		}
		hk_sample_take(sampling, operand->tensor.data, count, size, operand->sample);
		operand->tensor.data = operand->sample;
	}
	operand->tensor.shape = &operand->sample_count;
	operand->tensor.dimensions = 1;
	return true;
}

bool hk_operands_read(struct hk_operand *a, struct hk_operand *b, bool transposed)
{
	struct hk_sampling of_a = {.step = 0}, of_b = {.step = 0};

	if (!elements_read(a) || !elements_read(b)) {
		return false;
	}
	bool a_sampled = is_sampled(a, &of_a), b_sampled = is_sampled(b, &of_b);
	if (!a_sampled && !b_sampled) {
		return true;
	}
	if (transposed ||
	    (a_sampled && b_sampled && (of_a.edge != of_b.edge || of_a.step != of_b.step))) {
		return false;
	}
	const struct hk_sampling *sampling = a_sampled ? &of_a : &of_b;
	return sample_take(a, sampling, a_sampled) && sample_take(b, sampling, b_sampled);
}
