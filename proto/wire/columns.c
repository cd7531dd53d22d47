#include "wire/columns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_FLOOR 16u
#define ROOM_STEP 256u /* buckets */
#define STRIDE 8u
/* As in ring/segment.h and sketch/histogram.h, which this layer does not link. */
#define SITES_MAX (1u << 20)
#define BUCKETS_MAX 1152u

/* The columns of 64-bit values; DO is applied to each of them. */
#define WORDS(DO) \
	DO(calls) \
	DO(errors) DO(total_ns) DO(self_ns) DO(outermost_ns) DO(bytes) DO(min_ns) DO(max_ns)

/* Columns that are left out if they are all zeros. */
#define SAMPLES(DO)         \
	DO(sampled)         \
	DO(sampled_ns)      \
	DO(sampled_self_ns) \
	DO(sampled_outermost_ns) DO(sampled_bytes) DO(device_ns) DO(stacks) DO(inner_calls)

/* All other columns with an element per row. */
#define COLUMNS(DO) DO(site) WORDS(DO) DO(buckets)

/* Number of valid buckets of the next row, which must exist. */
static size_t next_buckets(const struct hk_columns_walk *walk)
{
	const Hk__Cells *columns = walk->columns;
	size_t end = columns->n_bucket < columns->n_count ? columns->n_bucket : columns->n_count;
	size_t left = walk->bucket < end ? end - walk->bucket : 0;
	size_t buckets = walk->row < columns->n_buckets ? columns->buckets[walk->row] : 0;
	return buckets < left ? buckets : left;
}

void hk_columns_skip(struct hk_columns_walk *walk)
{
	walk->bucket += next_buckets(walk);
	walk->row++;
}

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
	SAMPLES(READ)
#undef READ
	ret_row->buckets = next_buckets(walk);
	ret_row->bucket = columns->bucket + (ret_row->buckets ? walk->bucket : 0);
	ret_row->count = columns->count + (ret_row->buckets ? walk->bucket : 0);
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
#define COUNT(name) even &= columns->n_##name == columns->n_site || columns->n_##name == 0;
	SAMPLES(COUNT)
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
#define RESIZE(name) \
	r = r < 0 || !columns->name ? r : resize((void **)&columns->name, rows, sizeof(uint64_t));
	SAMPLES(RESIZE)
#undef RESIZE
	return r < 0 ? r : resize((void **)&columns->buckets, rows, sizeof(*columns->buckets));
}

static int resize_buckets(Hk__Cells *columns, size_t buckets)
{
	int r = resize((void **)&columns->bucket, buckets, sizeof(*columns->bucket));
	return r < 0 ? r : resize((void **)&columns->count, buckets, sizeof(*columns->count));
}

/* Gives COLUMNS the columns of samples that OTHER has. */
static int add_samples(Hk__Cells *columns, const Hk__Cells *other)
{
	int r = 0;
#define ADD(name)                                                                    \
	if (r == 0 && other->n_##name > 0 && !columns->name) {                       \
		columns->name = calloc(columns->n_site + 1, sizeof(*columns->name)); \
		columns->n_##name = columns->name ? columns->n_site : 0;             \
		r = columns->name ? 0 : -ENOMEM;                                     \
	}
	SAMPLES(ADD)
#undef ADD
	return r;
}

static void drop_zeros(uint64_t **column, size_t *count)
{
	for (size_t i = 0; i < *count; i++) {
		if ((*column)[i] != 0) {
			return;
		}
	}
	free(*column);
	*column = NULL;
	*count = 0;
}

static size_t enough(size_t room, size_t needed)
{
	room = room ? room : ROOM_FLOOR;
	while (room < needed) {
		room *= 2;
	}
	return room;
}

/* Makes room for this many rows and buckets in all. */
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
#define ALL(name) .n_##name = 1,
	if (add_samples(columns, &(const Hk__Cells){SAMPLES(ALL)}) < 0) {
		return -ENOMEM;
	}
#undef ALL
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

/* Makes room for another row with this many buckets. */
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
	SAMPLES(APPEND)
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
#define DROP(name) drop_zeros(&columns->name, &columns->n_##name);
		SAMPLES(DROP)
#undef DROP
		/* Shrinking does not fail; if it did, spare room would remain. */
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

