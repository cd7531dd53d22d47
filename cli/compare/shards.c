#include "cli/compare/shards.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare/shape.h"

/* Rows of one part by what names them. */
struct entry {
	uint64_t key;
	uint32_t row;
};

struct index {
	struct entry *entries; /* NULL until they are needed */
	size_t count;
};

struct hk_shards {
	struct hk_comparison *comparison;
	const struct hk_mapping *mapping;
	struct index *indices[2]; /* of each part of both sides */
};

/* The shards of one tensor, in their order. */
struct parts {
	struct hk_values *values;
	struct hk_dump_row row;
	uint32_t index;
};

enum hk_mapping_side hk_shards_larger(const struct hk_comparison *comparison)
{
	return comparison->b.parts.count > comparison->a.parts.count ? HK_SIDE_B : HK_SIDE_A;
}

struct hk_shards *hk_shards_new(struct hk_comparison *comparison, const struct hk_mapping *mapping)
{
	struct hk_shards *shards = calloc(1, sizeof(*shards));

	if (!shards) {
		return NULL;
	}
	shards->comparison = comparison;
	shards->mapping = mapping;
	shards->indices[HK_SIDE_A] = calloc(comparison->a.parts.count + 1, sizeof(struct index));
	shards->indices[HK_SIDE_B] = calloc(comparison->b.parts.count + 1, sizeof(struct index));
	return shards->indices[HK_SIDE_A] && shards->indices[HK_SIDE_B] ? shards
									: hk_shards_free(shards);
}

static void indices_free(struct index *indices, size_t count)
{
	for (size_t i = 0; indices && i < count; i++) {
		free(indices[i].entries);
	}
	free(indices);
}

struct hk_shards *hk_shards_free(struct hk_shards *shards)
{
	if (shards) {
		indices_free(shards->indices[HK_SIDE_A], shards->comparison->a.parts.count);
		indices_free(shards->indices[HK_SIDE_B], shards->comparison->b.parts.count);
		free(shards);
	}
	return NULL;
}

/* ---- the same row of another rank ---- */

static uint64_t mixed(uint64_t hash, const void *bytes, size_t count)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < count; i++) {
		hash = (hash ^ at[i]) * 0x100000001b3u;
	}
	return hash;
}

static uint64_t key_of(const struct hk_dump_row *row)
{
	const uint64_t numbers[] = {row->step, row->kind, row->phase, row->number, row->role};
	uint64_t hash = mixed(0xcbf29ce484222325u, numbers, sizeof(numbers));

	hash = mixed(hash, row->name, strlen(row->name) + 1);
	return mixed(hash, row->slot, strlen(row->slot));
}

static bool is_same(const struct hk_dump_row *a, const struct hk_dump_row *b)
{
	return a->step == b->step && a->kind == b->kind && a->phase == b->phase &&
	       a->number == b->number && a->role == b->role && strcmp(a->name, b->name) == 0 &&
	       strcmp(a->slot, b->slot) == 0;
}

static int by_key(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->key != b->key) {
		return a->key < b->key ? -1 : 1;
	}
	return (a->row > b->row) - (a->row < b->row);
}

static int index_fill(struct index *index, const struct hk_values *values)
{
	if (index->entries) {
		return 0;
	}
	index->entries = calloc(values->count + 1, sizeof(*index->entries));
	if (!index->entries) {
		return -ENOMEM;
	}
	index->count = values->count;
	for (size_t i = 0; i < values->count; i++) {
		struct hk_dump_row row;
		values->ops->row(values, i, &row);
		index->entries[i] = (struct entry){key_of(&row), (uint32_t)i};
	}
	qsort(index->entries, index->count, sizeof(*index->entries), by_key);
	return 0;
}

/* Finds the row that VALUES have for LIKE. Returns 0 or -ENOENT. */
static int row_find(const struct index *index, const struct hk_values *values,
		    const struct hk_dump_row *like, uint32_t *ret_row)
{
	uint64_t key = key_of(like);
	size_t low = 0, high = index->count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		if (index->entries[middle].key < key) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	for (; low < index->count && index->entries[low].key == key; low++) {
		struct hk_dump_row row;
		values->ops->row(values, index->entries[low].row, &row);
		if (is_same(&row, like)) {
			*ret_row = index->entries[low].row;
			return 0;
		}
	}
	return -ENOENT;
}

/* ---- the shards of a row ---- */

static int part_find(struct hk_shards *shards, enum hk_mapping_side side, uint32_t rank,
		     const struct hk_dump_row *like, struct parts *part)
{
	struct hk_dump_set *set =
	    side == HK_SIDE_A ? &shards->comparison->a : &shards->comparison->b;
	char reason[HK_SOURCE_REASON_BYTES];

	for (size_t i = 0; i < set->parts.count; i++) {
		if (set->parts.list[i].rank != rank) {
			continue;
		}
		part->values = hk_dump_set_values(set, i, reason);
		if (!part->values) {
			return -ENOENT;
		}
		int r = index_fill(&shards->indices[side][i], part->values);
		r = r ? r : row_find(&shards->indices[side][i], part->values, like, &part->index);
		if (r == 0) {
			part->values->ops->row(part->values, part->index, &part->row);
		}
		return r;
	}
	return -ENOENT;
}

