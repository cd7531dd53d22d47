#include "collector/watchdog.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

/* Seconds in each of which this process had the processor: one that was stopped, or starved, gets
 * the signals of all that time as one. */
#define LIMIT_TICKS 5

/* For the handlers, which run on any thread. */
static char *const *arguments;
static atomic_bool watching;
static atomic_int ticks;

static void begin_anew(void)
{
	static const char text[] =
	    "hookcollector: warning: a connection does not close: the collector begins anew\n";
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	execv("/proc/self/exe", arguments);
	_exit(1);
}

/* A second begins only when the one before has been seen to be over. */
static void count(int number)
{
	(void)number;
	if (!atomic_load(&watching)) {
		return;
	}
	if (atomic_fetch_add(&ticks, 1) + 1 >= LIMIT_TICKS) {
		begin_anew();
	}
	alarm(1);
}

static void leave(int number)
{
	(void)number;
	_exit(0);
}

/* Not blocked in the handler: a program that it executes would find it so. */
static void set_handler(void (*handler)(int))
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_NODEFER | SA_RESTART};
	sigemptyset(&action.sa_mask);
	sigaction(SIGALRM, &action, NULL);
}

void hk_watchdog_open(char *const *argv)
{
	arguments = argv;
	set_handler(count);
}

void hk_watchdog_begin(void)
{
	if (arguments) {
		atomic_store(&ticks, 0);
		atomic_store(&watching, true);
		alarm(1);
	}
}

void hk_watchdog_end(void)
{
	/* First: a handler that is just running sets the alarm once more. */
	if (atomic_exchange(&watching, false)) {
		alarm(0);
	}
}

void hk_watchdog_leave(void)
{
	arguments = NULL; /* the last watch */
	set_handler(leave);
	alarm(LIMIT_TICKS);
}
