#include "cli/run/session.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/identity.h"
#include "base/log.h"
#include "base/rundir.h"
#include "cli/command.h"
#include "cli/job/collector_process.h"
#include "cli/job/collectors.h"
#include "cli/job/job.h"
#include "cli/job/job_files.h"
#include "cli/run/job_paths.h"
#include "cli/run/node_layout.h"
#include "cli/run/shortage.h"
#include "cli/run/signal_guard.h"
#include "text/name.h"

#define OPEN_TIMEOUT_MS 20000
/* A collector that others use too may be stuck: it is asked again if it ran meanwhile. */
#define SHARED_OPEN_TIMEOUT_MS 2000
#define SHARED_OPEN_AGAIN_TIMEOUT_MS 8000
#define CLOSE_TIMEOUT_MS 120000
#define NOTICE_TIMEOUT_MS 2000
#define ASK_AGAIN_NS 5000000000u
#define ASK_PAUSE_NS 50000000
#define RENEWALS_MAX 20u
#define WHY_BYTES 256
#define RENEWED_LONG_AGO_NS 60000000000u

/* ---- who and where -----------------------------------------------------------------------------
 */

/* Short, new each time: the time and the process in base 36. */
static void make_id(const char *command, char *id, size_t size)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
	struct timespec now;
	char tail[7] = "";

	clock_gettime(CLOCK_REALTIME, &now);
	uint64_t value = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	value = value * 131 + (uint64_t)getpid() * 7919;
	for (size_t i = 6; i-- > 0; value /= 36) {
		tail[i] = digits[value % 36];
	}
	snprintf(id, size, "%.60s-%s", command, tail);
}

/* Through the same rules that the agents of the job will read it by. */
static void set_id(struct hk_keeper *keeper, const char *id)
{
	struct hk_identity identity;
	char text[256];

	snprintf(text, sizeof(text), "HOOK_JOB=%s", id);
	char *const environment[] = {text, NULL};
	hk_identity_read(environment, &identity);
	memcpy(keeper->id, identity.job, sizeof(keeper->id));
}

/* Nodes of one job that write into one place have a directory each, unless a root puts their parts
 * together. */
static bool wants_nodes(bool many_nodes)
{
	const char *chosen = hk_command_setting("per-node");

	if (chosen) {
		return strcmp(chosen, "0") != 0;
	}
	return many_nodes && !hk_command_setting("upstream");
}

static void identify(struct hk_keeper *keeper, const struct hk_keeper_wish *wish)
{
	struct hk_identity identity;
	struct hk_world world;
	char id[128];

	hk_identity_read(environ, &identity);
	/* RANK without a launcher's mark numbers a process of a job that other processes cannot
	 * name: each command is a job of its own then. */
	bool shared = wish->job || *identity.job || strcmp(identity.rank_source, "RANK") != 0;
	keeper->inside = identity.rank >= 0 && shared;
	hk_world_read(environ, &identity, &world);
	keeper->expected = keeper->inside ? world.local_size : 1;
	keeper->first = identity.rank <= 0 || !shared;
	keeper->world_size = identity.world_size;
	keeper->per_node = wants_nodes(keeper->inside && world.many_nodes);
	int place = identity.local_rank >= 0 ? identity.local_rank : identity.rank;
	keeper->leads = place <= 0 || !shared;
	if (wish->job) {
		set_id(keeper, wish->job);
	} else if (keeper->inside && *identity.job) {
		set_id(keeper, identity.job);
	} else {
		make_id(wish->command, id, sizeof(id));
		set_id(keeper, id);
	}
}

/* ---- its collector -----------------------------------------------------------------------------
 */

/* Keeps ERROR in words, with what to do about it. ERROR. */
__attribute__((format(printf, 3, 4))) static int fail(struct hk_keeper *keeper, int error,
						      const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(keeper->why, sizeof(keeper->why), format, arguments);
	va_end(arguments);
	return error;
}

static int use_run_directory(struct hk_keeper *keeper, const char *path, int create)
{
	int fd = hk_rundir_open(path, create);

	if (fd < 0) {
		return fd;
	}
	int r = hk_request_url(path, keeper->url);
	if (r < 0) {
		close(fd);
		return r;
	}
	snprintf(keeper->run_directory, sizeof(keeper->run_directory), "%s", path);
	keeper->dirfd = fd;
	return 0;
}

