#include "collector/feed/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/rundir.h"
#include "collector/engine/lease.h"
#include "collector/engine/stream.h"
#include "collector/engine/subject.h"
#include "collector/job/jobdir.h"
#include "collector/model/options.h"
#include "wire/access.h"

#define SECOND_NS UINT64_C(1000000000)
#define LOOK_NS SECOND_NS
#define AGAIN_NS (2 * SECOND_NS)  /* pause before a process is begun again */
#define OTHERS_NS (3 * SECOND_NS) /* others get so long to take what is theirs */
#define END_NS (20 * SECOND_NS)	  /* and the processes, to end */
#define FIRST_WAIT_MS 10000u
#define ROOTS ".roots"
#define LINK_BYTES 64
#define READERS 4u /* of a replay, at one time */

struct partition {
	pid_t pid;	  /* 0: no process here reads it */
	bool mine;	  /* of --workers */
	uint64_t free_ns; /* monotonic: since when it has no owner; 0: it has one */
	uint64_t not_before_ns;
};

struct keeper {
	const struct hk_collector_options *options;
	char **argv;
	char store[PATH_MAX];
	uint64_t store_number; /* its inode's */
	int links;	       /* the user's run directory; -1: there is none */
	struct hk_engine *engine;
	struct partition *partitions;
	unsigned count;
	bool told; /* that the engine cannot be asked */
	sigset_t signals;
};

/* ---- processes ---- */

static void link_name(const struct keeper *keeper, unsigned number, char name[LINK_BYTES])
{
	snprintf(name, LINK_BYTES, "job-partition-%u-%llx", number,
		 (unsigned long long)keeper->store_number);
}

static void remove_link(const struct keeper *keeper, unsigned number)
{
	char name[LINK_BYTES];
	if (keeper->links >= 0) {
		link_name(keeper, number, name);
		(void)unlinkat(keeper->links, name, 0);
	}
}

/* Makes the run directory of partition NUMBER, which its process finds in its environment. */
static int make_run_directory(const struct keeper *keeper, unsigned number)
{
	char path[PATH_MAX], name[LINK_BYTES];
	int length = snprintf(path, sizeof(path), "%s/" ROOTS "/%u", keeper->store, number);
	if (length < 0 || length >= PATH_MAX) {
		return -ENAMETOOLONG;
	}
	int r = hk_jobdir_make(path);
	if (r == 0 && keeper->links >= 0) {
		/* hookcli finds it here. */
		link_name(keeper, number, name);
		(void)unlinkat(keeper->links, name, 0);
		(void)symlinkat(path, keeper->links, name);
	}
	return r < 0 ? r : setenv("HOOK_RUN_DIR", path, 1) < 0 ? -errno : 0;
}

