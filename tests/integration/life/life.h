/* life.h: the cases of the program `life`: each makes a known number of calls of the library and
 * prints what came back. */
#ifndef HK_TEST_LIFE_H
#define HK_TEST_LIFE_H

#include <sys/types.h>

/* The library, called through slots. */
#pragma GCC visibility push(default)
int life_touch(int value);				/* VALUE + 1 */
int life_call(int (*function)(void *), void *argument); /* what FUNCTION(ARGUMENT) returns */
int static_tls_use(void);
#pragma GCC visibility pop

struct life_case {
	const char *name;
	int (*run)(char **arguments); /* the program's exit status */
};

extern const struct life_case life_processes[], life_images[], life_threads[], life_sandboxes[];

/* COUNT calls of life_touch, one after the other. */
void life_touch_often(int count);

/* Waits for child PID and prints how it ended. */
void life_wait(pid_t pid);

#endif
