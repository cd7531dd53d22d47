/* apis_numbers.h: what a block of analysis knows of one API. A plain value, protected by the GIL;
 * all times in ns. */
#ifndef HK_PYTHON_APIS_NUMBERS_H
#define HK_PYTHON_APIS_NUMBERS_H

#include "apis.h"

#define HK_API_BUCKETS (36u * 32u)

struct hk_api_numbers {
	uint64_t calls, errors, total_ns, min_ns, max_ns;
	uint64_t bucket[HK_API_BUCKETS];
};

#endif
