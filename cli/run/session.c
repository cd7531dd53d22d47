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
#include "cli/target/job_settings.h"
#include "text/name.h"

#define OPEN_TIMEOUT_MS 20000
/* A shared collector may be stuck: it gets the second timeout only if it ran during the first. */
#define SHARED_OPEN_TIMEOUT_MS 2000
#define SHARED_OPEN_AGAIN_TIMEOUT_MS 8000
#define CLOSE_TIMEOUT_MS 120000
#define NOTICE_TIMEOUT_MS 2000
#define ASK_AGAIN_NS 5000000000u
#define ASK_PAUSE_NS 50000000
#define RENEWALS_MAX 20u
#define WHY_BYTES 256
#define RENEWED_LONG_AGO_NS 60000000000u

/* ---- node and job ---- */

/* Makes a short id of COMMAND, and of time and process id in base 36. */
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

/* Sets the id by the same rules by which the job's agents read HOOK_JOB. */
static void set_id(struct hk_session *session, const char *id)
{
	struct hk_identity identity;
	char text[256];

	snprintf(text, sizeof(text), "HOOK_JOB=%s", id);
	char *const environment[] = {text, NULL};
	hk_identity_read(environment, &identity);
	memcpy(session->id, identity.job, sizeof(session->id));
}

/* Returns whether nodes of one job have a directory each: they do if they write into one place and
 * no root merges their parts. */
static bool wants_nodes(bool many_nodes)
{
	const char *chosen = hk_command_setting("per-node");

	return chosen ? strcmp(chosen, "0") != 0 : many_nodes && !hk_command_setting("upstream");
}

static void identify(struct hk_session *session, const struct hk_session_options *options)
{
	struct hk_identity identity;
	struct hk_node_layout world;
	char id[128], *none[] = {NULL};
	char *const *variables = options->apart ? none : environ;

	hk_identity_read(variables, &identity);
	/* RANK without a launcher's variables gives the processes of a job no common id: each
	 * command is then a job of its own. */
	bool shared = options->job || *identity.job || strcmp(identity.rank_source, "RANK") != 0;
	session->inside = identity.rank >= 0 && shared;
	hk_node_layout_read(variables, &identity, &world);
	session->expected = session->inside ? world.local_size : 1;
	session->first = identity.rank <= 0 || !shared;
	session->world_size = identity.world_size;
	session->per_node = wants_nodes(session->inside && world.many_nodes);
	int place = identity.local_rank >= 0 ? identity.local_rank : identity.rank;
	session->leads = place <= 0 || !shared;
	if (options->job) {
		set_id(session, options->job);
	} else if (session->inside && *identity.job) {
		set_id(session, identity.job);
	} else {
		make_id(options->command, id, sizeof(id));
		set_id(session, id);
	}
}

/* ---- the collector ---- */

/* Writes the reason for ERROR and its fix to `why`. Returns ERROR. */
__attribute__((format(printf, 3, 4))) static int fail(struct hk_session *session, int error,
						      const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(session->why, sizeof(session->why), format, arguments);
	va_end(arguments);
	return error;
}

static int use_run_directory(struct hk_session *session, const char *path, int create)
{
	int fd = hk_rundir_open(path, create);

	if (fd < 0) {
		return fd;
	}
	int r = hk_request_url(path, session->url);
	if (r < 0) {
		close(fd);
		return r;
	}
	snprintf(session->run_directory, sizeof(session->run_directory), "%s", path);
	session->dirfd = fd;
	return 0;
}

/* Returns 1 in a job of an outer `hookcli run`, and takes over its collector and its job. */
static int find_outer(struct hk_session *session, const struct hk_session_options *options)
{
	const char *job = getenv(HK_SESSION_NESTED);
	const char *path = getenv("HOOK_RUN_DIR");

	if (!job || !*job || !path || options->store || options->job || options->apart ||
	    use_run_directory(session, path, 0) < 0) {
		return 0;
	}
	if (!hk_rundir_has_collector(session->dirfd)) {
		close(session->dirfd);
		session->dirfd = -1;
		return 0;
	}
	set_id(session, job);
	session->nested = true;
	return 1;
}

