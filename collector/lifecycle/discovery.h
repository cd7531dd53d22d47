/* discovery.h: finds segments in the run directories.
 *
 * inotify wakes the loop; what is there is always found out by reading the directories, which also
 * happens once a second: an event that got lost costs a second at most.
 */
#ifndef HK_COLLECTOR_LIFECYCLE_DISCOVERY_H
#define HK_COLLECTOR_LIFECYCLE_DISCOVERY_H

struct hk_collector;

/* Sets up collector->inotify_fd. -errno. */
int hk_discovery_open(struct hk_collector *collector);

/* Throws away the events that have come. */
void hk_discovery_clear(struct hk_collector *collector);

/* Attaches every new segment, in the order the processes began, while there is room for more;
 * counts what cannot be read and what has to wait. */
void hk_discovery_run(struct hk_collector *collector);

#endif