/* A `hookcli run` within a job of another one: its collector, its job. 1 if so. */
static int find_outer(struct hk_keeper *keeper, const struct hk_keeper_wish *wish)
{
	const char *job = getenv(HK_KEEPER_NESTED);
	const char *path = getenv("HOOK_RUN_DIR");

	if (!job || !*job || !path || wish->store || wish->job ||
	    use_run_directory(keeper, path, 0) < 0) {
		return 0;
	}
	if (!hk_rundir_has_collector(keeper->dirfd)) {
		close(keeper->dirfd);
		keeper->dirfd = -1;
		return 0;
	}
	set_id(keeper, job);
	keeper->nested = true;
	return 1;
}

/* The collector that --collector names: it says itself which run directory it serves. */
static int find_named(struct hk_keeper *keeper)
{
	Hk__StatusRequest what = HK__STATUS_REQUEST__INIT;
	Hk__Request request = HK__REQUEST__INIT;
	Hk__Response *response;

	request.what_case = HK__REQUEST__WHAT_STATUS;
	request.status = &what;
	if (hk_collectors_ask(&request, &response) != HK_EXIT_DONE) {
		return -ECONNREFUSED;
	}
	int r = response->status ? use_run_directory(keeper, response->status->run_directory, 0)
				 : -EBADMSG;
	hk__response__free_unpacked(response, NULL);
	if (r < 0) {
		hk_error("the collector's run directory cannot be used: %s", strerror(-r));
	}
	return r;
}

/* A collector of this user that is running already. 1 if there is one. */
static int find_shared(struct hk_keeper *keeper)
{
	char path[PATH_MAX];
	int fd = hk_rundir_open_default(0, path);

	if (fd < 0) {
		return 0;
	}
	int found = hk_rundir_has_collector(fd);
	close(fd);
	return found && use_run_directory(keeper, path, 0) == 0;
}

/* Where the job shall be: a collector that shares it with other nodes makes the directory itself.
 */
