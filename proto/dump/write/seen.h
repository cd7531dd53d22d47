/* seen.h: which payloads are in the file or on their way: a table of fixed size that forgets old
 * ones. One thread at a time. */
#ifndef HK_DUMP_SEEN_H
#define HK_DUMP_SEEN_H

#include <stdbool.h>
#include <stdint.h>

struct hk_seen;

struct hk_seen *hk_seen_new(void); /* NULL: no memory */
void hk_seen_free(struct hk_seen *seen);

/* Adds the payload. Returns false if it is there already. */
bool hk_seen_add(struct hk_seen *seen, uint64_t digest, uint64_t count, uint32_t dtype);
void hk_seen_remove(struct hk_seen *seen, uint64_t digest, uint64_t count, uint32_t dtype);

#endif