/* In the child. */
static void become_reader(const struct keeper *keeper, unsigned number, pid_t parent)
{
	static char option[] = "--partition";
	char text[16];
	size_t count = 0;
	while (keeper->argv[count]) {
		count++;
	}
	char **argv = calloc(count + 3, sizeof(*argv));
	if (!argv) {
		_exit(1);
	}
	memcpy(argv, keeper->argv, count * sizeof(*argv));
	snprintf(text, sizeof(text), "%u", number);
	argv[count] = option;
	argv[count + 1] = text;
	pthread_sigmask(SIG_UNBLOCK, &keeper->signals, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	/* The connection is the keeper's. */
	close_range(STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC);
	if (keeper->options->ready_fd >= 0) {
		fcntl(keeper->options->ready_fd, F_SETFD, 0);
	}
	if (getppid() != parent) {
		_exit(1); /* the keeper is dead already */
	}
	execv("/proc/self/exe", argv);
	_exit(1);
}

static void begin(struct keeper *keeper, unsigned number, uint64_t now_ns)
{
	struct partition *partition = &keeper->partitions[number];
	pid_t parent = getpid();
	int r = make_run_directory(keeper, number);
	pid_t pid = r < 0 ? -1 : fork();
	if (pid == 0) {
		become_reader(keeper, number, parent);
	}
	partition->not_before_ns = now_ns + AGAIN_NS;
	if (pid < 0) {
		hk_warning("partition=%u cannot be read: %s", number, strerror(r < 0 ? -r : errno));
		return;
	}
	partition->pid = pid;
}

/* Notes which processes have ended. */
static void collect(struct keeper *keeper, uint64_t now_ns)
{
	for (unsigned i = 0; i < keeper->count; i++) {
		struct partition *partition = &keeper->partitions[i];
		int status;
		if (partition->pid > 0 && waitpid(partition->pid, &status, WNOHANG) > 0) {
			if (WIFSIGNALED(status)) {
				hk_warning("the process of partition=%u was ended by signal=%d", i,
					   WTERMSIG(status));
			}
			partition->pid = 0;
			partition->free_ns = 0;
			remove_link(keeper, i);
			partition->not_before_ns = now_ns + AGAIN_NS;
		}
	}
}

/* ---- leases ---- */

static int look(struct keeper *keeper, unsigned number, uint64_t now_ns)
{
	struct partition *partition = &keeper->partitions[number];
	char owner[HK_LEASE_OWNER_BYTES], problem[HK_ENGINE_PROBLEM_BYTES] = "";
	uint64_t position;
	int r = hk_lease_look(keeper->engine, number, owner, &position, problem);
	if (r < 0) {
		if (!keeper->told) {
			hk_warning("the engine cannot be asked url=%s why=%s",
				   keeper->options->from, *problem ? problem : strerror(-r));
		}
		keeper->told = true;
		return r;
	}
	keeper->told = false;
	if (*owner) {
		partition->free_ns = 0;
	} else if (partition->free_ns == 0) {
		partition->free_ns = now_ns;
	}
	return 0;
}

/* Begins processes for partitions without an owner. */
static void tend(struct keeper *keeper, uint64_t now_ns)
{
	for (unsigned i = 0; i < keeper->count; i++) {
		struct partition *partition = &keeper->partitions[i];
		if (partition->pid > 0) {
			continue;
		}
		if (look(keeper, i, now_ns) < 0) {
			return;
		}
		uint64_t wait = partition->mine ? 0 : OTHERS_NS;
		if (partition->free_ns && now_ns - partition->free_ns >= wait &&
		    now_ns >= partition->not_before_ns) {
			begin(keeper, i, now_ns);
		}
	}
}

/* ---- the whole ---- */

static int take_store(struct keeper *keeper)
{
	const char *given = keeper->options->store;
	int r = 0;
	if (given && *given) {
		r = hk_jobdir_make(given);
		r = r < 0 ? r : realpath(given, keeper->store) ? 0 : -errno;
	} else {
		r = hk_jobdir_store(keeper->store);
	}
	if (r < 0) {
		hk_error("no store: %s; --store names a directory", strerror(-r));
		return r;
	}
	struct stat status;
	keeper->store_number = stat(keeper->store, &status) == 0 ? status.st_ino : 0;
	return 0;
}

static int open_engine(struct keeper *keeper)
{
	const struct hk_collector_options *options = keeper->options;
	const struct hk_access access = {
	    .token_file = options->credentials,
	    .authorities = options->tls_authorities,
	    .certificate = options->tls_certificate,
	    .key = options->tls_key,
	};
	char problem[HK_ACCESS_PROBLEM_BYTES] = "";
	int r = hk_engine_open(options->from, &access, NULL, NULL, &keeper->engine, problem);
	if (r < 0) {
		hk_error("cannot read from %s: %s", options->from,
			 *problem ? problem : strerror(-r));
	}
	return r;
}

/* Waits for a signal for WAIT_NS. Returns whether one came. */
static bool is_asked_to_end(const struct keeper *keeper, uint64_t wait_ns)
{
	const struct timespec wait = {(time_t)(wait_ns / SECOND_NS), (long)(wait_ns % SECOND_NS)};
	return sigtimedwait(&keeper->signals, NULL, &wait) > 0;
}

/* Asks the engine until it says how many partitions there are. Returns 1, 0 after a signal, or
 * -errno. */
static int learn_partitions(struct keeper *keeper)
{
	int r = -EAGAIN;
	(void)hk_engine_await(keeper->engine, FIRST_WAIT_MS);
	while (r < 0) {
		char problem[HK_ENGINE_PROBLEM_BYTES] = "";
		if (!hk_engine_connected(keeper->engine)) {
			hk_engine_problem(keeper->engine, problem);
		}
		r = hk_stream_partitions(keeper->engine, &keeper->count, problem);
		if (r < 0 && !keeper->told) {
			hk_warning("the engine cannot be asked url=%s why=%s",
				   keeper->options->from, *problem ? problem : strerror(-r));
			keeper->told = true;
		}
		if (r < 0 && is_asked_to_end(keeper, LOOK_NS)) {
			return 0;
		}
	}
	keeper->told = false;
	if (keeper->count > 1 && (keeper->options->http || keeper->options->listen)) {
		hk_error("each of %u partitions is read by a process of its own: --http and "
			 "--listen have one address for all",
			 keeper->count);
		return -EINVAL;
	}
	keeper->partitions = calloc(keeper->count, sizeof(*keeper->partitions));
	if (!keeper->partitions) {
		return -ENOMEM;
	}
	unsigned workers = keeper->options->workers ? keeper->options->workers : 1;
	unsigned worker = keeper->options->workers ? keeper->options->worker : 1;
	for (unsigned i = 0; i < keeper->count; i++) {
		keeper->partitions[i].mine = i % workers == worker - 1;
	}
	return 1;
}

static unsigned running(const struct keeper *keeper)
{
	unsigned count = 0;
	for (unsigned i = 0; i < keeper->count; i++) {
		count += keeper->partitions[i].pid > 0;
	}
	return count;
}

static void send_all(const struct keeper *keeper, int signal_number)
{
	for (unsigned i = 0; i < keeper->count; i++) {
		if (keeper->partitions[i].pid > 0) {
			kill(keeper->partitions[i].pid, signal_number);
		}
	}
}

/* Lets the processes end. A second signal ends them at once. */
static void end_all(struct keeper *keeper)
{
	uint64_t until = hk_clock_monotonic_ns() + END_NS;
	send_all(keeper, SIGTERM);
	while (running(keeper) > 0) {
		if (is_asked_to_end(keeper, SECOND_NS / 20) || hk_clock_monotonic_ns() >= until) {
			send_all(keeper, SIGKILL);
		}
		collect(keeper, hk_clock_monotonic_ns());
	}
}

static bool await_reader(struct partition *partition)
{
	int status = 0;
	while (partition->pid > 0 && waitpid(partition->pid, &status, 0) < 0 && errno == EINTR) {
	}
	return partition->pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Reads the partitions for --replay, some at a time. Returns whether all could be read. */
static bool replay(struct keeper *keeper)
{
	bool good = true;
	pthread_sigmask(SIG_UNBLOCK, &keeper->signals, NULL);
	for (unsigned i = 0; i < keeper->count + READERS; i++) {
		if (i >= READERS) {
			good &= await_reader(&keeper->partitions[i - READERS]);
		}
		if (i < keeper->count) {
			begin(keeper, i, 0);
		}
	}
	return good;
}

int hk_keeper_run(const struct hk_collector_options *options, char **argv)
{
	char path[PATH_MAX];
	struct keeper keeper = {.options = options, .argv = argv};
	keeper.links = options->replay ? -1 : hk_rundir_open_default(1, path);
	sigemptyset(&keeper.signals);
	sigaddset(&keeper.signals, SIGTERM);
	sigaddset(&keeper.signals, SIGINT);
	pthread_sigmask(SIG_BLOCK, &keeper.signals, NULL);
	int r = take_store(&keeper);
	r = r < 0 ? r : open_engine(&keeper);
	r = r < 0 ? r : learn_partitions(&keeper);
	if (r > 0 && options->replay) {
		r = replay(&keeper) ? 0 : -EIO;
	} else if (r > 0) {
		hk_info("keeping partitions=%u of url=%s store=%s", keeper.count, options->from,
			keeper.store);
		do {
			uint64_t now = hk_clock_monotonic_ns();
			collect(&keeper, now);
			tend(&keeper, now);
		} while (!is_asked_to_end(&keeper, LOOK_NS));
		end_all(&keeper);
	}
	hk_engine_free(keeper.engine);
	if (keeper.links >= 0) {
		close(keeper.links);
	}
	free(keeper.partitions);
	return r < 0 ? 1 : 0;
}
