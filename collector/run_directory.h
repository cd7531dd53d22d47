/* run_directory.h: the directory where the agents' segments, this collector's lock and its socket
 * lie, for the collector's life.
 *
 * Others may remove the directory or what is in it while the collector runs: systemd does when its
 * user logs out (RemoveIPC). The collector then makes it again. Segments that are open already are
 * read on, because the kernel keeps a removed file for those who have it open.
 */
#ifndef HK_COLLECTOR_RUN_DIRECTORY_H
#define HK_COLLECTOR_RUN_DIRECTORY_H

struct hk_collector;

/* Opens and locks the run directory. Returns 0, or -errno after saying why not: -EWOULDBLOCK if
 * another collector serves it. */
int hk_run_directory_take(struct hk_collector *collector);

/* Checks whether directory, lock and socket are still there. Makes them again if not, with all that
 * the collector keeps in it: the clock's rate, the node's id, the links to jobs. Says once what it
 * found and what fails; the caller tries again about once a second. */
void hk_run_directory_check(struct hk_collector *collector);

#endif
