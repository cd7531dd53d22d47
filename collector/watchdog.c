#include "collector/watchdog.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#define LIMIT_S 5u

static char *const *arguments; /* for the handler */

static void begin_anew(int number)
{
	static const char text[] =
	    "hookcollector: warning: a connection does not close: the collector begins anew\n";
	(void)number;
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	execv("/proc/self/exe", arguments);
	_exit(1);
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
	set_handler(begin_anew);
}

void hk_watchdog_begin(void)
{
	if (arguments) {
		alarm(LIMIT_S);
	}
}

void hk_watchdog_end(void)
{
	alarm(0);
}

void hk_watchdog_leave(void)
{
	set_handler(leave);
	alarm(LIMIT_S);
}
