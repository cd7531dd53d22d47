/* apis_numbers.h: what a block of analysis knows of one API. A plain value, protected by the GIL;
 * all times in ns. */
#ifndef HK_PYTHON_APIS_NUMBERS_H
#define HK_PYTHON_APIS_NUMBERS_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#define HK_API_BUCKETS (36u * 32u)

struct hk_api_numbers {
	uint64_t calls, errors, total_ns, min_ns, max_ns;
	uint64_t bucket[HK_API_BUCKETS];
};

/* A call took NS; FAILED: it raised. Makes *NUMBERS, by malloc, if it is NULL; without memory the
 * call is left out. */
void hk_api_numbers_add(struct hk_api_numbers **numbers, uint64_t ns, bool failed);

/* New tuple (calls, errors, total, min, p50, p99, max) of NUMBERS, times in ns. */
PyObject *hk_api_numbers_tuple(const struct hk_api_numbers *numbers);

#endif
