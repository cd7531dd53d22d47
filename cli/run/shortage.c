#include "cli/run/shortage.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>

#include "ring/segment.h"

/* Limits that are more than enough for a small job, in the units of ulimit. */
static const struct {
	int resource;
	char option;
	unsigned unit;
	uint64_t least;
} limits[] = {
    {RLIMIT_FSIZE, 'f', 1024, 65536}, {RLIMIT_NOFILE, 'n', 1, 64},
    {RLIMIT_AS, 'v', 1024, 1u << 20}, {RLIMIT_DATA, 'd', 1024, 1u << 20},
    {RLIMIT_STACK, 's', 1024, 1024},  {RLIMIT_NPROC, 'u', 1, 1024},
};

const char *hk_shortage_explain(char text[HK_SHORTAGE_BYTES])
{
	*text = '\0';
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]) && !*text; i++) {
		struct rlimit limit;
		if (getrlimit(limits[i].resource, &limit) == 0 &&
		    limit.rlim_cur / limits[i].unit < limits[i].least) {
			snprintf(text, HK_SHORTAGE_BYTES,
				 "ulimit -%c is %" PRIu64 ": set it to %" PRIu64 " or more",
				 limits[i].option, (uint64_t)(limit.rlim_cur / limits[i].unit),
				 limits[i].least);
		}
	}
	return text;
}

bool hk_shortage_of_size(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < HK_FIRST_BYTES;
}