/* Uses the run directory that the collector at --collector reports. Returns 0 or -errno. */
static int find_named(struct hk_session *session)
{
	Hk__StatusRequest what = HK__STATUS_REQUEST__INIT;
	Hk__Request request = HK__REQUEST__INIT;
	Hk__Response *response;

	request.what_case = HK__REQUEST__WHAT_STATUS;
	request.status = &what;
	if (hk_collectors_request(&request, &response) != HK_EXIT_DONE) {
		return -ECONNREFUSED;
	}
	int r = response->status ? use_run_directory(session, response->status->run_directory, 0)
				 : -EBADMSG;
	hk__response__free_unpacked(response, NULL);
	if (r < 0) {
		hk_error("the collector's run directory cannot be used: %s", strerror(-r));
	}
	return r;
}

/* Uses the user's running collector. Returns 1 if there is one. */
static int find_shared(struct hk_session *session)
{
	char path[PATH_MAX];
	int fd = hk_rundir_open_default(0, path);

	if (fd < 0) {
		return 0;
	}
	int found = hk_rundir_has_collector(fd);
	close(fd);
	return found && use_run_directory(session, path, 0) == 0;
}

/* Sets PATH to the job's directory and makes it. With `per_node` the collector makes it instead. */
static int make_directory(const struct hk_session *session, const char *parent, const char *name,
			  char path[PATH_MAX])
{
	if (!session->per_node) {
		return hk_job_paths_make_job(parent, name, path);
	}
	return snprintf(path, PATH_MAX, "%s/%s", parent, name) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int no_directory(struct hk_session *session, const char *parent, int error)
{
	return fail(session, error,
		    "cannot make a job directory in %s: %s (choose another with --store DIR)",
		    parent, strerror(-error));
}

/* Starts the collector unless another member of the job has. The job's directory is DIRECTORY, or
 * if that is NULL, NAME below PARENT is made. Returns 0 or -errno. */
static int elect(struct hk_session *session, const char *parent, const char *name,
		 const char *directory)
{
	char made[PATH_MAX];
	int lock = hk_session_members_lock(session->dirfd, HK_SESSION_MEMBERS_ELECTION, LOCK_EX);
	int r = 0;

	if (lock < 0) {
		return fail(session, lock,
			    "cannot lock %s/" HK_SESSION_MEMBERS_ELECTION ": %s (set HOOK_RUN_DIR)",
			    session->run_directory, strerror(-lock));
	}
	if (!hk_rundir_has_collector(session->dirfd)) {
		if (!directory) {
			r = make_directory(session, parent, name, made);
			directory = made;
		}
		const struct hk_collector_start_options options = {
		    .id = session->id,
		    .directory = directory,
		    .upstream = hk_command_setting("upstream"),
		    .keep = hk_command_setting("keep"),
		    .per_node = session->per_node,
		};
		r = r < 0 ? no_directory(session, parent, r)
			  : hk_collector_start(session->run_directory, session->dirfd, &options,
					       session->why);
		if (r < 0 && directory == made && !session->per_node) {
			hk_job_files_remove(made);
		}
	}
	close(lock);
	return r;
}

static int no_run_directory(struct hk_session *session, int error)
{
	char path[PATH_MAX];

	return fail(session, error, "cannot use %s as run directory: %s (set HOOK_RUN_DIR)",
		    hk_rundir_path(0, path) == 0 ? path : "HOOK_RUN_DIR", hk_rundir_problem(error));
}

/* Makes the directories of a private collector and starts it. Sets MADE to the job's directory if
 * it was made here, else to "". Returns 0 or -errno. */
static int make_private(struct hk_session *session, const struct hk_session_options *options,
			char made[PATH_MAX])
{
	char parent[PATH_MAX], name[320], run[PATH_MAX];
	const char *where = options->store ? options->store : ".";
	int r = options->store ? hk_job_paths_make_parents(options->store) : 0;

	if (r == 0 && !realpath(where, parent)) {
		r = -errno;
	}
	if (options->store) {
		snprintf(name, sizeof(name), "%s", session->id);
	} else {
		hk_job_paths_name(options->command, session->id, name, sizeof(name));
	}
	*made = '\0';
	if (r == 0 && !session->inside) {
		r = hk_job_paths_make_job(parent, name, made);
	}
	if (r < 0) {
		*made = '\0';
		return no_directory(session, where, r);
	}
	r = hk_collectors_private_rundir(parent, session->inside ? session->id : hk_name_base(made),
					 1, run);
	r = r < 0 ? r : use_run_directory(session, run, 1);
	if (r < 0) {
		return no_run_directory(session, r);
	}
	session->private = true;
	if (!session->inside) {
		snprintf(session->directory, sizeof(session->directory), "%s", made);
	}
	char base[PATH_MAX];
	snprintf(base, sizeof(base), "%s", run);
	*strrchr(base, '/') = '\0';
	hk_job_paths_prune_rundirs(base);
	return elect(session, parent, name, session->inside ? NULL : made);
}

/* Ends a private collector and removes the job's files from DIRECTORY. */
static void discard(struct hk_session *session, const char *directory)
{
	if (session->private) {
		hk_job_paths_remove_rundir(session->dirfd, session->run_directory);
	}
	hk_job_files_remove(directory);
	if (session->private) {
		/* The run directory stays while a link to the job in it leads somewhere. */
		hk_job_paths_remove_rundir(session->dirfd, session->run_directory);
		close(session->dirfd);
		session->dirfd = -1;
	}
}

/* Starts a private collector. Ranks of a node derive its run directory from the job's id. A job of
 * this process alone derives it from its new directory: both are removed if the start fails or a
 * signal ends it. */
static int start_private(struct hk_session *session, const struct hk_session_options *options)
{
	char made[PATH_MAX];
	struct hk_signal_guard hold;

	if (session->inside) {
		return make_private(session, options, made); /* no undo: other members may use it */
	}
	hk_signal_guard_begin(&hold);
	int r = make_private(session, options, made);
	if (*made && (r < 0 || hk_signal_guard_caught(&hold))) {
		discard(session, made);
	}
	hk_signal_guard_end(&hold);
	return r;
}

int hk_session_init(struct hk_session *session, const struct hk_session_options *options)
{
	*session = (struct hk_session){.dirfd = -1, .members = {.members_fd = -1, .leader_fd = -1}};
	identify(session, options);
	if (find_outer(session, options)) {
		return 0;
	}
	bool named = hk_command_setting("collector") != NULL;
	bool found = named ? find_named(session) == 0 : !options->store && find_shared(session);
	return found ? 0 : start_private(session, options);
}

/* ---- the job ---- */

/* Makes hook-last beside a private job, or in the current directory with a link to the job. */
static void make_links(struct hk_session *session, const struct hk_session_options *options)
{
	char parent[PATH_MAX], name[320], here[PATH_MAX];
	const char *base = hk_name_base(session->whole);

	snprintf(session->shown, sizeof(session->shown), "%s", session->whole);
	snprintf(parent, sizeof(parent), "%s", session->whole);
	*strrchr(parent, '/') = '\0';
	if (session->private) {
		hk_job_paths_link(*parent ? parent : "/", HK_JOB_LAST, base);
		if (!options->store) {
			snprintf(session->shown, sizeof(session->shown), "./%.*s", PATH_MAX - 3,
				 base);
		}
		return;
	}
	hk_job_paths_name(options->command, session->id, name, sizeof(name));
	if (!getcwd(here, sizeof(here))) {
		return;
	}
	hk_job_paths_link(here, name, session->whole);
	hk_job_paths_link(here, HK_JOB_LAST, name);
	struct stat status;
	if (stat(name, &status) == 0) {
		snprintf(session->shown, sizeof(session->shown), "./%s", name);
	}
}

void hk_session_renew(struct hk_session *session)
{
	if (!session->private || !*session->directory || session->renewals > RENEWALS_MAX ||
	    hk_rundir_has_collector(session->dirfd)) {
		return;
	}
	uint64_t now = hk_clock_monotonic_ns();
	session->renewals =
	    now - session->renewed_ns < RENEWED_LONG_AGO_NS ? session->renewals + 1 : 1;
	session->renewed_ns = now;
	if (session->renewals > RENEWALS_MAX) {
		hk_warning("collectors of the job keep ending: what they stored is in %s",
			   session->shown);
	} else if (elect(session, NULL, NULL, session->directory) == 0) {
		hk_warning("the job's collector ended; a new one continues");
	} else {
		hk_warning("%s", session->why);
	}
}

/* Sends REQUEST, for up to 5 s while no collector answers: a private one is replaced. */
static int ask(struct hk_session *session, Hk__Request *request, int timeout_ms,
	       Hk__Response **ret_response)
{
	const struct timespec pause = {0, ASK_PAUSE_NS};
	uint64_t end = hk_clock_monotonic_ns() + ASK_AGAIN_NS;
	int r;

	request->version = (char *)HK_VERSION;
	for (;;) {
		r = hk_request_call(session->url, request, timeout_ms, ret_response);
		if (r != -ECONNREFUSED || hk_clock_monotonic_ns() > end) {
			return r;
		}
		hk_session_renew(session);
		nanosleep(&pause, NULL);
	}
}

/* Takes over the job's directories. Returns 0, or -EBADMSG if the collector reports none. */
static int take_job(struct hk_session *session, const Hk__Job *job)
{
	if (!job || !strrchr(job->directory, '/')) {
		return -EBADMSG;
	}
	snprintf(session->directory, sizeof(session->directory), "%s", job->directory);
	session->leaf = *job->upstream != '\0';
	session->shared = *job->whole != '\0';
	snprintf(session->whole, sizeof(session->whole), "%s",
		 session->shared ? job->whole : session->directory);
	return 0;
}

/* Sends REQUEST, and again after a timeout unless the shared collector did not run at all. */
static int ask_to_open(struct hk_session *session, Hk__Request *request,
		       Hk__Response **ret_response)
{
	if (session->private) {
		return ask(session, request, OPEN_TIMEOUT_MS, ret_response);
	}
	uint64_t ran_ns = hk_collector_process_ran_ns(session->dirfd);
	int r = ask(session, request, SHARED_OPEN_TIMEOUT_MS, ret_response);
	if (r != -ETIMEDOUT || (ran_ns && hk_collector_process_ran_ns(session->dirfd) == ran_ns)) {
		return r;
	}
	return ask(session, request, SHARED_OPEN_AGAIN_TIMEOUT_MS, ret_response);
}

/* Has the collector open the job of process PID. Returns 0, or -errno with the reason in WHY. */
static int open_job(struct hk_session *session, const struct hk_session_options *options, int pid,
		    char why[WHY_BYTES])
{
	Hk__OpenJobRequest what = HK__OPEN_JOB_REQUEST__INIT;
	Hk__Request request = HK__REQUEST__INIT;
	char limit[HK_SHORTAGE_BYTES];
	Hk__Response *response;

	what.job = session->id;
	what.name = (char *)options->command;
	what.command = (char *)options->line;
	/* The end of one rank's command is not the end of the job. */
	what.pid = session->inside ? 0 : (uint32_t)pid;
	what.triggers = hk_job_settings_triggers();
	request.what_case = HK__REQUEST__WHAT_OPEN_JOB;
	request.open_job = &what;
	int r = ask_to_open(session, &request, &response);
	snprintf(why, WHY_BYTES, "%s%s%s", r == -ETIMEDOUT ? "it does not answer" : strerror(-r),
		 *hk_shortage_explain(limit) ? ", " : "", limit);
	if (r < 0) {
		return r;
	}
	r = response->error < 0 ? response->error : take_job(session, response->job);
	if (r < 0) {
		snprintf(why, WHY_BYTES, "%s", *response->text ? response->text : strerror(-r));
	}
	hk__response__free_unpacked(response, NULL);
	return r;
}

int hk_session_open(struct hk_session *session, const struct hk_session_options *options, int pid)
{
	char why[WHY_BYTES];

	if (session->nested) {
		return 0;
	}
	int r = options->adopted
		    ? 0
		    : hk_session_members_join(&session->members, session->dirfd, session->id,
					      session->expected, session->leads);
	snprintf(why, sizeof(why), "its run directory: %s", strerror(-r));
	r = r < 0 ? r : open_job(session, options, pid, why);
	if (r < 0) {
		return fail(session, r, "the collector at %s cannot keep the job: %s", session->url,
			    why);
	}
	if (options->adopted ? session->leads : session->members.leader) {
		make_links(session, options);
		if (hk_command_setting("upstream") && !session->leaf) {
			hk_warning("the collector at %s keeps the job itself: it was started "
				   "without --upstream",
				   session->url);
		}
	}
	return 0;
}

int hk_session_replace(struct hk_session *session, const struct hk_session_options *options)
{
	if (session->private) {
		return -EALREADY;
	}
	hk_warning("%s", session->why);
	hk_session_fini(session, false);
	session->dirfd = -1;
	session->members = (struct hk_session_members){.members_fd = -1, .leader_fd = -1};
	return start_private(session, options);
}

void hk_session_notice(struct hk_session *session, int pid, bool signaled, int code)
{
	Hk__ExitNotice what = HK__EXIT_NOTICE__INIT;
	Hk__Request request = HK__REQUEST__INIT;
	Hk__Response *response;

	session->stopped =
	    hk_collector_process_stopped(session->dirfd, HK_COLLECTOR_PROCESS_PATIENCE_NS);
	if (session->stopped) {
		return;
	}
	what.pid = (uint32_t)pid;
	what.signaled = signaled;
	what.code = code;
	request.version = (char *)HK_VERSION;
	request.what_case = HK__REQUEST__WHAT_EXIT;
	request.exit = &what;
	int r = hk_request_call(session->url, &request, NOTICE_TIMEOUT_MS, &response);
	if (r == 0) {
		hk__response__free_unpacked(response, NULL);
	} else if (r == -ETIMEDOUT) { /* the threads of a stopped collector stop one by one */
		session->stopped = hk_collector_process_stopped(session->dirfd, 0);
	}
}

/* ---- leaving ---- */

static bool close_job(struct hk_session *session, int status)
{
	Hk__CloseJobRequest what = HK__CLOSE_JOB_REQUEST__INIT;
	Hk__Request request = HK__REQUEST__INIT;
	Hk__Response *response;

	if (session->stopped) {
		hk_warning("the collector does not answer, it is stopped: it finishes the job in "
			   "%s after kill -CONT %d",
			   session->shown, session->stopped);
		return false;
	}
	what.job = (char *)session->id;
	what.have_status = true;
	what.status = status;
	request.what_case = HK__REQUEST__WHAT_CLOSE_JOB;
	request.close_job = &what;
	int r = ask(session, &request, CLOSE_TIMEOUT_MS, &response);
	if (r < 0) {
		hk_warning("the collector did not finish the job (%s); what is stored is in %s",
			   strerror(-r), session->shown);
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

bool hk_session_leave(struct hk_session *session, const struct hk_command_process *child,
		      int status)
{
	return !session->nested && hk_session_members_leave(&session->members, child, &status) &&
	       close_job(session, status);
}

void hk_session_fini(struct hk_session *session, bool closed)
{
	hk_session_members_fini(&session->members, closed);
	if (closed && session->private) {
		hk_job_paths_remove_rundir(session->dirfd, session->run_directory);
	}
	if (session->dirfd >= 0) {
		close(session->dirfd);
	}
}

void hk_session_abandon(struct hk_session *session)
{
	hk_session_members_fini(&session->members, true);
	if (session->private && !session->inside) {
		discard(session, session->directory);
	}
	hk_session_fini(session, false);
}
