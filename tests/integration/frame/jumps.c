/* jumps: a timer's handler jumps out of whatever the loop is inside of, a traced call or the
 * tracer. Prints how many calls came back and how many jumps there were. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define JUMPS 300
#define PERIOD_US 500

static sigjmp_buf before;
static volatile sig_atomic_t armed;
static volatile unsigned long returned;

static void jump(int number)
{
	(void)number;
	if (armed) {
		armed = 0;
		siglongjmp(before, 1);
	}
}

static void call_until_jump(void)
{
	if (sigsetjmp(before, 1) == 0) {
		armed = 1;
		for (;;) {
			getppid();
			returned++;
		}
	}
}

int main(void)
{
	struct sigaction action = {.sa_handler = jump};
	struct itimerval timer = {{0, PERIOD_US}, {0, PERIOD_US}};

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	for (int i = 0; i < JUMPS; i++) {
		call_until_jump();
	}
	memset(&timer, 0, sizeof(timer));
	setitimer(ITIMER_REAL, &timer, NULL);
	printf("%lu %d\n", returned, JUMPS);
	return 0;
}
