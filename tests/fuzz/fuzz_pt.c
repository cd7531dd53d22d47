/* links: hk_cli */
/* A .pt file made by an enemy. What is taken must have all its elements. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "cli/compare/array/pt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint8_t seen;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char reason[HK_ARRAY_REASON_BYTES];
	struct hk_array array;

	if (hk_pt_parse(&array, data, size, reason) < 0) {
		return 0;
	}
	size_t bytes = hk_array_measure(&array);
	for (size_t i = 0; i < bytes; i++) {
		seen ^= ((const uint8_t *)array.elements)[i];
	}
	hk_array_free(&array);
	return 0;
}
