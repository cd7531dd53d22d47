#include "collector/server/resident.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)
#define SECOND_NS UINT64_C(1000000000)
#define WAIT_NS (2 * SECOND_NS)
#define WAIT_MAX_NS (32 * SECOND_NS)
#define LITTLE (4 * MIB) /* returning less is not worth the page faults of taking it again */

uint64_t hk_resident_bytes(void)
{
	unsigned long long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");
	if (file) {
		if (fscanf(file, "%*u %llu", &pages) != 1) {
			pages = 0;
		}
		fclose(file);
	}
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

void hk_resident_trim(struct hk_resident *resident, uint64_t now)
{
	if (now < resident->next_ns) {
		return;
	}
	uint64_t before = hk_resident_bytes();
	malloc_trim(0);
	uint64_t after = hk_resident_bytes();
	/* The result of malloc_trim() is not used: it is 1 also for pages that were returned
	 * before. */
	bool little = after + LITTLE > before;
	uint64_t wait = little ? 2 * resident->wait_ns : WAIT_NS;
	wait = wait < WAIT_NS ? WAIT_NS : wait;
	resident->wait_ns = wait < WAIT_MAX_NS ? wait : WAIT_MAX_NS;
	resident->next_ns = now + resident->wait_ns;
}
