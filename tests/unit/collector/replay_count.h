/* replay_count.h: what a chunk file holds, for tests. Apart from the rest because chunk/ and ring/
 * both name a block. */
#ifndef HK_TEST_REPLAY_COUNT_H
#define HK_TEST_REPLAY_COUNT_H

#include <stdint.h>

/* Records of the file at PATH; fails if any is damaged or two have the same start. */
uint64_t count_stored_records(const char *path);

#endif
