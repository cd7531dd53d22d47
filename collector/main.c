/* hookcollector: drains the traced processes of this machine and keeps what they leave. */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "collector/collector.h"
#include "collector/job.h"
#include "collector/jobdir.h"
#include "collector/loop.h"
#include "collector/procfs.h"
#include "collector/scan.h"
#include "collector/server.h"

#define PROGRAM "hookcollector"
#define KEEP_DEFAULT (UINT64_C(10) << 30)
#define CALIBRATION_NS 50000000u

/* For the C library to find; other symbols are hidden. */
__attribute__((visibility("default"))) const char *argp_program_version = PROGRAM " " HK_VERSION;

enum option_key {
	OPTION_STORE = 's',
	OPTION_LISTEN = 'l',
	OPTION_KEEP = 'k',
	OPTION_QUIET = 'q',
	OPTION_VERBOSE = 'v',
	OPTION_JOB_DIR = 0x100,
	OPTION_EXIT_WITH_JOB,
	OPTION_READY_FD,
};

static const struct argp_option option_table[] = {
    {"store", OPTION_STORE, "DIR", 0,
     "Keep job directories in DIR (default: ~/.local/state/hooktrace)", 0},
    {"listen", OPTION_LISTEN, "URL", 0, "Answer on URL as well as on the run directory's socket",
     0},
    {"keep", OPTION_KEEP, "SIZE", 0,
     "Most bytes of records kept of one job: all or a number with K, M or G (default 10G)", 0},
    {"quiet", OPTION_QUIET, NULL, 0, "Say only what went wrong", 0},
    {"verbose", OPTION_VERBOSE, NULL, 0, "Say more", 0},
    {"job-dir", OPTION_JOB_DIR, "ID=DIR", OPTION_HIDDEN, NULL, 0},
    {"exit-with-job", OPTION_EXIT_WITH_JOB, NULL, OPTION_HIDDEN, NULL, 0},
    {"ready-fd", OPTION_READY_FD, "N", OPTION_HIDDEN, NULL, 0},
    {0},
};

struct settings {
	struct hk_collector_options options;
	enum hk_log_level level;
	char *job_key; /* "ID" of --job-dir, in memory of its own */
};

