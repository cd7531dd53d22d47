/* told.h: what told's library offers. */
#ifndef TOLD_H
#define TOLD_H

__attribute__((visibility("default"))) int told_one(int value);
__attribute__((visibility("default"))) int told_two(int value);

/* Sleeps so many ns, or not at all. */
__attribute__((visibility("default"))) int told_sleep(long ns);
__attribute__((visibility("default"))) int told_nap(long ns);

#endif
