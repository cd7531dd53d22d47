/* maps.h: what a process has mapped, at one moment. Main thread only. */
#ifndef HK_CLI_ATTACH_MAPS_H
#define HK_CLI_ATTACH_MAPS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct hk_map {
	uint64_t start, end, offset;
	uint64_t inode;
	bool executable;
	char *path; /* as the process sees it; "": no file */
};

struct hk_maps {
	struct hk_map *list;
	size_t count;
};

/* Reads the maps of PID. Returns 0, -ENOMEM or -errno. Free with hk_maps_free. */
int hk_maps_read(pid_t pid, struct hk_maps *ret_maps);
void hk_maps_free(struct hk_maps *maps);

/* Returns the map that holds ADDRESS, or NULL. */
const struct hk_map *hk_maps_find(const struct hk_maps *maps, uint64_t address);

/* Returns the first map of the first file whose base name IS says it is, or NULL. */
const struct hk_map *hk_maps_file(const struct hk_maps *maps, bool (*is)(const char *base));

/* Returns the base name of the file of MAP. */
const char *hk_map_base(const struct hk_map *map);

/* Kinds of files, by their base names. */
bool hk_map_is_libc(const char *base);	 /* glibc's */
bool hk_map_is_libdl(const char *base);	 /* the same, before glibc 2.34 */
bool hk_map_is_loader(const char *base); /* glibc's */
bool hk_map_is_musl(const char *base);
bool hk_map_is_agent(const char *base);
bool hk_map_is_segment(const char *base); /* of a traced process */

#endif
