/* left_out: asks a stream engine for messages one by one, as a root does for those that the engine
 * left out.
 *
 *   left_out URL SUBJECT BEHIND BEFORE
 *
 * Prints the numbers of the messages of SUBJECT behind message BEHIND and before message BEFORE.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/engine/search.h"

#define WAIT_MS 10000u

int main(int argc, char **argv)
{
	const struct hk_access access = {0};
	char problem[HK_ACCESS_PROBLEM_BYTES] = "";
	struct hk_engine *engine;
	natsMsg *message;

	if (argc != 5) {
		fprintf(stderr, "usage: left_out URL SUBJECT BEHIND BEFORE\n");
		return 2;
	}
	uint64_t at = strtoull(argv[3], NULL, 10), before = strtoull(argv[4], NULL, 10);
	int r = hk_engine_open(argv[1], &access, NULL, NULL, &engine, problem);
	if (r < 0) {
		fprintf(stderr, "left_out: %s: %s\n", argv[1], problem);
		return 1;
	}
	(void)hk_engine_await(engine, WAIT_MS);
	while ((r = hk_search_next(engine, argv[2], at, before, &at, &message, problem)) > 0) {
		printf("%" PRIu64 "\n", at);
		hk_engine_nats(engine)->natsMsg_Destroy(message);
	}
	if (r < 0) {
		fprintf(stderr, "left_out: %s: %s\n", strerror(-r), problem);
	}
	hk_engine_free(engine);
	return r < 0;
}
