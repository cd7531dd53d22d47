/* discovery.h: finds segments in the run directories.
 *
 * inotify wakes the loop, and the loop reads the directories. It also reads them once a second, so
 * a lost event costs at most a second.
 */
#ifndef HK_COLLECTOR_LIFECYCLE_DISCOVERY_H
#define HK_COLLECTOR_LIFECYCLE_DISCOVERY_H

struct hk_collector;

/* Sets up collector->inotify_fd, or -1 if the user has too many: the directories are then read once
 * a second only. */
void hk_discovery_open(struct hk_collector *collector);

/* Throws away the events that have come. */
void hk_discovery_clear(struct hk_collector *collector);

/* Attaches every new segment, in the order in which the processes began, while there is room for
 * more. Counts segments that cannot be read and segments that must wait. */
void hk_discovery_run(struct hk_collector *collector);

#endif
