/* perf_map.h: names of generated code, from the file /tmp/perf-PID.map that its program writes.
 *
 * The program may be writing at the same time, and any user may put a file there. So it has to be a
 * regular file of the process's user, and not older than the process. No state.
 */
#ifndef HK_COLLECTOR_SYMBOL_PERF_MAP_H
#define HK_COLLECTOR_SYMBOL_PERF_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define HK_PERF_MAP_NAME_BYTES 1024u

struct hk_perf_map_name {
	char text[HK_PERF_MAP_NAME_BYTES]; /* empty: not known */
};

/* Opens the map of process PID below the directory ROOT. Returns 0, -ENOENT, -EPERM if it is of
 * another user or older than START_UNIX_NS, or -errno. */
int hk_perf_map_open(const char *root, uint32_t pid, uint64_t start_unix_ns, FILE **ret_map);

/* Names the COUNT addresses, which are sorted, by the lines of MAP: "START SIZE NAME", the numbers
 * hexadecimal. Of several lines with an address the last is right, because code is replaced. Lines
 * of another form are left out. */
void hk_perf_map_find(FILE *map, const uint64_t *addresses, size_t count,
		      struct hk_perf_map_name *ret_names);

#endif
