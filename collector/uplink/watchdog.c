#include "collector/uplink/watchdog.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/time.h>
#include <unistd.h>

/* Least number of timer signals, TICK_US apart, before a restart. A process that was stopped or
 * starved gets one signal for all that time. Many short intervals count, because a watched call
 * takes several: with a hundredth of a processor it has most of a minute, not 5 s. */
#define TICK_US 10000
#define LIMIT_TICKS 500
#define LEAVE_SECONDS 5

/* State of the handlers, which run on any thread. */
static char *const *arguments;
static atomic_bool watching;
static atomic_int ticks;

/* Sets the timer. Handlers call this too: it is only a system call. */
static void set_timer(suseconds_t us)
{
	const struct itimerval once = {.it_value = {.tv_usec = us}};
	(void)setitimer(ITIMER_REAL, &once, NULL);
}

static void begin_anew(void)
{
	static const char text[] =
	    "hookcollector: warning: a connection does not close: the collector starts again\n";
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	/* A timer would keep running in the new program, which has no handler yet. */
	set_timer(0);
	execv("/proc/self/exe", arguments);
	_exit(1);
}

/* Counts an interval. The next one begins only when the handler has seen the end of this one. */
static void count(int number)
{
	(void)number;
	if (!atomic_load(&watching)) {
		return;
	}
	if (atomic_fetch_add(&ticks, 1) + 1 >= LIMIT_TICKS) {
		begin_anew();
	}
	set_timer(TICK_US);
}

static void leave(int number)
{
	(void)number;
	_exit(0);
}

/* Sets HANDLER without blocking its signal: a program executed from the handler would inherit the
 * block. */
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
		set_timer(TICK_US);
	}
}

void hk_watchdog_end(void)
{
	/* The flag is cleared first, because a running handler sets the timer again. */
	if (atomic_exchange(&watching, false)) {
		set_timer(0);
	}
}

void hk_watchdog_leave(void)
{
	arguments = NULL; /* the last watch has ended */
	set_handler(leave);
	alarm(LEAVE_SECONDS);
}
