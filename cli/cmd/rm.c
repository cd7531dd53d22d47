/* hookcli rm: removes finished jobs, only files that hooktrace writes, and only after a
 * confirmation or with --force. */
#include <argp.h>
#include <dirent.h>
#include <errno.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/command.h"
#include "cli/job/job_files.h"
#include "cli/job/job_open.h"
#include "cli/option.h"

#define JOBS_MAX 1024

struct arguments {
	bool force;
	const char *jobs[JOBS_MAX];
	size_t count;
};

static const struct argp_option options[] = {
    {"force", 'f', NULL, 0, "Do not ask", 0},
    {"yes", 'y', NULL, OPTION_ALIAS, NULL, 0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case 'f':
	case 'y':
		arguments->force = true;
		return 0;
	case ARGP_KEY_ARG:
		if (arguments->count == JOBS_MAX) {
			argp_error(state, "at most %d jobs at a time", JOBS_MAX);
		}
		arguments->jobs[arguments->count++] = argument;
		return 0;
	case ARGP_KEY_END:
		if (!arguments->count) {
			argp_error(state, "which job? `hookcli ls` shows them");
		}
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "JOB...",
    .doc = "Remove the files of finished jobs. Files that hooktrace did not write stay.",
    .children = hk_option_children,
};

static bool ask(const struct hk_job *job, const struct hk_job_files *files)
{
	char answer[16];

	fprintf(stderr, "remove job %s: %u files, %.1f MiB in %s? [y/N] ", job->snapshot->job->id,
		files->ours, (double)files->bytes / (1 << 20), job->directory);
	return fgets(answer, sizeof(answer), stdin) && (*answer == 'y' || *answer == 'Y');
}

/* Returns true if ./hook-last is a link to DIRECTORY, and would dangle after its removal. */
static bool is_last(const char *directory)
{
	char linked[PATH_MAX], real[PATH_MAX];
	ssize_t length = readlink(HK_JOB_LAST, linked, sizeof(linked));

	return length > 0 && realpath(HK_JOB_LAST, linked) && realpath(directory, real) &&
	       strcmp(linked, real) == 0;
}

/* Removes the links to DIRECTORY that `run` made in the current directory. */
static void remove_links(const char *directory)
{
	DIR *here = opendir(".");

	for (struct dirent *entry; here && (entry = readdir(here));) {
		char linked[PATH_MAX];
		ssize_t length = strncmp(entry->d_name, HK_JOB_HERE, strlen(HK_JOB_HERE)) == 0
				     ? readlink(entry->d_name, linked, sizeof(linked))
				     : -1;
		if (length > 0 && (size_t)length == strlen(directory) &&
		    memcmp(linked, directory, (size_t)length) == 0) {
			unlink(entry->d_name);
		}
	}
	if (here) {
		closedir(here);
	}
}

static int remove_open_job(const struct hk_job *job, bool force)
{
	const char *id = job->snapshot->job->id;
	bool last = is_last(job->directory);
	struct hk_job_files files;
	int rc;

	if (job->live) {
		hk_error("job %s is still running; end it first", id);
		return HK_EXIT_FAILED;
	}
	rc = hk_job_files_count(job->directory, &files);
	if (rc == 0 && !files.ours) {
		hk_error("%s holds nothing that hooktrace wrote", job->directory);
		return HK_EXIT_FAILED;
	}
	if (rc == 0 && !force && !isatty(STDIN_FILENO)) {
		hk_error("cannot ask for confirmation without a terminal: add --force");
		return HK_EXIT_USAGE;
	}
	if (rc == 0 && !force && !ask(job, &files)) {
		return HK_EXIT_DONE;
	}
	rc = rc == 0 ? hk_job_files_remove(job->directory) : rc;
	if (rc == -ENOTEMPTY) {
		hk_warning("%s stays: it holds %u files that hooktrace did not write",
			   job->directory, files.foreign);
		return HK_EXIT_FAILED;
	}
	if (rc < 0) {
		hk_error("cannot remove %s: %s", job->directory, strerror(-rc));
		return HK_EXIT_FAILED;
	}
	remove_links(job->directory);
	if (last) {
		unlink(HK_JOB_LAST);
	}
	return HK_EXIT_DONE;
}

/* Removes the empty directory NAME if it has the name of a job of `run`, and returns true if it
 * did. A killed `run` leaves such directories; no collector knows their jobs, so rm does not
 * ask. */
static bool remove_unused(const char *name)
{
	const char *slash = strrchr(name, '/');
	const char *base = slash ? slash + 1 : name;

	return strncmp(base, HK_JOB_HERE, strlen(HK_JOB_HERE)) == 0 && rmdir(name) == 0;
}

static int remove_job(const char *name, bool force)
{
	struct hk_job job;

	if (remove_unused(name)) {
		return HK_EXIT_DONE;
	}
	int rc = hk_job_open(name, &job);

	if (rc == HK_EXIT_DONE) {
		rc = remove_open_job(&job, force);
		hk_job_close(&job);
	}
	return rc;
}

static int run(int argc, char **argv)
{
	struct arguments arguments = {.count = 0};
	int worst = HK_EXIT_DONE;

	if (argp_parse(&argp, argc, argv, 0, NULL, &arguments)) {
		return HK_EXIT_USAGE;
	}
	for (size_t i = 0; i < arguments.count; i++) {
		int rc = remove_job(arguments.jobs[i], arguments.force);

		worst = rc > worst ? rc : worst;
	}
	return worst;
}

static const char examples[] =
    "hookcli rm base\tRemove job base after a yes\n"
    "hookcli rm -f $(hookcli ls --store results --ids)\tRemove all jobs that results has";

const struct hk_command hk_command_rm = {
    {"rm", "remove finished jobs", &argp, NULL, NULL, examples}, run};
