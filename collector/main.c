/* hookcollector: drains the traced processes of this machine and stores their data. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/name_service.h"
#include "base/room.h"
#include "collector/engine/command.h"
#include "collector/feed/feed.h"
#include "collector/feed/keeper.h"
#include "collector/http/http.h"
#include "collector/job/jobdir.h"
#include "collector/keygen/keygen.h"
#include "collector/lifecycle/discovery.h"
#include "collector/lifecycle/job_list.h"
#include "collector/lifecycle/job_open.h"
#include "collector/link/gather.h"
#include "collector/link/leaf.h"
#include "collector/link/node.h"
#include "collector/link/peers.h"
#include "collector/loop.h"
#include "collector/metrics/walk.h"
#include "collector/model/collector.h"
#include "collector/model/job.h"
#include "collector/otlp/otlp.h"
#include "collector/proc/procfs.h"
#include "collector/process/naming.h"
#include "collector/requests.h"
#include "collector/run_directory.h"
#include "collector/server/policy.h"
#include "collector/server/rejections.h"
#include "collector/server/server.h"
#include "collector/stack/unwind.h"
#include "collector/symbol/cuda_inside.h"
#include "collector/symbol/symbol_reader.h"
#include "collector/trigger/trigger.h"
#include "collector/uplink/watchdog.h"

#define PROGRAM "hookcollector"
#define CALIBRATION_NS 50000000u

static int take_store(struct hk_collector *collector)
{
	const char *given = collector->options.store;
	int r = 0;
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
		/* If this fails, agents measure the clock rate themselves, a little less exactly.
		 */
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

/* Opens the descriptor for signals. They are blocked before NNG makes its threads. */
static int take_signals(void)
{
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGIO, SIG_IGN); /* hk_reader_is_shared */
	int fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/* Raises the limit of files: each process needs three or four, and there may be thousands. */
static void raise_file_limit(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int listen_all(struct hk_collector *collector)
{
	char problem[HK_ACCESS_PROBLEM_BYTES] = "";
	int r = hk_request_url(collector->run_directory, collector->url);
	if (r == 0 && hk_room_threads() < 0) {
		hk_error("cannot start threads");
		return -EAGAIN;
	}
	collector->rejections = hk_rejections_new();
	r = r < 0 ? r : collector->rejections ? 0 : -ENOMEM;
	r = r < 0 ? r : hk_policy_open(&collector->options, &collector->policy, problem);
	const struct hk_server_setup setup = {
	    .options = &collector->options,
	    .url = collector->url,
	    .policy = collector->policy,
	    .rejections = collector->rejections,
	    .right = hk_requests_right,
	    .handle = hk_requests_handle,
	    .context = collector,
	};
	r = r < 0 ? r : hk_server_open(&setup, &collector->server, problem);
	if (r == 0 && collector->options.http) {
		r = hk_http_open(collector, &collector->http, problem);
	}
	if (r == 0 && collector->options.otlp) {
		r = hk_otlp_open(&collector->options, &collector->otlp, problem);
	}
	if (collector->http || collector->otlp) {
		hk_job_observe(collector, hk_metrics_observe);
	}
	if (r < 0) {
		hk_error("%s", *problem ? problem : strerror(-r));
	}
	return r;
}

/* Takes the partition that this process reads. Its part of a job is that of a node of its own, if
 * there are several. */
static int take_partition(struct hk_collector *collector)
{
	unsigned partitions;
	int r = hk_feed_open(collector, &collector->feed, &partitions);
	if (r == 0 && partitions > 1) {
		collector->options.per_node = true;
		snprintf(collector->host, sizeof(collector->host), "partition-%u",
			 collector->options.partition);
	}
	return r;
}

static int start(struct hk_collector *collector)
{
	raise_file_limit();
	gethostname(collector->host, sizeof(collector->host) - 1);
	int r = collector->options.one_partition ? take_partition(collector) : 0;
	r = r < 0 ? r : hk_run_directory_take(collector);
	r = r < 0 ? r : take_store(collector);
	if (r < 0) {
		return r;
	}
	collector->pid_namespace = hk_procfs_pid_namespace();
	take_clock(collector);
	hk_node_boot(collector->boot);
	collector->naming = hk_naming_new();
	collector->cuda_inside = hk_cuda_inside_new();
	if (!collector->naming || !collector->cuda_inside) {
		return -ENOMEM;
	}
	hk_job_restore_all(collector);
	r = open_job(collector);
	if (r < 0) {
		return r;
	}
	r = listen_all(collector);
	if (r < 0) {
		return r;
	}
	hk_job_observe(collector, hk_triggers_observe);
	if (collector->feed) {
		return hk_feed_start(collector, collector->feed);
	}
	hk_discovery_open(collector);
	if (collector->options.upstream) {
		r = hk_leaf_open(collector, &collector->leaf);
		hk_job_observe(collector, hk_leaf_observe);
	}
	return r;
}

static void tell_ready(struct hk_collector *collector)
{
	const char *listen = hk_server_url(collector->server);
	const char *http = hk_http_url(collector->http);
	hk_info("serving run=%s store=%s url=%s%s%s%s%s pid=%d", collector->run_directory,
		collector->store, collector->url, *listen ? " listen=" : "", listen,
		*http ? " http=" : "", http, (int)getpid());
	if (collector->options.ready_fd >= 0) {
		(void)!write(collector->options.ready_fd, "R", 1);
		close(collector->options.ready_fd);
	}
}

static const struct word {
	const char *word;
	int (*main)(int argc, char **argv);
} words[] = {
    {HK_UNWIND_WORD, hk_unwind_main},
    {HK_KEYGEN_WORD, hk_keygen_main},
    {HK_STREAM_WORD, hk_stream_main},
};

/* Runs the subcommand that ARGV names. Returns whether there is one, and its *RET_STATUS. */
static bool run_word(int argc, char **argv, int *ret_status)
{
	static char name[64];
	for (size_t i = 0; argc > 1 && i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(argv[1], words[i].word) == 0) {
			snprintf(name, sizeof(name), PROGRAM " %s", words[i].word);
			argv[1] = name;
			*ret_status = words[i].main(argc - 1, argv + 1);
			return true;
		}
	}
	if (argc == 2 && strcmp(argv[1], HK_SYMBOL_READER_WORD) == 0) {
		*ret_status = hk_symbol_reader_main();
		return true;
	}
	return false;
}

