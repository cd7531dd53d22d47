/* browser.h: shows an address in the user's browser. Main thread only. */
#ifndef HK_CLI_LIVE_BROWSER_H
#define HK_CLI_LIVE_BROWSER_H

#include <stdbool.h>

/* Starts $BROWSER, or the desktop's own one, with ADDRESS, and does not wait for it. SECRET: the
 * address must not be seen among the arguments of processes. The browser then gets a file of the
 * user's run directory that leads to it. Returns 0, -ENODEV without a screen, or -errno. */
int hk_browser_open(const char *address, bool secret);

#endif
