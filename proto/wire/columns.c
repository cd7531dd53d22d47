#include "wire/columns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_FLOOR 16u
/* As in ring/segment.h and sketch/histogram.h, which this layer does not link. */
#define SITES_MAX (1u << 20)
#define BUCKETS_MAX 1152u

/* The columns of 64-bit values, for what is done to each of them. */
#define WORDS(DO) \
	DO(calls) \
	DO(errors) DO(total_ns) DO(self_ns) DO(outermost_ns) DO(bytes) DO(min_ns) DO(max_ns)

/* ---- reading ---- */

bool hk_columns_next(struct hk_columns_walk *walk, struct hk_columns_row *ret_row)
{
	const Hk__Cells *columns = walk->columns;
	size_t i = walk->row;
	if (i >= hk_columns_rows(columns)) {
		return false;
	}
	ret_row->site = columns->site[i];
#define READ(name) ret_row->name = i < columns->n_##name ? columns->name[i] : 0;
	WORDS(READ)
#undef READ
	size_t end = columns->n_bucket < columns->n_count ? columns->n_bucket : columns->n_count;
	size_t left = walk->bucket < end ? end - walk->bucket : 0;
	size_t buckets = i < columns->n_buckets ? columns->buckets[i] : 0;
	ret_row->buckets = buckets < left ? buckets : left;
	ret_row->bucket = columns->bucket + (left ? walk->bucket : 0);
	ret_row->count = columns->count + (left ? walk->bucket : 0);
	walk->bucket += ret_row->buckets;
	walk->row++;
	return true;
}

static bool rises(const uint32_t *values, size_t count, uint32_t below)
{
	for (size_t i = 1; i < count; i++) {
		if (values[i] <= values[i - 1]) {
			return false;
		}
	}
	return count == 0 || values[count - 1] < below;
}

bool hk_columns_valid(const Hk__Cells *columns)
{
	if (!columns) {
		return true;
	}
	bool even = true;
#define COUNT(name) even &= columns->n_##name == columns->n_site;
	WORDS(COUNT)
#undef COUNT
	if (!even || !rises(columns->site, columns->n_site, SITES_MAX) ||
	    columns->n_bucket != columns->n_count) {
		return false;
	}
	if (columns->n_buckets != columns->n_site) {
		return columns->n_buckets == 0 && columns->n_bucket == 0;
	}
	size_t at = 0;
	for (size_t i = 0; i < columns->n_buckets; i++) {
		if (columns->buckets[i] > columns->n_bucket - at ||
		    !rises(columns->bucket + at, columns->buckets[i], BUCKETS_MAX)) {
			return false;
		}
		at += columns->buckets[i];
	}
	return at == columns->n_bucket;
}

/* ---- making ---- */

static int resize(void **list, size_t count, size_t size)
{
	void *changed = realloc(*list, count * size);
	if (!changed) {
		return -ENOMEM;
	}
	*list = changed;
	return 0;
}

static int resize_rows(Hk__Cells *columns, size_t rows)
{
	int r = resize((void **)&columns->site, rows, sizeof(*columns->site));
#define RESIZE(name) r = r < 0 ? r : resize((void **)&columns->name, rows, sizeof(uint64_t));
	WORDS(RESIZE)
#undef RESIZE
	return r < 0 ? r : resize((void **)&columns->buckets, rows, sizeof(*columns->buckets));
}

static int resize_buckets(Hk__Cells *columns, size_t buckets)
{
	int r = resize((void **)&columns->bucket, buckets, sizeof(*columns->bucket));
	return r < 0 ? r : resize((void **)&columns->count, buckets, sizeof(*columns->count));
}

static size_t enough(size_t room, size_t needed)
{
	room = room ? room : ROOM_FLOOR;
	while (room < needed) {
		room *= 2;
	}
	return room;
}

/* Room for at least so many rows and buckets in all. */
static int reserve(struct hk_columns_builder *builder, size_t rows, size_t buckets)
{
	Hk__Cells *columns = builder->columns;
	if (!columns) {
		columns = builder->columns = malloc(sizeof(*columns));
		if (!columns) {
			return -ENOMEM;
		}
		hk__cells__init(columns);
	}
	if (rows > builder->rows) {
		if (resize_rows(columns, rows) < 0) {
			return -ENOMEM;
		}
		builder->rows = rows;
	}
	if (buckets > builder->buckets) {
		if (resize_buckets(columns, buckets) < 0) {
			return -ENOMEM;
		}
		builder->buckets = buckets;
	}
	return 0;
}

/* Room for another row with so many buckets. */
static int make_room(struct hk_columns_builder *builder, size_t buckets)
{
	size_t rows = hk_columns_rows(builder->columns) + 1;
	size_t all = (builder->columns ? builder->columns->n_bucket : 0) + buckets;
	return rows <= builder->rows && all <= builder->buckets
		   ? 0
		   : reserve(builder, enough(builder->rows, rows), enough(builder->buckets, all));
}

