/* name_service.h: where a static program looks up host names.
 *
 * glibc opens modules of the host's own glibc for what /etc/nsswitch.conf names. A static program
 * must not load those: they may be of another version. It looks in /etc/hosts and asks DNS, which
 * glibc has built in.
 */
#ifndef HK_BASE_NAME_SERVICE_H
#define HK_BASE_NAME_SERVICE_H

/* Restricts look-ups to what is built in. Does nothing in a program with shared libraries. Called
 * once, before the first look-up and before a second thread. */
void hk_name_service_restrict(void);

#endif
