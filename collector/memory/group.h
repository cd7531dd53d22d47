/* group.h: the control group that limits a process's memory (cgroups(7), versions 1 and 2).
 *
 * The kernel's files are read when a function is called. A group may vanish with its last process:
 * then nothing more is known of it. Locked by the caller.
 */
#ifndef HK_COLLECTOR_MEMORY_GROUP_H
#define HK_COLLECTOR_MEMORY_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HK_CGROUP_ROOT "/sys/fs/cgroup"

struct hk_memory_group;

/* Finds in TEXT, that of /proc/PID/cgroup, the directory of the memory controller below ROOT.
 * Returns 0, -ENOENT if there is none, -ENAMETOOLONG or -EBADMSG. */
int hk_memory_group_path(const char *text, const char *root, char *path, size_t size);

/* Makes the group whose directory is PATH, below ROOT or equal to it. Returns NULL without
 * memory. */
struct hk_memory_group *hk_memory_group_new(const char *path, const char *root);

/* Makes the group of process PID. Returns NULL if it has none, or it cannot be read. */
struct hk_memory_group *hk_memory_group_of(uint32_t pid);

/* Returns how many bytes the group and those around it let it use, 0 without a limit. */
uint64_t hk_memory_group_limit(const struct hk_memory_group *group);

/* Returns whether the kernel has killed a process of the group for want of memory that was not
 * reported before. hk_memory_group_mark_reported counts one as reported. */
bool hk_memory_group_killed(const struct hk_memory_group *group);
void hk_memory_group_mark_reported(struct hk_memory_group *group);

/* A process of the group is alive at NOW_NS (monotonic). Kills that it has survived for long were
 * those of other processes, which are not traced: they count as reported. */
void hk_memory_group_alive(struct hk_memory_group *group, uint64_t now_ns);

/* Returns whether both are the same group. NULL is none. */
bool hk_memory_group_same(const struct hk_memory_group *a, const struct hk_memory_group *b);

void hk_memory_group_free(struct hk_memory_group *group);

#endif