static void append(Hk__Cells *columns, const struct hk_columns_row *row)
{
	columns->site[columns->n_site++] = row->site;
#define APPEND(name) columns->name[columns->n_##name++] = row->name;
	WORDS(APPEND)
#undef APPEND
	columns->buckets[columns->n_buckets++] = (uint32_t)row->buckets;
	if (row->buckets > 0) {
		memcpy(columns->bucket + columns->n_bucket, row->bucket,
		       row->buckets * sizeof(*row->bucket));
		memcpy(columns->count + columns->n_count, row->count,
		       row->buckets * sizeof(*row->count));
	}
	columns->n_bucket += row->buckets;
	columns->n_count += row->buckets;
}

int hk_columns_add(struct hk_columns_builder *builder, const struct hk_columns_row *row)
{
	int r = make_room(builder, row->buckets);
	if (r == 0) {
		append(builder->columns, row);
	}
	return r;
}

Hk__Cells *hk_columns_take(struct hk_columns_builder *builder)
{
	Hk__Cells *columns = builder->columns;
	*builder = (struct hk_columns_builder){0};
	if (columns) {
		/* Making smaller does not fail; if it did, there would be spare room. */
		(void)resize_rows(columns, columns->n_site);
		if (columns->n_bucket > 0) {
			(void)resize_buckets(columns, columns->n_bucket);
		}
	}
	return columns;
}

void hk_columns_drop(struct hk_columns_builder *builder)
{
	if (builder->columns) {
		hk__cells__free_unpacked(builder->columns, NULL);
	}
	*builder = (struct hk_columns_builder){0};
}

/* ---- merging ---- */

/* Puts the counts of CHANGE in the place of those of ROW; false if ROW lacks one of its buckets. */
static bool overwrite_buckets(const struct hk_columns_row *row, uint64_t *count,
			      const struct hk_columns_row *change)
{
	size_t at = 0;
	for (size_t i = 0; i < change->buckets; i++) {
		while (at < row->buckets && row->bucket[at] < change->bucket[i]) {
			at++;
		}
		if (at == row->buckets || row->bucket[at] != change->bucket[i]) {
			return false;
		}
		count[at] = change->count[i];
	}
	return true;
}

/* Merges CHANGE in place; false, with a part of it done, if COLUMNS lack a site or a bucket. */
static bool overwrite(Hk__Cells *columns, const Hk__Cells *change)
{
	struct hk_columns_walk walk = {.columns = columns}, changes = {.columns = change};
	struct hk_columns_row row, new;
	while (hk_columns_next(&changes, &new)) {
		do {
			if (!hk_columns_next(&walk, &row) || row.site > new.site) {
				return false;
			}
		} while (row.site < new.site);
		size_t i = walk.row - 1;
		if (!overwrite_buckets(&row, columns->count + (walk.bucket - row.buckets), &new)) {
			return false;
		}
#define WRITE(name) columns->name[i] = new.name;
		WORDS(WRITE)
#undef WRITE
	}
	return true;
}

/* Puts COUNT in the place of that of BUCKET in the last row, from its bucket FROM on; what was not
 * there is put in. There is room. Returns where the next higher bucket can be. */
static size_t set_last(Hk__Cells *columns, size_t from, uint32_t bucket, uint64_t count)
{
	while (from < columns->n_bucket && columns->bucket[from] < bucket) {
		from++;
	}
	if (from == columns->n_bucket || columns->bucket[from] != bucket) {
		size_t behind = columns->n_bucket - from;
		memmove(&columns->bucket[from + 1], &columns->bucket[from],
			behind * sizeof(*columns->bucket));
		memmove(&columns->count[from + 1], &columns->count[from],
			behind * sizeof(*columns->count));
		columns->bucket[from] = bucket;
		columns->buckets[columns->n_buckets - 1]++;
		columns->n_bucket = ++columns->n_count;
	}
	columns->count[from] = count;
	return from + 1;
}

/* Adds ROW to BUILDER with the values and counts of CHANGE, which has the same site. */
static int add_merged(struct hk_columns_builder *builder, const struct hk_columns_row *row,
		      const struct hk_columns_row *change)
{
	struct hk_columns_row merged = *change;
	merged.bucket = row->bucket;
	merged.count = row->count;
	merged.buckets = row->buckets;
	if (make_room(builder, row->buckets + change->buckets) < 0) {
		return -ENOMEM;
	}
	Hk__Cells *columns = builder->columns;
	size_t from = columns->n_bucket;
	append(columns, &merged);
	for (size_t i = 0; i < change->buckets; i++) {
		from = set_last(columns, from, change->bucket[i], change->count[i]);
	}
	return 0;
}

