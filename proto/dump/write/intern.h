/* intern.h: numbers for byte strings, the same for equal ones. One thread at a time. */
#ifndef HK_DUMP_INTERN_H
#define HK_DUMP_INTERN_H

#include <stddef.h>
#include <stdint.h>

struct hk_intern {
	struct hk_intern_entry *entries; /* by number */
	uint32_t *slots;		 /* number + 1, or 0; a power of two of them */
	uint32_t count, slot_count;
	size_t bytes, bytes_max; /* of the strings */
};

/* The strings may take up BYTES_MAX. */
void hk_intern_init(struct hk_intern *intern, size_t bytes_max);
void hk_intern_fini(struct hk_intern *intern);

/* The number of SIZE BYTES, which are copied; from 0. HK_DUMP_NONE if there is no room. A number
 * that is the former intern->count is new. */
uint32_t hk_intern_number(struct hk_intern *intern, const void *bytes, size_t size);

#endif