/* A bucket and a row that columns lack; AT is their position, counted before any insertion. */
struct missing_bucket {
	size_t at, row; /* row: number of the row, NEW_ROW in a missing row */
	uint64_t count;
	uint32_t bucket;
};
#define NEW_ROW SIZE_MAX

struct missing_row {
	size_t at;
	struct hk_columns_row row;
};

/* In the order of the columns. */
struct missing {
	struct missing_bucket *buckets;
	struct missing_row *rows;
	size_t bucket_count, bucket_room, row_count, row_room;
};

static int miss_bucket(struct missing *missing, const struct missing_bucket *bucket)
{
	if (missing->bucket_count == missing->bucket_room) {
		size_t room = enough(missing->bucket_room, missing->bucket_room + 1);
		if (resize((void **)&missing->buckets, room, sizeof(*missing->buckets)) < 0) {
			return -ENOMEM;
		}
		missing->bucket_room = room;
	}
	missing->buckets[missing->bucket_count++] = *bucket;
	return 0;
}

/* Notes that ROW is missing at AT, with its buckets at BUCKET. */
static int miss_row(struct missing *missing, size_t at, size_t bucket,
		    const struct hk_columns_row *row)
{
	int r = 0;
	if (missing->row_count == missing->row_room) {
		size_t room = enough(missing->row_room, missing->row_room + 1);
		if (resize((void **)&missing->rows, room, sizeof(*missing->rows)) < 0) {
			return -ENOMEM;
		}
		missing->row_room = room;
	}
	missing->rows[missing->row_count++] = (struct missing_row){at, *row};
	for (size_t i = 0; i < row->buckets && r == 0; i++) {
		r = miss_bucket(missing, &(struct missing_bucket){bucket, NEW_ROW, row->count[i],
								  row->bucket[i]});
	}
	return r;
}

/* Index of the first of VALUES, which rise, from AT on that is not below VALUE; END if all are. */
static size_t find(const uint32_t *values, size_t at, size_t end, uint32_t value)
{
	while (end - at > STRIDE && values[at + STRIDE - 1] < value) {
		at += STRIDE;
	}
	/* Counted, not searched: the processor could not predict the end of a search. */
	size_t last = end - at > STRIDE ? at + STRIDE : end, below = 0;
	for (size_t i = at; i < last; i++) {
		below += values[i] < value;
	}
	return at + below;
}

/* Replaces counts of row number ROW, whose buckets begin at AT, by those of CHANGE. */
static int overwrite_buckets(Hk__Cells *columns, size_t row, size_t at,
			     const struct hk_columns_row *change, struct missing *missing)
{
	const size_t end = at + columns->buckets[row];
	int r = 0;
	for (size_t i = 0; i < change->buckets && r == 0; i++) {
		const uint32_t bucket = change->bucket[i];
		at = find(columns->bucket, at, end, bucket);
		if (at < end && columns->bucket[at] == bucket) {
			columns->count[at] = change->count[i];
		} else {
			r = miss_bucket(
			    missing, &(struct missing_bucket){at, row, change->count[i], bucket});
		}
	}
	return r;
}

/* Replaces existing values by those of CHANGE, and collects in MISSING what does not exist. */
static int overwrite(Hk__Cells *columns, const Hk__Cells *change, struct missing *missing)
{
	struct hk_columns_walk changes = {.columns = change};
	struct hk_columns_row new;
	size_t row = 0, bucket = 0;
	int r = 0;
	while (r == 0 && hk_columns_next(&changes, &new)) {
		while (row < columns->n_site && columns->site[row] < new.site) {
			bucket += columns->buckets[row++];
		}
		if (row == columns->n_site || columns->site[row] != new.site) {
			r = miss_row(missing, row, bucket, &new);
			continue;
		}
#define WRITE(name) columns->name[row] = new.name;
		WORDS(WRITE)
#undef WRITE
#define WRITE(name)                            \
	if (columns->name) {                   \
		columns->name[row] = new.name; \
	}
		SAMPLES(WRITE)
#undef WRITE
		r = overwrite_buckets(columns, row, bucket, &new, missing);
	}
	return r;
}

