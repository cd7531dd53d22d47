/* keeper.h: a root of a stream engine: starts a process for each partition that it has.
 *
 * Each partition is read by a process of its own, which has the partition's lease and a run
 * directory in the store, STORE/.roots/<partition>. The keeper begins with the partitions that
 * --workers gives it. It begins others when their lease has had no owner for some seconds, and a
 * process that has ended again after a pause. The processes end with it.
 */
#ifndef HK_COLLECTOR_FEED_KEEPER_H
#define HK_COLLECTOR_FEED_KEEPER_H

struct hk_collector_options;

/* Runs until SIGTERM or SIGINT. ARGV is the command line, which its processes get, with
 * "--partition N". Returns the exit status. */
int hk_keeper_run(const struct hk_collector_options *options, char **argv);

#endif