static int rebuild(Hk__Cells **columns, const Hk__Cells *change)
{
	struct hk_columns_builder builder = {0};
	struct hk_columns_walk walk = {.columns = *columns}, changes = {.columns = change};
	struct hk_columns_row row, new;
	bool more = hk_columns_next(&walk, &row), more_new = hk_columns_next(&changes, &new);
	size_t rows = hk_columns_rows(*columns) + change->n_site;
	size_t buckets = (*columns ? (*columns)->n_bucket : 0) + change->n_bucket;
	int r = reserve(&builder, rows, buckets ? buckets : 1);
	while ((more || more_new) && r == 0) {
		bool old = !more_new || (more && row.site < new.site);
		bool both = !old && more && row.site == new.site;
		r = both ? add_merged(&builder, &row, &new)
			 : hk_columns_add(&builder, old ? &row : &new);
		if (old || both) {
			more = hk_columns_next(&walk, &row);
		}
		if (!old) {
			more_new = hk_columns_next(&changes, &new);
		}
	}
	if (r < 0) {
		hk_columns_drop(&builder);
		return r;
	}
	if (*columns) {
		hk__cells__free_unpacked(*columns, NULL);
	}
	*columns = hk_columns_take(&builder);
	return 0;
}

int hk_columns_merge(Hk__Cells **columns, const Hk__Cells *change)
{
	if (hk_columns_rows(change) == 0 || (*columns && overwrite(*columns, change))) {
		return 0;
	}
	return rebuild(columns, change);
}

/* Adds to BUILDER what ROW has that BEFORE lacks or has otherwise. */
static int add_difference(struct hk_columns_builder *builder, const struct hk_columns_row *row,
			  const struct hk_columns_row *before)
{
	uint32_t bucket[BUCKETS_MAX];
	uint64_t count[BUCKETS_MAX];
	struct hk_columns_row change = *row;
	bool differs = false;
	size_t n = 0;
#define COMPARE(name) differs |= row->name != before->name;
	WORDS(COMPARE)
#undef COMPARE
	for (size_t i = 0, at = 0; i < row->buckets && n < BUCKETS_MAX; i++) {
		while (at < before->buckets && before->bucket[at] < row->bucket[i]) {
			at++;
		}
		if (at == before->buckets || before->bucket[at] != row->bucket[i] ||
		    before->count[at] != row->count[i]) {
			bucket[n] = row->bucket[i];
			count[n++] = row->count[i];
		}
	}
	change.bucket = bucket;
	change.count = count;
	change.buckets = n;
	return differs || n > 0 ? hk_columns_add(builder, &change) : 0;
}

int hk_columns_difference(const Hk__Cells *now, const Hk__Cells *before, Hk__Cells **ret_change)
{
	struct hk_columns_builder builder = {0};
	struct hk_columns_walk walk = {.columns = now}, walk_before = {.columns = before};
	struct hk_columns_row row, old;
	bool more = hk_columns_next(&walk_before, &old);
	while (hk_columns_next(&walk, &row)) {
		while (more && old.site < row.site) {
			more = hk_columns_next(&walk_before, &old);
		}
		bool known = more && old.site == row.site;
		int r =
		    known ? add_difference(&builder, &row, &old) : hk_columns_add(&builder, &row);
		if (r < 0) {
			hk_columns_drop(&builder);
			return r;
		}
	}
	*ret_change = hk_columns_take(&builder);
	return 0;
}

/* ---- older files ---- */

static int by_site(const void *a, const void *b)
{
	const Hk__Cell *x = *(Hk__Cell *const *)a, *y = *(Hk__Cell *const *)b;
	return (x->site > y->site) - (x->site < y->site);
}

static int add_cell(struct hk_columns_builder *builder, const Hk__Cell *cell)
{
	return hk_columns_add(builder, &(struct hk_columns_row){
					   .site = cell->site,
					   .calls = cell->calls,
					   .errors = cell->errors,
					   .total_ns = cell->total_ns,
					   .self_ns = cell->self_ns,
					   .outermost_ns = cell->outermost_ns,
					   .bytes = cell->bytes,
					   .min_ns = cell->min_ns,
					   .max_ns = cell->max_ns,
					   .bucket = cell->bucket,
					   .count = cell->bucket_count,
					   .buckets = cell->n_bucket < cell->n_bucket_count
							  ? cell->n_bucket
							  : cell->n_bucket_count,
				       });
}

int hk_columns_from_cells(Hk__Cell *const *cells, size_t count, Hk__Cells **ret_columns)
{
	struct hk_columns_builder builder = {0};
	const Hk__Cell **sorted = malloc((count + 1) * sizeof(*sorted));
	int r = sorted ? 0 : -ENOMEM;
	if (r == 0 && count > 0) {
		memcpy(sorted, cells, count * sizeof(*sorted));
		qsort(sorted, count, sizeof(*sorted), by_site);
	}
	for (size_t i = 0; i < count && r == 0; i++) {
		if (i == 0 || sorted[i]->site != sorted[i - 1]->site) {
			r = add_cell(&builder, sorted[i]);
		}
	}
	free(sorted);
	if (r < 0) {
		hk_columns_drop(&builder);
		return r;
	}
	*ret_columns = hk_columns_take(&builder);
	return 0;
}
