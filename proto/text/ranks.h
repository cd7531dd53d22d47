/* ranks.h: lists of ranks as people write them. Pure functions, any thread. */
#ifndef HK_TEXT_RANKS_H
#define HK_TEXT_RANKS_H

#include <stddef.h>
#include <stdint.h>

/* Writes COUNT RANKS, which ascend, as "0-2,4". If SIZE bytes, at least 8, have no room for the
 * next range and for dots behind it, the text ends with ",...". Returns TEXT. */
const char *hk_ranks_print(char *text, size_t size, const int32_t *ranks, size_t count);

#endif
