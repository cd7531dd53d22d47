/* feed.h: on a root, what leaves have stored in a partition of a stream engine.
 *
 * Messages are taken in as the requests that they are (link/intake.h). Every few seconds all jobs
 * are saved, and what was taken in until then becomes the position, from which a root that takes
 * over starts. A message may so come twice, which intake is made for. Messages are hostile. One
 * thread; what waits for the engine is done on others.
 */
#ifndef HK_COLLECTOR_FEED_FEED_H
#define HK_COLLECTOR_FEED_FEED_H

#include <stdbool.h>
#include <stdint.h>

struct hk_collector;
struct hk_feed;

/* Waits for the engine of --from, and, unless a job is replayed, takes the lease of the partition.
 * Sets *RET_PARTITIONS to how many there are. Says why it cannot. Returns 0, -EBUSY if another root
 * has the partition, or -errno. */
int hk_feed_open(struct hk_collector *collector, struct hk_feed **ret_feed,
		 unsigned *ret_partitions);

/* Begins to read, once the open jobs of an earlier root have been restored. Returns 0 or -errno. */
int hk_feed_start(struct hk_collector *collector, struct hk_feed *feed);

/* Writes the position if the tenure is not over, and gives the lease back. Accepts NULL, returns
 * NULL. */
struct hk_feed *hk_feed_free(struct hk_collector *collector, struct hk_feed *feed);

int hk_feed_fd(const struct hk_feed *feed);
/* When to run the feed again, monotonic. */
uint64_t hk_feed_due(const struct hk_feed *feed);

/* Whether all that --replay asks for has been taken in. */
bool hk_feed_is_done(const struct hk_feed *feed);

/* Takes in what has come. Returns 0, or -ESTALE if the partition may be another root's: nothing may
 * be written any more. */
int hk_feed_run(struct hk_collector *collector, struct hk_feed *feed, uint64_t now_ns);

#endif