static int run(int argc, char **argv)
{
	int status;
	signal(SIGXFSZ, SIG_IGN); /* a write beyond a limit fails like one to a full disk */
	hk_log_setup(PROGRAM, HK_LOG_INFO);
	if (run_word(argc, argv, &status)) {
		return status;
	}
	/* NNG has many threads that allocate little. An arena for each, as by default, would be
	 * mostly empty. */
	mallopt(M_ARENA_MAX, 2);
	struct hk_collector *collector = calloc(1, sizeof(*collector));
	if (!collector) {
		hk_error("out of memory");
		return 1;
	}
	if (hk_options_parse(argc, argv, &collector->options) < 0) {
		hk_error("out of memory");
		free(collector);
		return 1;
	}
	hk_log_setup(PROGRAM, collector->options.log_level);
	if (collector->options.from && !collector->options.one_partition) {
		status = hk_keeper_run(&collector->options, argv);
		hk_options_free(&collector->options);
		free(collector);
		return status;
	}
	hk_watchdog_open(argv);
	if (fcntl(collector->options.ready_fd, F_GETFD) < 0) {
		collector->options.ready_fd =
		    -1; /* written to before the watchdog restarted this collector */
	}
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
	if (r == 0) {
		hk_watchdog_leave();
	}
	collector->http = hk_http_free(collector->http);
	collector->otlp = hk_otlp_free(collector->otlp);
	collector->server = hk_server_free(collector->server);
	hk_rejections_free(collector->rejections);
	hk_policy_free(collector->policy);
	collector->feed = hk_feed_free(collector, collector->feed); /* saves all jobs */
	hk_job_free_all(collector);
	collector->leaf = hk_leaf_free(collector, collector->leaf);
	hk_gather_free(collector->gather, collector);
	collector->naming = hk_naming_free(collector->naming);
	collector->cuda_inside = hk_cuda_inside_free(collector->cuda_inside);
	hk_peers_free_all(collector);
	for (int i = 0; i < HK_RUNDIR_CANDIDATES; i++) {
		if (collector->dirfd[i] > 0) {
			close(collector->dirfd[i]);
		}
	}
	hk_options_free(&collector->options);
	free(collector);
	return r < 0 ? 1 : 0;
}

int main(int argc, char **argv)
{
	hk_name_service_restrict();
	return hk_room_main(run, argc, argv);
}
