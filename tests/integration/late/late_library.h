/* late_library.h: functions whose calls a test counts. Any thread. */
#ifndef LATE_LIBRARY_H
#define LATE_LIBRARY_H

/* Returns 3 * VALUE + 1. */
long late_work(long value);

/* Returns VALUE ^ 0x55. */
long late_marked(long value);

/* Returns the sum of its arguments, two of which are on the stack. */
double late_many(long a, long b, long c, long d, long e, long f, long g, double h, long i);

/* Waits for a byte from FD, and returns it, or -1. */
int late_wait(int fd);

#endif