static size_t ranks_of(const struct hk_mapping_layout *layout)
{
	size_t count = 0;

	for (size_t i = 0; i < layout->span_count; i++) {
		count += (size_t)layout->spans[i].last - (size_t)layout->spans[i].first + 1;
	}
	return count;
}

static int parts_find(struct hk_shards *shards, enum hk_mapping_side side,
		      const struct hk_mapping_layout *layout, const struct hk_dump_row *like,
		      struct parts *parts)
{
	size_t count = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < layout->span_count; i++) {
		for (int32_t rank = layout->spans[i].first; r == 0 && rank <= layout->spans[i].last;
		     rank++) {
			r = part_find(shards, side, (uint32_t)rank, like, &parts[count++]);
		}
	}
	return r;
}

/* Sets JOINED's row to the whole's. Returns 0, or -EINVAL if shapes or dtypes do not fit. */
static int whole_shape(const struct parts *parts, size_t count, uint32_t dimension,
		       struct hk_joined *joined)
{
	const struct hk_dump_row *first = &parts[0].row;
	uint64_t size = 0;

	if (dimension >= first->dimensions || first->dimensions > HK_TENSOR_DIMENSIONS) {
		return -EINVAL;
	}
	for (size_t i = 0; i < count; i++) {
		const struct hk_dump_row *row = &parts[i].row;
		bool fits = row->dtype == first->dtype && row->dimensions == first->dimensions;
		for (uint32_t j = 0; fits && j < first->dimensions; j++) {
			fits = j == dimension || row->shape[j] == first->shape[j];
		}
		if (!fits || __builtin_add_overflow(size, row->shape[dimension], &size)) {
			return -EINVAL;
		}
	}
	joined->row = *first;
	memcpy(joined->shape, first->shape, first->dimensions * sizeof(*first->shape));
	joined->shape[dimension] = size;
	joined->row.shape = joined->shape;
	return 0;
}

/* ---- elements ---- */

/* Copies shard ROW, whose first element of DIMENSION is at element AT of the whole. */
static void part_copy(const struct hk_joined *joined, const struct hk_dump_row *row,
		      const void *elements, uint32_t dimension, uint64_t at)
{
	size_t inner = hk_dtype_bytes(row->dtype), outer = 1;

	for (uint32_t i = 0; i < dimension; i++) {
		outer *= row->shape[i];
	}
	for (uint32_t i = dimension + 1; i < row->dimensions; i++) {
		inner *= row->shape[i];
	}
	size_t length = inner * row->shape[dimension], step = inner * joined->shape[dimension];
	for (size_t i = 0; i < outer; i++) {
		memcpy((char *)joined->elements + i * step + inner * at,
		       (const char *)elements + i * length, length);
	}
}

static bool elements_join(struct hk_joined *joined, const struct parts *parts, size_t count,
			  uint32_t dimension)
{
	uint64_t elements = hk_shape_count(&joined->row), bytes, at = 0;
	const char *reason;

	if (__builtin_mul_overflow(elements, hk_dtype_bytes(joined->row.dtype), &bytes) ||
	    bytes > SIZE_MAX - 1) {
		return false;
	}
	joined->elements = malloc((size_t)bytes + 1);
	for (size_t i = 0; joined->elements && i < count; i++) {
		struct hk_values *values = parts[i].values;
		const void *part = parts[i].row.has_payload
				       ? values->ops->elements(values, parts[i].index, &reason)
				       : NULL;
		if (!part) {
			free(joined->elements);
			joined->elements = NULL;
			break;
		}
		part_copy(joined, &parts[i].row, part, dimension, at);
		at += parts[i].row.shape[dimension];
	}
	joined->row.has_payload = joined->elements != NULL;
	return joined->elements != NULL;
}

/* ---- statistics ---- */

static void statistics_add(struct hk_statistics *sum, const struct hk_statistics *part)
{
	double a = (double)sum->count, b = (double)part->count, all = a + b;
	double apart = part->mean - sum->mean;
	double squares =
	    sum->deviation * sum->deviation * a + part->deviation * part->deviation * b;

	if (part->count > 0 && sum->count == 0) {
		*sum = *part;
	} else if (part->count > 0) {
		sum->deviation = sqrt((squares + apart * apart * a * b / all) / all);
		sum->mean += apart * b / all;
		sum->l2 = sqrt(sum->l2 * sum->l2 + part->l2 * part->l2);
		sum->max = fmax(sum->max, part->max);
		sum->min = fmin(sum->min, part->min);
		sum->nans += part->nans;
		sum->positive_infs += part->positive_infs;
		sum->negative_infs += part->negative_infs;
		sum->zeros += part->zeros;
		sum->count += part->count;
	}
	sum->digest = 0;
}

