/* links: hk_collector */
/* A root that lies about its clock: round trips of 33 bytes, four times and a boot. Whatever it
 * says, the map that comes out is one: rising, of one length. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collector/clock/estimator.h"

#define REQUIRE(condition)          \
	do {                        \
		if (!(condition)) { \
			abort();    \
		}                   \
	} while (0)
#define TRIP_BYTES 33u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(struct hk_estimator *estimator)
{
	struct hk_clock_map map;
	Hk__ClockMap shown = HK__CLOCK_MAP__INIT;
	if (!hk_estimator_map(estimator, &map)) {
		return;
	}
	hk_clock_map_show(&map, &shown);
	for (size_t i = 1; i < shown.n_monotonic_ns; i++) {
		REQUIRE(shown.monotonic_ns[i] > shown.monotonic_ns[i - 1]);
	}
	REQUIRE(shown.n_offset_ns == shown.n_monotonic_ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hk_estimator *estimator;
	REQUIRE(hk_estimator_new(&estimator) == 0);
	for (; size >= TRIP_BYTES; data += TRIP_BYTES, size -= TRIP_BYTES) {
		uint64_t times[4];
		uint8_t boot[HK_CLOCK_BOOT_BYTES] = {data[32]};
		memcpy(times, data, sizeof(times));
		const struct hk_clock_trip trip = {times[0], times[1], times[2], times[3]};
		hk_estimator_add(estimator, &trip, boot);
		check(estimator);
	}
	REQUIRE(hk_estimator_period_ns(estimator) > 0);
	hk_estimator_free(estimator);
	return 0;
}