/* Inserts buckets, the last one first, so that each moves once. The caller has made room. */
static void insert_buckets(Hk__Cells *columns, const struct missing *missing)
{
	size_t end = columns->n_bucket;
	columns->n_bucket = columns->n_count = end + missing->bucket_count;
	for (size_t shift = missing->bucket_count; shift > 0; shift--) {
		const struct missing_bucket *in = &missing->buckets[shift - 1];
		size_t to = in->at + shift, moved = end - in->at;
		memmove(columns->bucket + to, columns->bucket + in->at,
			moved * sizeof(*columns->bucket));
		memmove(columns->count + to, columns->count + in->at,
			moved * sizeof(*columns->count));
		columns->bucket[to - 1] = in->bucket;
		columns->count[to - 1] = in->count;
		if (in->row != NEW_ROW) {
			columns->buckets[in->row]++;
		}
		end = in->at;
	}
}

/* Inserts rows in the same way. */
static void insert_rows(Hk__Cells *columns, const struct missing *missing)
{
	const size_t rows = columns->n_site + missing->row_count;
	size_t end = columns->n_site;
	for (size_t shift = missing->row_count; shift > 0; shift--) {
		const struct missing_row *in = &missing->rows[shift - 1];
		size_t to = in->at + shift, moved = end - in->at;
#define MOVE(name) \
	memmove(columns->name + to, columns->name + in->at, moved * sizeof(*columns->name));
		COLUMNS(MOVE)
#undef MOVE
#define MOVE(name)                                                  \
	if (columns->name) {                                        \
		memmove(columns->name + to, columns->name + in->at, \
			moved * sizeof(*columns->name));            \
		columns->name[to - 1] = in->row.name;               \
		columns->n_##name = rows;                           \
	}
		SAMPLES(MOVE)
#undef MOVE
		columns->site[to - 1] = in->row.site;
		columns->buckets[to - 1] = (uint32_t)in->row.buckets;
#define PUT(name) columns->name[to - 1] = in->row.name;
		WORDS(PUT)
#undef PUT
		end = in->at;
	}
#define COUNT(name) columns->n_##name = rows;
	COLUMNS(COUNT)
#undef COUNT
}

/* A capacity with reserve, so that most insertions do not reallocate. */
static size_t roomy(size_t count)
{
	return (count + ROOM_STEP - 1) / ROOM_STEP * ROOM_STEP;
}

static int insert(Hk__Cells *columns, const struct missing *missing)
{
	int r = 0;
	if (missing->row_count > 0) {
		r = resize_rows(columns, columns->n_site + missing->row_count);
	}
	if (missing->bucket_count > 0 && r == 0) {
		r = resize_buckets(columns, roomy(columns->n_bucket + missing->bucket_count));
	}
	if (r == 0) {
		/* Buckets first: they refer to rows by their old numbers. */
		insert_buckets(columns, missing);
		insert_rows(columns, missing);
	}
	return r;
}

/* Prepares columns to merge into: allocates them, and empty histograms if they were left out. */
static int make_whole(Hk__Cells **columns)
{
	Hk__Cells *whole = *columns;
	if (!whole) {
		whole = malloc(sizeof(*whole));
		if (!whole) {
			return -ENOMEM;
		}
		hk__cells__init(whole);
		*columns = whole;
	}
	if (whole->n_buckets != whole->n_site) {
		uint32_t *buckets = calloc(whole->n_site, sizeof(*buckets));
		if (!buckets) {
			return -ENOMEM;
		}
		free(whole->buckets);
		whole->buckets = buckets;
		whole->n_buckets = whole->n_site;
	}
	return 0;
}

int hk_columns_merge(Hk__Cells **columns, const Hk__Cells *change)
{
	struct missing missing = {0};
	if (hk_columns_rows(change) == 0) {
		return 0;
	}
	int r = make_whole(columns);
	r = r < 0 ? r : add_samples(*columns, change);
	r = r < 0 ? r : overwrite(*columns, change, &missing);
	if (r == 0 && missing.row_count + missing.bucket_count > 0) {
		r = insert(*columns, &missing);
	}
	free(missing.buckets);
	free(missing.rows);
	return r;
}

/* Adds the values of ROW that BEFORE lacks or has with another value to BUILDER. */
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
	SAMPLES(COMPARE)
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