static int make_directory(const struct hk_keeper *keeper, const char *parent, const char *name,
			  char path[PATH_MAX])
{
	if (!keeper->per_node) {
		return hk_place_make_job(parent, name, path);
	}
	return snprintf(path, PATH_MAX, "%s/%s", parent, name) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int no_directory(struct hk_keeper *keeper, const char *parent, int error)
{
	return fail(keeper, error,
		    "cannot make a job directory in %s: %s (choose another with --store DIR)",
		    parent, strerror(-error));
}

/* Starts the collector unless one of the job's other members has; DIRECTORY: where the job shall be
 * if it is made already, else it is made as NAME below PARENT. */
static int elect(struct hk_keeper *keeper, const char *parent, const char *name,
		 const char *directory)
{
	char made[PATH_MAX];
	int lock = hk_members_lock(keeper->dirfd, HK_MEMBERS_ELECTION, LOCK_EX);
	int r = 0;

	if (lock < 0) {
		return fail(keeper, lock,
			    "cannot lock %s/" HK_MEMBERS_ELECTION ": %s (set HOOK_RUN_DIR)",
			    keeper->run_directory, strerror(-lock));
	}
	if (!hk_rundir_has_collector(keeper->dirfd)) {
		if (!directory) {
			r = make_directory(keeper, parent, name, made);
			directory = made;
		}
		const struct hk_collector_wish wish = {
		    .id = keeper->id,
		    .directory = directory,
		    .upstream = hk_command_setting("upstream"),
		    .keep = hk_command_setting("keep"),
		    .per_node = keeper->per_node,
		};
		r = r < 0 ? no_directory(keeper, parent, r)
			  : hk_collector_start(keeper->run_directory, keeper->dirfd, &wish,
					       keeper->why);
		if (r < 0 && directory == made && !keeper->per_node) {
			hk_job_files_remove(made);
		}
	}
	close(lock);
	return r;
}

static int no_run_directory(struct hk_keeper *keeper, int error)
{
	char path[PATH_MAX];

	return fail(keeper, error, "cannot use %s as run directory: %s (set HOOK_RUN_DIR)",
		    hk_rundir_path(0, path) == 0 ? path : "HOOK_RUN_DIR", hk_rundir_problem(error));
}

/* Makes what a private collector needs and starts it; the job's directory, if made here, goes to
 * MADE, else "". */
static int make_private(struct hk_keeper *keeper, const struct hk_keeper_wish *wish,
			char made[PATH_MAX])
{
	char parent[PATH_MAX], name[320], run[PATH_MAX];
	const char *where = wish->store ? wish->store : ".";
	int r = wish->store ? hk_place_make_parents(wish->store) : 0;

	if (r == 0 && !realpath(where, parent)) {
		r = -errno;
	}
	if (wish->store) {
		snprintf(name, sizeof(name), "%s", keeper->id);
	} else {
		hk_place_name(wish->command, keeper->id, name, sizeof(name));
	}
	*made = '\0';
	if (r == 0 && !keeper->inside) {
		r = hk_place_make_job(parent, name, made);
	}
	if (r < 0) {
		*made = '\0';
		return no_directory(keeper, where, r);
	}
	r = hk_collectors_private_rundir(parent, keeper->inside ? keeper->id : hk_name_base(made),
					 1, run);
	r = r < 0 ? r : use_run_directory(keeper, run, 1);
	if (r < 0) {
		return no_run_directory(keeper, r);
	}
	keeper->private = true;
	if (!keeper->inside) {
		snprintf(keeper->directory, sizeof(keeper->directory), "%s", made);
	}
	char base[PATH_MAX];
	snprintf(base, sizeof(base), "%s", run);
	*strrchr(base, '/') = '\0';
	hk_place_prune_rundirs(base);
	return elect(keeper, parent, name, keeper->inside ? NULL : made);
}

/* Ends a private collector and leaves nothing of the job in DIRECTORY. */
static void discard(struct hk_keeper *keeper, const char *directory)
{
	if (keeper->private) {
		hk_place_remove_rundir(keeper->dirfd, keeper->run_directory);
	}
	hk_job_files_remove(directory);
	if (keeper->private) {
		/* A link to the job may have kept it. */
		hk_place_remove_rundir(keeper->dirfd, keeper->run_directory);
		close(keeper->dirfd);
		keeper->dirfd = -1;
	}
}

/* A collector of the job's own. Ranks of a node agree on its run directory by the job's id; a job
 * that this process alone starts is known by its new directory, which goes again, and the collector
 * with it, if nothing comes of it. */
static int start_private(struct hk_keeper *keeper, const struct hk_keeper_wish *wish)
{
	char made[PATH_MAX];
	struct hk_hold hold;

	if (keeper->inside) {
		return make_private(keeper, wish, made); /* for others too, who may go on */
	}
	hk_hold_begin(&hold);
	int r = make_private(keeper, wish, made);
	if (*made && (r < 0 || hk_hold_caught(&hold))) {
		discard(keeper, made);
	}
	hk_hold_end(&hold);
	return r;
}

int hk_keeper_init(struct hk_keeper *keeper, const struct hk_keeper_wish *wish)
{
	*keeper = (struct hk_keeper){.dirfd = -1, .members = {.members_fd = -1, .leader_fd = -1}};
	identify(keeper, wish);
	if (find_outer(keeper, wish)) {
		return 0;
	}
	bool named = hk_command_setting("collector") != NULL;
	bool found = named ? find_named(keeper) == 0 : !wish->store && find_shared(keeper);
	return found ? 0 : start_private(keeper, wish);
}

/* ---- the job -----------------------------------------------------------------------------------
 */

/* hook-last beside the job directory, or here beside a link to one in the collector's store. */
static void make_links(struct hk_keeper *keeper, const struct hk_keeper_wish *wish)
{
	char parent[PATH_MAX], name[320], here[PATH_MAX];
	const char *base = hk_name_base(keeper->whole);

	snprintf(keeper->shown, sizeof(keeper->shown), "%s", keeper->whole);
	snprintf(parent, sizeof(parent), "%s", keeper->whole);
	*strrchr(parent, '/') = '\0';
	if (keeper->private) {
		hk_place_link(*parent ? parent : "/", HK_JOB_LAST, base);
		if (!wish->store) {
			snprintf(keeper->shown, sizeof(keeper->shown), "./%.*s", PATH_MAX - 3,
				 base);
		}
		return;
	}
	hk_place_name(wish->command, keeper->id, name, sizeof(name));
	if (!getcwd(here, sizeof(here))) {
		return;
	}
	hk_place_link(here, name, keeper->whole);
	hk_place_link(here, HK_JOB_LAST, name);
	struct stat status;
	if (stat(name, &status) == 0) {
		snprintf(keeper->shown, sizeof(keeper->shown), "./%s", name);
	}
}

void hk_keeper_renew(struct hk_keeper *keeper)
{
	if (!keeper->private || !*keeper->directory || keeper->renewals > RENEWALS_MAX ||
	    hk_rundir_has_collector(keeper->dirfd)) {
		return;
	}
	uint64_t now = hk_clock_monotonic_ns();
	keeper->renewals =
	    now - keeper->renewed_ns < RENEWED_LONG_AGO_NS ? keeper->renewals + 1 : 1;
	keeper->renewed_ns = now;
	if (keeper->renewals > RENEWALS_MAX) {
		hk_warning("collectors of the job keep ending: what they stored is in %s",
			   keeper->shown);
	} else if (elect(keeper, NULL, NULL, keeper->directory) == 0) {
		hk_warning("the job's collector ended; another one goes on");
	} else {
		hk_warning("%s", keeper->why);
	}
}

/* Asks until a collector that has just died is there again, if somebody looks after it. */
static int ask(struct hk_keeper *keeper, Hk__Request *request, int timeout_ms,
	       Hk__Response **ret_response)
{
	const struct timespec pause = {0, ASK_PAUSE_NS};
	uint64_t end = hk_clock_monotonic_ns() + ASK_AGAIN_NS;
	int r;

	request->version = (char *)HK_VERSION;
	for (;;) {
		r = hk_request_call(keeper->url, request, timeout_ms, ret_response);
		if (r != -ECONNREFUSED || hk_clock_monotonic_ns() > end) {
			return r;
		}
		hk_keeper_renew(keeper);
		nanosleep(&pause, NULL);
	}
}

/* Takes over what the collector says of the job. -EBADMSG: it does not say enough. */
static int take_job(struct hk_keeper *keeper, const Hk__Job *job)
{
	if (!job || !strrchr(job->directory, '/')) {
		return -EBADMSG;
	}
	snprintf(keeper->directory, sizeof(keeper->directory), "%s", job->directory);
	keeper->leaf = *job->upstream != '\0';
	keeper->shared = *job->whole != '\0';
	snprintf(keeper->whole, sizeof(keeper->whole), "%s",
		 keeper->shared ? job->whole : keeper->directory);
	return 0;
}

/* A shared collector that did not answer and did not run either is not waited for any longer. */
static int ask_to_open(struct hk_keeper *keeper, Hk__Request *request, Hk__Response **ret_response)
{
	if (keeper->private) {
		return ask(keeper, request, OPEN_TIMEOUT_MS, ret_response);
	}
	uint64_t ran_ns = hk_collector_process_ran_ns(keeper->dirfd);
	int r = ask(keeper, request, SHARED_OPEN_TIMEOUT_MS, ret_response);
	if (r != -ETIMEDOUT || (ran_ns && hk_collector_process_ran_ns(keeper->dirfd) == ran_ns)) {
		return r;
	}
	return ask(keeper, request, SHARED_OPEN_AGAIN_TIMEOUT_MS, ret_response);
}

/* Asks the collector to open the job for the command PID. 0, or -errno and WHY in words. */
static int open_job(struct hk_keeper *keeper, const struct hk_keeper_wish *wish, int pid,
		    char why[WHY_BYTES])
{
	Hk__OpenJobRequest what = HK__OPEN_JOB_REQUEST__INIT;
	Hk__Request request = HK__REQUEST__INIT;
	char limit[HK_SHORTAGE_BYTES];
	Hk__Response *response;

	what.job = keeper->id;
	what.name = (char *)wish->command;
	what.command = (char *)wish->line;
	/* The end of one rank's command is not the end of the job. */
	what.pid = keeper->inside ? 0 : (uint32_t)pid;
	request.what_case = HK__REQUEST__WHAT_OPEN_JOB;
	request.open_job = &what;
	int r = ask_to_open(keeper, &request, &response);
	snprintf(why, WHY_BYTES, "%s%s%s", r == -ETIMEDOUT ? "it does not answer" : strerror(-r),
		 *hk_shortage_explain(limit) ? ", " : "", limit);
	if (r < 0) {
		return r;
	}
	r = response->error < 0 ? response->error : take_job(keeper, response->job);
	if (r < 0) {
		snprintf(why, WHY_BYTES, "%s", *response->text ? response->text : strerror(-r));
	}
	hk__response__free_unpacked(response, NULL);
	return r;
}

int hk_keeper_open(struct hk_keeper *keeper, const struct hk_keeper_wish *wish, int pid)
{
	char why[WHY_BYTES];

	if (keeper->nested) {
		return 0;
	}
	int r = hk_members_join(&keeper->members, keeper->dirfd, keeper->id, keeper->expected,
				keeper->leads);
	snprintf(why, sizeof(why), "its run directory: %s", strerror(-r));
	r = r < 0 ? r : open_job(keeper, wish, pid, why);
	if (r < 0) {
		return fail(keeper, r, "the collector at %s cannot keep the job: %s", keeper->url,
			    why);
	}
	if (keeper->members.leader) {
		make_links(keeper, wish);
		if (hk_command_setting("upstream") && !keeper->leaf) {
			hk_warning("the collector at %s keeps the job itself: it was started "
				   "without --upstream",
				   keeper->url);
		}
	}
	return 0;
}

int hk_keeper_replace(struct hk_keeper *keeper, const struct hk_keeper_wish *wish)
{
	if (keeper->private) {
		return -EALREADY;
	}
	hk_warning("%s", keeper->why);
	hk_keeper_fini(keeper, false);
	keeper->dirfd = -1;
	keeper->members = (struct hk_members){.members_fd = -1, .leader_fd = -1};
	return start_private(keeper, wish);
}

void hk_keeper_notice(struct hk_keeper *keeper, int pid, bool signaled, int code)
{
	Hk__ExitNotice what = HK__EXIT_NOTICE__INIT;
	Hk__Request request = HK__REQUEST__INIT;
	Hk__Response *response;

	keeper->stopped =
	    hk_collector_process_stopped(keeper->dirfd, HK_COLLECTOR_PROCESS_PATIENCE_NS);
	if (keeper->stopped) {
		return;
	}
	what.pid = (uint32_t)pid;
	what.signaled = signaled;
	what.code = code;
	request.version = (char *)HK_VERSION;
	request.what_case = HK__REQUEST__WHAT_EXIT;
	request.exit = &what;
	int r = hk_request_call(keeper->url, &request, NOTICE_TIMEOUT_MS, &response);
	if (r == 0) {
		hk__response__free_unpacked(response, NULL);
	} else if (r == -ETIMEDOUT) { /* its threads stop one by one */
		keeper->stopped = hk_collector_process_stopped(keeper->dirfd, 0);
	}
}

/* ---- leaving -----------------------------------------------------------------------------------
 */

static bool close_job(struct hk_keeper *keeper, int status)
{
	Hk__CloseJobRequest what = HK__CLOSE_JOB_REQUEST__INIT;
	Hk__Request request = HK__REQUEST__INIT;
	Hk__Response *response;

	if (keeper->stopped) {
		hk_warning("the collector does not answer, it is stopped: it finishes the job in "
			   "%s after kill -CONT %d",
			   keeper->shown, keeper->stopped);
		return false;
	}
	what.job = (char *)keeper->id;
	what.have_status = true;
	what.status = status;
	request.what_case = HK__REQUEST__WHAT_CLOSE_JOB;
	request.close_job = &what;
	int r = ask(keeper, &request, CLOSE_TIMEOUT_MS, &response);
	if (r < 0) {
		hk_warning("the collector did not finish the job (%s); what is stored is in %s",
			   strerror(-r), keeper->shown);
		return false;
	}
	if (response->error < 0) {
		hk_warning("the collector did not finish the job: %s",
			   *response->text ? response->text : strerror(-response->error));
	}
	r = response->error;
	hk__response__free_unpacked(response, NULL);
	return r == 0;
}

bool hk_keeper_leave(struct hk_keeper *keeper, const struct hk_child *child, int status)
{
	return !keeper->nested && hk_members_leave(&keeper->members, child, &status) &&
	       close_job(keeper, status);
}

void hk_keeper_fini(struct hk_keeper *keeper, bool closed)
{
	hk_members_fini(&keeper->members, closed);
	if (closed && keeper->private) {
		hk_place_remove_rundir(keeper->dirfd, keeper->run_directory);
	}
	if (keeper->dirfd >= 0) {
		close(keeper->dirfd);
	}
}

void hk_keeper_abandon(struct hk_keeper *keeper)
{
	hk_members_fini(&keeper->members, true);
	if (keeper->private && !keeper->inside) {
		discard(keeper, keeper->directory);
	}
	hk_keeper_fini(keeper, false);
}
