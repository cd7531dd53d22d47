#include "cli/target/checks.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rundir.h"
#include "cli/command.h"
#include "cli/job/collector_client.h"
#include "cli/job/collectors.h"
#include "cli/target/agent_library.h"
#include "cli/target/run_capture.h"
#include "ring/writer.h"

#define CAPTURE_MS 5000
#define COLLECTOR_MS 2000
#define ENOUGH_FREE_BYTES (256ull << 20) /* four processes at the cap of a segment */
#define ENOUGH_SHM_BYTES (128ull << 20)
#define ENOUGH_FILES 4096u

__attribute__((format(printf, 3, 4))) static void
tell(struct hk_check_result *result, enum hk_check_state state, const char *format, ...)
{
	va_list arguments;

	result->state = state;
	va_start(arguments, format);
	vsnprintf(result->detail, sizeof(result->detail), format, arguments);
	va_end(arguments);
}

static void advise(struct hk_check_result *result, const char *fix)
{
	snprintf(result->fix, sizeof(result->fix), "%s", fix);
}

static char *first_line(char *text)
{
	text[strcspn(text, "\n")] = '\0';
	return text;
}

/* Loads the agent into a program that does nothing: the loader prints problems to stderr. */
static void check_agent(struct hk_check_result *result)
{
	static const char *const nothing[] = {"true", NULL};
	char path[PATH_MAX], preload[PATH_MAX + 16], text[256];
	char *environment[] = {preload, "HOOK_DISABLE=1", NULL};
	int rc = hk_agent_library_find(hk_command_setting("agent"), path);

	if (rc == -EINVAL) {
		tell(result, HK_CHECK_FAILED, "%s: LD_PRELOAD cuts paths at spaces and colons",
		     path);
		advise(result,
		       "move or link the library to a path without them, name it in HOOK_AGENT");
		return;
	}
	if (rc < 0) {
		tell(result, HK_CHECK_FAILED, "libhookagent.so is not beside hookcli");
		advise(result,
		       "build or install all of hooktrace, or name the library in HOOK_AGENT");
		return;
	}
	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", path);
	rc = hk_capture(nothing, environment, CAPTURE_MS, text, sizeof(text));
	if (rc != 0 || *text) {
		tell(result, HK_CHECK_FAILED, "%s does not load: %s", path,
		     *text ? first_line(text) : "the program it is loaded into fails");
		advise(result,
		       "build it on this machine, or for its oldest libc and this processor");
		return;
	}
	tell(result, HK_CHECK_OK, "%s loads", path);
}

static void check_switch(struct hk_check_result *result)
{
	const char *disabled = getenv("HOOK_DISABLE");
	const char *loaded = getenv("LD_PRELOAD");

	if (disabled && *disabled && strcmp(disabled, "0") != 0) {
		tell(result, HK_CHECK_WARNING, "HOOK_DISABLE=%.64s: the agent stays off", disabled);
		advise(result, "unset HOOK_DISABLE");
	} else if (loaded && *loaded) {
		tell(result, HK_CHECK_NOTE, "LD_PRELOAD holds %.400s; it is kept behind the agent",
		     loaded);
	} else {
		tell(result, HK_CHECK_OK, "nothing else is preloaded");
	}
}

static void check_run_directory(struct hk_check_result *result)
{
	char path[PATH_MAX];
	struct statfs status;
	unsigned long long free_bytes, all_bytes;
	int fd = hk_rundir_open_default(1, path);

	if (fd < 0) {
		tell(result, HK_CHECK_FAILED, "no usable run directory: %s", hk_rundir_problem(fd));
		advise(result,
		       "set HOOK_RUN_DIR to a directory of your own, mode 0700, on a tmpfs");
		return;
	}
	if (fstatfs(fd, &status) < 0) {
		tell(result, HK_CHECK_FAILED, "%s: %s", path, strerror(errno));
		close(fd);
		return;
	}
	close(fd);
	free_bytes = (unsigned long long)status.f_bavail * (unsigned long long)status.f_bsize;
	all_bytes = (unsigned long long)status.f_blocks * (unsigned long long)status.f_bsize;
	if (status.f_type != TMPFS_MAGIC) {
		tell(result, HK_CHECK_WARNING, "%s is not on a tmpfs: its pages go to disk", path);
		advise(result,
		       "set HOOK_RUN_DIR to a directory on a tmpfs, such as below /dev/shm");
	} else if (hk_writer_crowds(free_bytes, all_bytes, ENOUGH_FREE_BYTES)) {
		tell(result, HK_CHECK_WARNING, "%s has %llu MiB free: records may be lost", path,
		     free_bytes >> 20);
		advise(result, "free space there, or enlarge the tmpfs");
	} else {
		tell(result, HK_CHECK_OK, "%s, %llu MiB free", path, free_bytes >> 20);
	}
}

