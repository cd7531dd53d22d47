/* escapes.h: a driver that raises a signal when it is asked. */
#ifndef HK_TESTS_ESCAPES_H
#define HK_TESTS_ESCAPES_H

/* The next question is answered with signal NUMBER, 0: with an answer. */
void escapes_raise(int number);
long escapes_take(int value);
int cuCtxGetDevice(int *device);

#endif
