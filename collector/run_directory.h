/* run_directory.h: keeps the directory with the agents' segments, this collector's lock and its
 * socket.
 *
 * Other programs may remove the directory or its files while the collector runs, as systemd does
 * when its user logs out (RemoveIPC). The collector then makes the directory again. It reads open
 * segments on, because the kernel keeps a removed file while it is open.
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
