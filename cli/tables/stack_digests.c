#include "cli/tables/stack_digests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "report/model/stacks.h"

int hk_stack_digests_make(struct hk_stack_digests *digests, const Hk__Process *process)
{
	struct hk_stacks_frame frame;
	uint32_t count = 0;

	free(digests->list);
	bool valid = hk_stacks_valid(process);

	while (valid && hk_stacks_frame(process, count + 1, &frame)) {
		count++;
	}
	digests->list = calloc((size_t)count + 1, sizeof(*digests->list));
	digests->frames = digests->list ? count : 0;
	if (!digests->list) {
		return -ENOMEM;
	}
	for (uint32_t number = 1; number <= count; number++) {
		hk_stacks_frame(process, number, &frame);
		uint64_t seed = digests->list[frame.caller] ^ frame.address;
		bool python = hk_stacks_is_python(&frame);
		digests->list[number] = XXH3_64bits_withSeed(
		    frame.path, strlen(frame.path), seed * 31 + (python ? 1 : frame.object));
		if (python) {
			digests->list[number] =
			    XXH3_64bits_withSeed(frame.name, strlen(frame.name),
						 digests->list[number] + frame.first_line);
		}
	}
	return 0;
}
