/* twice: functions that return twice, or to a frame that is gone, or on another stack; prints what
 * came of it. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define ROUNDS 50

static long setjmp_twice(void)
{
	jmp_buf where;
	sigjmp_buf there;
	volatile long sum = 0;
	for (volatile int i = 0; i < ROUNDS; i++) {
		int value = setjmp(where);
		sum += value;
		if (value < 3) {
			longjmp(where, value + 1);
		}
		value = sigsetjmp(there, 1);
		sum += value;
		if (value < 3) {
			siglongjmp(there, value + 1);
		}
	}
	return sum;
}

static long vfork_twice(void)
{
	volatile long sum = 0;
	for (volatile int i = 0; i < ROUNDS; i++) {
		int status = 0;
		pid_t child = vfork();
		if (child == 0) {
			_exit(i);
		}
		waitpid(child, &status, 0);
		sum += WEXITSTATUS(status);
	}
	return sum;
}

static long getcontext_twice(void)
{
	volatile long sum = 0;
	for (volatile int i = 0; i < ROUNDS; i++) {
		ucontext_t here;
		volatile int times = 0;
		getcontext(&here);
		sum++;
		if (++times < 3) {
			setcontext(&here);
		}
	}
	return sum;
}

static ucontext_t main_context, other_context;
static volatile long entered;

static void run(int by)
{
	for (;;) {
		entered += by;
		swapcontext(&other_context, &main_context);
	}
}

static long swapcontext_twice(void)
{
	char *stack = malloc(65536);
	getcontext(&other_context);
	other_context.uc_stack.ss_sp = stack;
	other_context.uc_stack.ss_size = 65536;
	other_context.uc_link = &main_context;
	makecontext(&other_context, (void (*)(void))run, 1, 7);
	for (int i = 0; i < ROUNDS; i++) {
		swapcontext(&main_context, &other_context);
	}
	free(stack);
	return entered;
}

static sigjmp_buf before;

static void jump(int number)
{
	siglongjmp(before, number);
}

static long raise_twice(void)
{
	volatile long sum = 0;
	signal(SIGUSR1, jump);
	for (volatile int i = 0; i < ROUNDS; i++) {
		if (sigsetjmp(before, 1) == 0) {
			raise(SIGUSR1);
		}
		sum++;
	}
	return sum;
}

int main(void)
{
	printf("setjmp %ld\n", setjmp_twice());
	printf("vfork %ld\n", vfork_twice());
	printf("getcontext %ld\n", getcontext_twice());
	printf("swapcontext %ld\n", swapcontext_twice());
	printf("raise %ld\n", raise_twice());
	fflush(stdout);
	quick_exit(5);
}
