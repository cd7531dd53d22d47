/* watchdog.h: restarts the collector when a call does not return.
 *
 * nng_close of NNG 1.5 may wait for ever when a connection breaks at that moment (nanomsg/nng
 * 1636). A collector that is killed loses nothing, so the watchdog executes the collector's program
 * again, in the same process. Time without a processor does not count, because the collector was
 * stopped or other processes ran: the watchdog counts its own turns. One watch at a time, of the
 * collector's one thread.
 */
#ifndef HK_COLLECTOR_UPLINK_WATCHDOG_H
#define HK_COLLECTOR_UPLINK_WATCHDOG_H

/* ARGV is this program's, kept by reference. Without it the watchdog does nothing. */
void hk_watchdog_open(char *const *argv);

/* Begins a watch: if hk_watchdog_end does not come within some seconds in which this process has a
 * processor, the program is executed again. */
void hk_watchdog_begin(void);
void hk_watchdog_end(void);

/* Called when all is saved: the process ends within some seconds in any case. */
void hk_watchdog_leave(void);

#endif