/* Bytes of "all", "<n>", "<n>K", "<n>M", "<n>G". */
static int parse_keep(const char *text, uint64_t *ret_bytes)
{
	char *end;
	if (strcmp(text, "all") == 0) {
		*ret_bytes = UINT64_MAX;
		return 0;
	}
	errno = 0;
	uint64_t value = strtoull(text, &end, 10), factor = 1;
	if (errno != 0 || end == text || *text == '-') {
		return -EINVAL;
	}
	static const char units[] = "KMG";
	const char *unit = *end ? strchr(units, *end) : NULL;
	if (unit) {
		factor = UINT64_C(1) << (10 * (unit - units + 1));
		end++;
	}
	return *end || __builtin_mul_overflow(value, factor, ret_bytes) ? -EINVAL : 0;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
	struct settings *settings = state->input;
	char *equals, *end;
	switch (key) {
	case OPTION_STORE:
		settings->options.store = argument;
		return 0;
	case OPTION_LISTEN:
		settings->options.listen = argument;
		return 0;
	case OPTION_KEEP:
		if (parse_keep(argument, &settings->options.keep_bytes) < 0) {
			argp_error(state, "--keep wants all, or a number with K, M or G, not '%s'",
				   argument);
		}
		return 0;
	case OPTION_QUIET:
		settings->level = HK_LOG_ERROR;
		return 0;
	case OPTION_VERBOSE:
		settings->level = HK_LOG_DEBUG;
		return 0;
	case OPTION_JOB_DIR:
		equals = strchr(argument, '=');
		if (!equals || equals == argument || !equals[1]) {
			argp_error(state, "--job-dir wants ID=DIR, not '%s'", argument);
			return EINVAL;
		}
		settings->job_key = strndup(argument, (size_t)(equals - argument));
		settings->options.job_key = settings->job_key;
		settings->options.job_dir = equals + 1;
		return settings->job_key ? 0 : ENOMEM;
	case OPTION_EXIT_WITH_JOB:
		settings->options.exit_with_job = true;
		return 0;
	case OPTION_READY_FD:
		settings->options.ready_fd = (int)strtol(argument, &end, 10);
		if (*end || end == argument) {
			argp_error(state, "--ready-fd wants a number, not '%s'", argument);
		}
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "what is '%s'? Options begin with --", argument);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp parser = {
    .options = option_table,
    .parser = parse_option,
    .doc = "Drains the traced processes of this machine, keeps their records and statistics in job "
	   "directories, and answers hookcli.",
};

/* ---- start ---- */

/* Opens and locks the run directory; prints why not. */
static int take_run_directory(struct hk_collector *collector)
{
	for (int i = 0; i < HK_RUNDIR_CANDIDATES; i++) {
		collector->dirfd[i] = -1;
	}
	int fd = hk_rundir_open_default(1, collector->run_directory);
	if (fd < 0) {
		hk_error("no run directory can be used error=%s; HOOK_RUN_DIR names another",
			 hk_rundir_problem(fd));
		return fd;
	}
	collector->dirfd[0] = fd;
	collector->lock_fd = hk_rundir_lock(fd);
	if (collector->lock_fd == -EWOULDBLOCK) {
		hk_error("a collector already serves %s (pid %d)", collector->run_directory,
			 hk_rundir_collector_pid(fd));
	} else if (collector->lock_fd < 0) {
		hk_error("cannot lock %s: %s", collector->run_directory,
			 strerror(-collector->lock_fd));
	}
	return collector->lock_fd < 0 ? collector->lock_fd : 0;
}

static int take_store(struct hk_collector *collector)
{
	const char *given = collector->options.store;
	int r = 0;
	if (!given) {
		given = getenv("HOOK_STORE");
	}
	if (given && *given) {
		if (!realpath(given, collector->store)) {
			r = hk_jobdir_make(given);
			r = r < 0 ? r : realpath(given, collector->store) ? 0 : -errno;
		}
	} else {
		r = hk_jobdir_store(collector->store);
	}
	if (r < 0) {
		hk_error("no store: %s; --store names a directory", strerror(-r));
	}
	return r;
}

static void take_clock(struct hk_collector *collector)
{
	collector->tsc = hk_clock_tsc_trusted();
	collector->tick_ns_q32 = hk_clock_load_q32(collector->dirfd[0]);
	if (collector->tick_ns_q32 == 0) {
		collector->tick_ns_q32 = hk_clock_calibrate_q32(collector->tsc, CALIBRATION_NS);
		/* Agents measure for themselves if this fails, a little less exactly. */
		hk_clock_store_q32(collector->dirfd[0], collector->tick_ns_q32);
	}
	collector->start_unix_ns = hk_clock_now(collector->tsc).realtime_ns;
	collector->moved_ns = hk_clock_monotonic_ns();
}

static int open_job(struct hk_collector *collector)
{
	struct hk_job *job;
	if (!collector->options.job_key || hk_job_find(collector, collector->options.job_key)) {
		return 0;
	}
	const struct hk_job_request request = {
	    .key = collector->options.job_key,
	    .directory = collector->options.job_dir,
	    .announced = true,
	};
	int r = hk_job_open(collector, &request, &job);
	if (r < 0) {
		hk_error("cannot make job directory %s: %s", collector->options.job_dir,
			 strerror(-r));
	}
	return r;
}

/* Signals come through a descriptor; blocked before NNG makes its threads. */
static int take_signals(void)
{
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	int fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/* Every process needs three files or four, and there may be thousands. */
static void raise_file_limit(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int start(struct hk_collector *collector)
{
	raise_file_limit();
	int r = take_run_directory(collector);
	r = r < 0 ? r : take_store(collector);
	if (r < 0) {
		return r;
	}
	gethostname(collector->host, sizeof(collector->host) - 1);
	collector->pid_namespace = hk_procfs_pid_namespace();
	take_clock(collector);
	hk_job_restore_all(collector);
	r = open_job(collector);
	if (r < 0) {
		return r;
	}
	r = hk_request_url(collector->run_directory, collector->url);
	r = r < 0 ? r : hk_server_open(collector, &collector->server);
	if (r < 0) {
		hk_error("cannot listen on %s%s%s: %s", collector->url,
			 collector->options.listen ? " and " : "",
			 collector->options.listen ? collector->options.listen : "", strerror(-r));
		return r;
	}
	r = hk_scan_open(collector);
	if (r < 0) {
		hk_error("cannot watch directories: %s", strerror(-r));
	}
	return r;
}

static void tell_ready(struct hk_collector *collector)
{
	hk_info("serving run=%s store=%s url=%s pid=%d", collector->run_directory, collector->store,
		collector->url, (int)getpid());
	if (collector->options.ready_fd >= 0) {
		(void)!write(collector->options.ready_fd, "R", 1);
		close(collector->options.ready_fd);
	}
}

int main(int argc, char **argv)
{
	struct settings settings = {
	    .options = {.keep_bytes = KEEP_DEFAULT, .ready_fd = -1},
	    .level = HK_LOG_INFO,
	};
	argp_err_exit_status = 2;
	hk_log_setup(PROGRAM, HK_LOG_INFO);
	argp_parse(&parser, argc, argv, 0, NULL, &settings);
	hk_log_setup(PROGRAM, settings.level);

	struct hk_collector *collector = calloc(1, sizeof(*collector));
	if (!collector) {
		hk_error("out of memory");
		return 1;
	}
	collector->options = settings.options;
	collector->inotify_fd = collector->lock_fd = -1;
	int signal_fd = take_signals();
	int r = signal_fd < 0 ? signal_fd : start(collector);
	if (r == 0) {
		tell_ready(collector);
		r = hk_loop_run(collector, signal_fd);
		if (r < 0) {
			hk_error("stopped: %s", strerror(-r));
		}
	}
	collector->server = hk_server_free(collector->server);
	hk_job_free_all(collector);
	for (int i = 0; i < HK_RUNDIR_CANDIDATES; i++) {
		if (collector->dirfd[i] > 0) {
			close(collector->dirfd[i]);
		}
	}
	free(settings.job_key);
	free(collector);
	return r < 0 ? 1 : 0;
}
