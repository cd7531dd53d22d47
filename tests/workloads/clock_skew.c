/* clock_skew: preloaded, shows a program the clocks of another machine. Simulated: the program runs
 * on this one.
 *
 * CLOCK_SKEW="REFERENCE MONOTONIC PPM REALTIME": CLOCK_MONOTONIC is ahead by MONOTONIC ns when it
 * is really REFERENCE, and runs PPM parts in a million fast; CLOCK_REALTIME is ahead by REALTIME
 * ns. CLOCK_STEP=FILE: CLOCK_REALTIME is ahead by the ns that FILE holds, from the moment it
 * exists. What waits until a time by these clocks (NNG's timers) waits until the real one. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))
#define SECOND 1000000000ll
/* Deadlines beyond this are in Unix time. */
#define UNIX_SECONDS 1000000000

struct skew {
	int64_t reference, monotonic, realtime;
	double rate;
};

static struct skew skew;
static const char *step_file;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int (*next_timedwait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);

static void begin(void)
{
	const char *text = getenv("CLOCK_SKEW");
	char *end = NULL;
	if (text) {
		skew.reference = strtoll(text, &end, 10);
		skew.monotonic = strtoll(end, &end, 10);
		skew.rate = strtod(end, &end) * 1e-6;
		skew.realtime = strtoll(end, &end, 10);
	}
	step_file = getenv("CLOCK_STEP");
	*(void **)&next_timedwait = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
}

static struct timespec timespec_of(int64_t ns)
{
	return (struct timespec){.tv_sec = ns / SECOND, .tv_nsec = ns % SECOND};
}

static int64_t realtime_ahead(void)
{
	char text[32] = "";
	int fd = step_file ? open(step_file, O_RDONLY | O_CLOEXEC) : -1;
	if (fd >= 0) {
		ssize_t size = read(fd, text, sizeof(text) - 1);
		text[size > 0 ? size : 0] = '\0';
		close(fd);
	}
	return skew.realtime + strtoll(text, NULL, 10);
}

SHOWN int clock_gettime(clockid_t clock, struct timespec *time)
{
	int r = (int)syscall(SYS_clock_gettime, clock, time);
	pthread_once(&once, begin);
	int64_t now = time->tv_sec * SECOND + time->tv_nsec;
	if (r == 0 && clock == CLOCK_MONOTONIC) {
		double gone = (double)(now - skew.reference);
		*time = timespec_of(now + skew.monotonic + (int64_t)(gone * skew.rate));
	} else if (r == 0 && clock == CLOCK_REALTIME) {
		*time = timespec_of(now + realtime_ahead());
	}
	return r;
}

SHOWN int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
				 const struct timespec *until)
{
	pthread_once(&once, begin);
	int64_t shown = until->tv_sec * SECOND + until->tv_nsec;
	int64_t real = shown - realtime_ahead();
	if (until->tv_sec < UNIX_SECONDS) {
		double gone = (double)(shown - skew.monotonic - skew.reference);
		real = skew.reference + (int64_t)(gone / (1 + skew.rate));
	}
	const struct timespec deadline = timespec_of(real);
	return next_timedwait(condition, mutex, &deadline);
}
