/* quantity.h: numbers as people read them: short, with a unit. Each function fills a caller's
 * buffer of HK_QUANTITY_BYTES and returns it, for use inside one printf. Pure functions, any
 * thread. */
#ifndef HK_TEXT_QUANTITY_H
#define HK_TEXT_QUANTITY_H

#include <stdint.h>

#define HK_QUANTITY_BYTES 24

/* A short duration: "870ns", "31us", "4.0ms", "12.4ms", "1.23s", "2h05m". */
const char *hk_quantity_duration(char text[HK_QUANTITY_BYTES], uint64_t ns);

/* Seconds without the unit, for a column of them: "15.31", "0.042", "0.000031". */
const char *hk_quantity_seconds(char text[HK_QUANTITY_BYTES], double ns);

/* A time in a sentence, as the page writes it (cli/html/format.js): "870 ns", "31.0 µs", "42.0 ms",
 * "15.3 s", "2 min 05 s", "3 h 07 min". */
const char *hk_quantity_time(char text[HK_QUANTITY_BYTES], double ns);

/* Bytes: "812 B", "212 MiB", "1.92 GiB". */
const char *hk_quantity_bytes(char text[HK_QUANTITY_BYTES], uint64_t bytes);

/* A count or a rate: "98400", "1.9M", "0.4". */
const char *hk_quantity_count(char text[HK_QUANTITY_BYTES], double count);

#endif
