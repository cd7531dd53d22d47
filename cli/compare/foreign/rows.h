/* rows.h: the rows of one rank of another tool's dump, in memory, as `struct hk_values`. Elements
 * stay in their files until they are asked for. One owner. */
#ifndef HK_CLI_COMPARE_FOREIGN_ROWS_H
#define HK_CLI_COMPARE_FOREIGN_ROWS_H

#include "cli/compare/source.h"

struct hk_foreign_rows;

/* Returns NULL without memory. */
struct hk_foreign_rows *hk_foreign_rows_new(uint32_t rank, const char *about);

/* The rows as values; `close` frees them. */
struct hk_values *hk_foreign_rows_values(struct hk_foreign_rows *rows);

/* Where the elements of a row are. */
struct hk_foreign_elements {
	const char *file;	     /* copied; NULL: nowhere */
	struct hk_sampling sampling; /* step 0: all elements are there */
};

/* Adds ROW. Its texts and shape are copied, NULL texts become "". Returns 0, -E2BIG or -ENOMEM. */
int hk_foreign_rows_add(struct hk_foreign_rows *rows, const struct hk_dump_row *row,
			const struct hk_foreign_elements *elements);

/* A stack of COUNT frames, innermost first; they are copied. Returns 0 or -ENOMEM. */
int hk_foreign_rows_stack(struct hk_foreign_rows *rows, const char *const *frames, uint32_t count,
			  uint32_t *ret_stack);

/* The row that was added as number INDEX, to complete it. */
struct hk_dump_row *hk_foreign_rows_at(struct hk_foreign_rows *rows, size_t index);
size_t hk_foreign_rows_count(const struct hk_foreign_rows *rows);

/* Says why rows are missing; the first reason is kept. */
void hk_foreign_rows_damaged(struct hk_foreign_rows *rows, const char *reason);

/* Statistics of which nothing is known but the number of elements. */
struct hk_statistics hk_foreign_statistics(const uint64_t *shape, uint32_t dimensions);

#endif
