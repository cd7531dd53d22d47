/* escapes: a handler jumps out of a library that is asked about a call which has just returned;
 * prints what came back. The library stands for a CUDA driver, which is asked for the device. */
#include "escapes.h"

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>

#define ROUNDS 100

static sigjmp_buf before;

static void jump(int number)
{
	(void)number;
	siglongjmp(before, 1);
}

static __attribute__((noinline)) long take_deep(int value)
{
	volatile char room[4096];
	room[0] = 0;
	return escapes_take(value) + room[0];
}

int main(void)
{
	struct sigaction action = {.sa_handler = jump};
	volatile long sum = 0;
	sigaction(SIGUSR1, &action, NULL);
	for (volatile int i = 0; i < ROUNDS; i++) {
		if (sigsetjmp(before, 1) == 0) {
			escapes_raise(SIGUSR1);
			sum += take_deep(i);
			escapes_raise(0);
		}
		sum += escapes_take(2);
		sum += take_deep(3);
	}
	printf("escapes %d\n", sum > 0);
	return 0;
}