static void statistics_join(struct hk_joined *joined, const struct parts *parts, size_t count)
{
	const struct hk_tensor tensor = {.data = joined->elements,
					 .dtype = joined->row.dtype,
					 .dimensions = joined->row.dimensions,
					 .shape = joined->shape};

	joined->row.statistics = (struct hk_statistics){0};
	if (joined->elements && hk_statistics_take(&tensor, &joined->row.statistics) == 0) {
		joined->row.flags &= ~HK_DUMP_NO_STATISTICS;
		return;
	}
	for (size_t i = 0; i < count; i++) {
		joined->row.flags |= parts[i].row.flags & HK_DUMP_NO_STATISTICS;
		statistics_add(&joined->row.statistics, &parts[i].row.statistics);
	}
}

int hk_shards_join(struct hk_shards *shards, enum hk_mapping_side side, struct hk_values *values,
		   uint32_t index, struct hk_joined *joined)
{
	struct hk_dump_row row;

	values->ops->row(values, index, &row);
	const struct hk_mapping_layout *layout = hk_mapping_layout(
	    shards->mapping, side, hk_shards_larger(shards->comparison), values->rank, row.name);
	if (!layout || layout->replicated || row.dtype == HK_DTYPE_NONE) {
		return 0;
	}
	size_t count = ranks_of(layout);
	const struct hk_dump_set *set =
	    side == HK_SIDE_A ? &shards->comparison->a : &shards->comparison->b;
	if (count > set->parts.count) {
		return -ENOENT;
	}
	struct parts *parts = calloc(count, sizeof(*parts));
	if (!parts) {
		return -ENOMEM;
	}
	joined->elements = NULL;
	int r = parts_find(shards, side, layout, &row, parts);
	r = r ? r : whole_shape(parts, count, layout->dimension, joined);
	if (r == 0) {
		(void)elements_join(joined, parts, count, layout->dimension);
		statistics_join(joined, parts, count);
	}
	free(parts);
	return r ? r : 1;
}

/* ---- replicated rows ---- */

static bool is_replicated(const struct hk_comparison *comparison, const struct hk_mapping *mapping,
			  const struct hk_rank_pair *pair, const struct hk_match *match)
{
	enum hk_mapping_side larger = hk_shards_larger(comparison);
	const struct hk_values *values = match->a != HK_MATCH_NONE ? pair->a : pair->b;
	uint32_t index = match->a != HK_MATCH_NONE ? match->a : match->b;
	struct hk_dump_row row;

	values->ops->row(values, index, &row);
	/* The statement is about one side, and the name may be of either. */
	const struct hk_mapping_layout *layout =
	    hk_mapping_layout(mapping, HK_SIDE_A, larger, pair->a->rank, row.name);
	layout = layout ? layout
			: hk_mapping_layout(mapping, HK_SIDE_B, larger, pair->b->rank, row.name);
	return layout && layout->replicated;
}

/* Sets the rows of B that PAIR matches in the malloc'd *RET_ROWS. Returns 0 or -ENOMEM. */
static int matched_rows(const struct hk_rank_pair *pair, bool **ret_rows)
{
	bool *rows = calloc(pair->b->count + 1, sizeof(*rows));

	for (size_t i = 0; rows && i < pair->a->count; i++) {
		if (pair->matches[i].b != HK_MATCH_NONE) {
			rows[pair->matches[i].b] = true;
		}
	}
	*ret_rows = rows;
	return rows ? 0 : -ENOMEM;
}

/* Marks rows of PAIR that OTHER, which shares a rank with it, matches. */
static int pair_mark(const struct hk_comparison *comparison, const struct hk_mapping *mapping,
		     struct hk_rank_pair *pair, const struct hk_rank_pair *other)
{
	bool *b_rows;

	if (pair == other || (pair->a != other->a && pair->b != other->b)) {
		return 0;
	}
	if (matched_rows(other, &b_rows) < 0) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < pair->count; i++) {
		struct hk_match *match = &pair->matches[i];
		bool of_a = match->a != HK_MATCH_NONE;
		bool elsewhere =
		    of_a ? pair->a == other->a && other->matches[match->a].b != HK_MATCH_NONE
			 : pair->b == other->b && b_rows[match->b];
		if (match->level == HK_MATCH_UNMATCHED && elsewhere &&
		    is_replicated(comparison, mapping, pair, match)) {
			match->level = HK_MATCH_ELSEWHERE;
		}
	}
	free(b_rows);
	return 0;
}

int hk_shards_mark_replicated(struct hk_comparison *comparison, const struct hk_mapping *mapping)
{
	int r = 0;

	for (size_t i = 0; mapping->layout_count > 0 && i < comparison->pair_count; i++) {
		for (size_t j = 0; r == 0 && j < comparison->pair_count; j++) {
			r = pair_mark(comparison, mapping, &comparison->pairs[i],
				      &comparison->pairs[j]);
		}
	}
	return r;
}