static void check_shared_memory(struct hk_check_result *result)
{
	struct statfs status;
	unsigned long long bytes;

	if (statfs("/dev/shm", &status) < 0) {
		tell(result, HK_CHECK_WARNING, "no /dev/shm: %s", strerror(errno));
		advise(result, "set HOOK_RUN_DIR to a directory on another tmpfs");
		return;
	}
	bytes = (unsigned long long)status.f_blocks * (unsigned long long)status.f_bsize;
	if (bytes < ENOUGH_SHM_BYTES) {
		tell(result, HK_CHECK_WARNING, "/dev/shm is only %llu MiB, as in a container",
		     bytes >> 20);
		advise(result, "start the container with --shm-size=1g");
	} else {
		tell(result, HK_CHECK_OK, "/dev/shm is %llu MiB", bytes >> 20);
	}
}

static void tell_collector(struct hk_check_result *result, const Hk__Response *response)
{
	const Hk__StatusReply *status = response->status;

	if (response->error || !status) {
		tell(result, HK_CHECK_WARNING, "the collector answers with an error: %.300s",
		     response->text);
	} else if (strcmp(status->version, HK_VERSION) != 0) {
		tell(result, HK_CHECK_WARNING, "pid %u is version %.32s, this is %s", status->pid,
		     status->version, HK_VERSION);
		advise(result, "restart hookcollector: running jobs go on and are picked up again");
	} else {
		tell(result, HK_CHECK_OK, "pid %u serves %.200s, %zu jobs", status->pid,
		     status->run_directory, status->n_jobs);
	}
}

static void check_collector(struct hk_check_result *result)
{
	Hk__Request request = HK__REQUEST__INIT;
	Hk__StatusRequest what = HK__STATUS_REQUEST__INIT;
	const char *url = hk_collectors_default();
	Hk__Response *response = NULL;
	int rc;

	request.what_case = HK__REQUEST__WHAT_STATUS;
	request.status = &what;
	rc = hk_client_call(url, &request, COLLECTOR_MS, &response);
	if (rc == 0) {
		tell_collector(result, response);
		hk__response__free_unpacked(response, NULL);
	} else if (rc == -ECONNREFUSED) {
		tell(result, HK_CHECK_NOTE,
		     "none runs; `hookcli run` starts one for its job alone, LD_PRELOAD needs one");
	} else {
		tell(result, HK_CHECK_WARNING, "%.200s %.300s", url, hk_client_reason(rc));
		advise(result,
		       "look at the collector's log, or restart it: nothing recorded is lost");
	}
}

static void check_clock(struct hk_check_result *result)
{
	if (hk_clock_tsc_trusted()) {
		tell(result, HK_CHECK_OK, "the kernel keeps time by the TSC");
		return;
	}
	tell(result, HK_CHECK_WARNING,
	     "the kernel does not keep time by the TSC: each call costs two clock_gettime more");
	advise(result, "use --level sample for calls shorter than a microsecond");
}

static void check_files(struct hk_check_result *result)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0) {
		tell(result, HK_CHECK_WARNING, "limit of open files: %s", strerror(errno));
	} else if (limit.rlim_max < ENOUGH_FILES) {
		tell(result, HK_CHECK_WARNING,
		     "at most %llu open files; the collector needs two per process",
		     (unsigned long long)limit.rlim_max);
		advise(result, "raise the hard limit (ulimit -Hn) to 4096 or more");
	} else {
		tell(result, HK_CHECK_OK, "up to %llu open files",
		     (unsigned long long)limit.rlim_max);
	}
}

static void check_mpirun(struct hk_check_result *result)
{
	static const char *const arguments[] = {"mpirun", "--version", NULL};
	char text[512];
	int rc = hk_capture(arguments, environ, CAPTURE_MS, text, sizeof(text));

	if (rc == -ENOENT) {
		tell(result, HK_CHECK_NOTE, "not in PATH; needed for MPI jobs only");
	} else if (rc != 0) {
		tell(result, HK_CHECK_WARNING, "mpirun --version fails: %s",
		     rc < 0 ? strerror(-rc) : first_line(text));
	} else {
		tell(result, HK_CHECK_OK, "%s", first_line(text));
	}
}

const struct hk_check hk_checks[] = {
    {"agent", check_agent},
    {"preload", check_switch},
    {"run directory", check_run_directory},
    {"shared memory", check_shared_memory},
    {"collector", check_collector},
    {"clock", check_clock},
    {"open files", check_files},
    {"mpirun", check_mpirun},
};

const size_t hk_check_count = sizeof(hk_checks) / sizeof(hk_checks[0]);

const char *hk_check_word(enum hk_check_state state)
{
	static const char *const words[] = {"ok", "note", "warning", "failed"};

	return words[state];
}
