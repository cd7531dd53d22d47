#include "cli/job/collector_process.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/beside.h"
#include "base/clock.h"
#include "base/rundir.h"

#define LOCAL "ipc://"
#define POLL_NS 20000000

/* The start of /proc/PID/stat. */
#define STATE_FORMAT "%*d (hookcollector) %c"

/* Paths relative to the directory of hookcli: as installed, then as in the build tree. */
static const char *const places[] = {"hookcollector", "../collector/hookcollector"};

int hk_collector_find(char path[PATH_MAX])
{
	return hk_beside(places, sizeof(places) / sizeof(places[0]), X_OK, path);
}

uint64_t hk_collector_process_ran_ns(int dirfd)
{
	char path[64];
	uint64_t ran_ns = 0;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", hk_rundir_collector_pid(dirfd));
	FILE *file = fopen(path, "re");
	if (file) {
		ran_ns = fscanf(file, "%" SCNu64, &ran_ns) == 1 ? ran_ns : 0;
		fclose(file);
	}
	return ran_ns;
}

static bool is_stopped(int pid)
{
	char path[64], state = '?';

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	FILE *file = fopen(path, "re");
	if (file) {
		/* The number may be another process's: of another pid namespace, or of a later
		 * one. */
		state = fscanf(file, STATE_FORMAT, &state) == 1 ? state : '?';
		fclose(file);
	}
	return state == 'T' || state == 't';
}

int hk_collector_process_stopped(int dirfd, uint64_t patience_ns)
{
	const struct timespec pause = {0, POLL_NS};
	const uint64_t begin = hk_clock_monotonic_ns();
	int pid = hk_rundir_collector_pid(dirfd);

	while (pid > 0 && is_stopped(pid) && hk_rundir_has_collector(dirfd)) {
		if (hk_clock_monotonic_ns() - begin >= patience_ns) {
			return pid;
		}
		nanosleep(&pause, NULL);
	}
	return 0;
}

int hk_collector_process_stopped_at(const char *url, uint64_t patience_ns)
{
	char path[PATH_MAX];

	if (!url || strncmp(url, LOCAL, strlen(LOCAL)) != 0 ||
	    snprintf(path, sizeof(path), "%s", url + strlen(LOCAL)) >= PATH_MAX) {
		return 0;
	}
	char *end = strrchr(path, '/');
	if (!end || strcmp(end + 1, HK_RUNDIR_SOCKET) != 0) {
		return 0;
	}
	*end = '\0';
	int dirfd = hk_rundir_open(path, 0);
	int pid = dirfd < 0 ? 0 : hk_collector_process_stopped(dirfd, patience_ns);
	if (dirfd >= 0) {
		close(dirfd);
	}
	return pid;
}
