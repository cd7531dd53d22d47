/* steps: a signal at every instruction of a hooked call in turn, from its first to the one behind
 * it. The argument says what the handler does there: `see` (looks for the caller), `nest` (makes
 * the call too), `jump` (away) or `fork` (and returns twice). Prints how many calls were made, how
 * many returned, and how many children were forked. It is traced by its parent, which runs the same
 * program. */
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

#define STEPS_MAX 1000
#define WARM 200
#define CALLS_OF_CHILD 2
#define FUNCTION_BYTES 64
#define BREAKPOINT 0xcc

/* What the traced process tells by a breakpoint, in rax. */
enum place { BEFORE, RETURNED, OVER };

static volatile bool forked, wrong;
static volatile long finished; /* set by the tracer */
static volatile unsigned long calls, returned, children;
static sigjmp_buf before;

static inline __attribute__((always_inline)) void tell(enum place place)
{
	__asm__ volatile("int3" : : "a"((uint64_t)place));
}

static __attribute__((noinline)) void call_once(void)
{
	tell(BEFORE);
	getppid();
	tell(RETURNED);
}

static _Unwind_Reason_Code look(struct _Unwind_Context *context, void *found)
{
	uintptr_t at = _Unwind_GetIP(context), first = (uintptr_t)call_once;
	*(bool *)found |= at > first && at < first + FUNCTION_BYTES;
	return _URC_NO_REASON;
}

static void see(int number)
{
	bool found = false;
	(void)number;
	_Unwind_Backtrace(look, &found);
	wrong = wrong || !found;
}

static void nest(int number)
{
	(void)number;
	calls++;
	getppid();
	returned++;
}

static void jump(int number)
{
	(void)number;
	siglongjmp(before, 1);
}

static void go_on(int number)
{
	(void)number;
}

static void split(int number)
{
	(void)number;
	int status = 0;
	pid_t child = fork();
	if (child == 0) {
		forked = true;
		signal(SIGTRAP, go_on);
		return;
	}
	children++;
	wrong = wrong || waitpid(child, &status, 0) != child || status != 0;
}

static void end_child(void)
{
	for (int i = 0; i < CALLS_OF_CHILD; i++) {
		getppid();
	}
	_exit(0);
}

static int run(void)
{
	calls = returned = WARM;
	for (int i = 0; i < WARM; i++) {
		getppid();
	}
	raise(SIGSTOP);
	while (!finished) {
		if (sigsetjmp(before, 1) == 0) {
			calls++;
			call_once();
			returned++;
		}
		if (forked) {
			end_child();
		}
		tell(OVER);
	}
	printf("%lu %lu %lu\n", calls, returned, children);
	fflush(stdout);
	return wrong;
}

/* ---- the tracer ---- */

/* The signal that the traced process stopped with; ends as it did. */
static int wait_for_stop(pid_t traced)
{
	int status;
	waitpid(traced, &status, 0);
	if (WIFEXITED(status)) {
		exit(WEXITSTATUS(status));
	}
	if (WIFSIGNALED(status)) {
		fprintf(stderr, "killed by signal %d\n", WTERMSIG(status));
		exit(2);
	}
	return WSTOPSIG(status);
}

static struct user_regs_struct registers_of(pid_t traced)
{
	struct user_regs_struct registers;
	ptrace(PTRACE_GETREGS, traced, NULL, &registers);
	return registers;
}

/* Runs until PLACE is set; passes signals on. */
static void run_to(pid_t traced, enum place place, int number)
{
	do {
		ptrace(PTRACE_CONT, traced, NULL, (long)number);
		number = wait_for_stop(traced);
		if (number == SIGSEGV || number == SIGBUS) {
			fprintf(stderr, "signal %d at %llx\n", number, registers_of(traced).rip);
		}
		number = number == SIGTRAP ? 0 : number;
	} while (number || registers_of(traced).rax != place);
}

/* False: the call was over before. */
static bool step(pid_t traced, int steps)
{
	for (int i = 0; i < steps; i++) {
		void *at = (void *)registers_of(traced).rip;
		if ((ptrace(PTRACE_PEEKTEXT, traced, at, NULL) & 0xff) == BREAKPOINT) {
			return false;
		}
		ptrace(PTRACE_SINGLESTEP, traced, NULL, NULL);
		wait_for_stop(traced);
	}
	return true;
}

static void trace(pid_t traced)
{
	wait_for_stop(traced);
	bool going = true;
	for (int steps = 0; going; steps++) {
		run_to(traced, BEFORE, 0);
		going = step(traced, steps) && steps < STEPS_MAX;
		run_to(traced, OVER, SIGUSR1);
	}
	ptrace(PTRACE_POKEDATA, traced, (void *)&finished, 1L);
	ptrace(PTRACE_CONT, traced, NULL, NULL);
	for (;;) {
		int number = wait_for_stop(traced);
		ptrace(PTRACE_CONT, traced, NULL, (long)number);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*handler)(int);
	} modes[] = {{"see", see}, {"nest", nest}, {"jump", jump}, {"fork", split}};
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		if (argc > 1 && !strcmp(argv[1], modes[i].name)) {
			signal(SIGUSR1, modes[i].handler);
		}
	}
	pid_t traced = fork();
	if (traced == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		return run();
	}
	trace(traced);
	return 0;
}
