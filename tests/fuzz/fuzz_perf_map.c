/* links: hk_collector */
/* Lines of /tmp/perf-PID.map, which any program writes. Each name found is in a line of the input.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/symbol/perf_map.h"

#define ADDRESSES 5

#define REQUIRE(condition)          \
	do {                        \
		if (!(condition)) { \
			abort();    \
		}                   \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t addresses[ADDRESSES] = {0, 0x1000, 0x1000, 0x1fff, UINT64_MAX};
	struct hk_perf_map_name names[ADDRESSES];
	FILE *map = size > 0 ? fmemopen((void *)data, size, "r") : NULL;

	if (!map) {
		return 0;
	}
	hk_perf_map_find(map, addresses, ADDRESSES, names);
	fclose(map);
	REQUIRE(strcmp(names[1].text, names[2].text) == 0);
	for (size_t i = 0; i < ADDRESSES; i++) {
		size_t length = strnlen(names[i].text, sizeof(names[i].text));
		REQUIRE(length < sizeof(names[i].text));
		REQUIRE(memmem(data, size, names[i].text, length));
		REQUIRE(!strchr(names[i].text, '\n'));
	}
	return 0;
}
