/* hookcli open: shows the page of a job in a browser: live while it runs, its report afterwards. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "cli/command.h"
#include "cli/job/collector_client.h"
#include "cli/job/job_open.h"
#include "cli/live/browser.h"
#include "cli/option.h"
#include "cli/run/job_page.h"
#include "report/build/build.h"

#define OPTION_NO_BROWSER 0x100
#define REPORT "report.html"
#define ADDRESS_BYTES (4 * PATH_MAX)

struct arguments {
	const char *job;
	bool no_browser;
};

static const struct argp_option options[] = {
    {"no-browser", OPTION_NO_BROWSER, NULL, 0, "Print the address only", 0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case OPTION_NO_BROWSER:
		arguments->no_browser = true;
		return 0;
	case ARGP_KEY_ARG:
		hk_option_only(state, "job", argument, &arguments->job);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "[JOB]",
    .doc = "Show the page of JOB in a browser.\v"
	   "While the job runs, its collector serves the page, and it is live. A collector that "
	   "was started without --http then listens on a free port of 127.0.0.1, for an address "
	   "with a token that only you see. After the job's end the page is its report.html. On "
	   "a machine without a screen the address is printed, with a way to reach it.",
    .children = hk_option_children,
};

/* Appends TEXT to ADDRESS, with %XX for what an address cannot hold; KEEP are further bytes that it
 * can. */
static void append(char address[ADDRESS_BYTES], const char *text, const char *keep)
{
	size_t used = strlen(address);

	for (; *text && used + 4 < ADDRESS_BYTES; text++) {
		bool plain =
		    isalnum((unsigned char)*text) || strchr("-._~", *text) || strchr(keep, *text);
		used += (size_t)snprintf(address + used, 4, plain ? "%c" : "%%%02X",
					 (unsigned char)*text);
	}
}

/* ---- a job that runs ---- */

static void live_address(const Hk__PagesReply *pages, const char *id, char address[ADDRESS_BYTES])
{
	const char *host = strstr(pages->url, "://");

	host = host ? host + strlen("://") : pages->url;
	const char *port = strrchr(host, ':');
	/* A browser cannot connect to an address that stands for all addresses of a machine. */
	bool any = strncmp(host, "0.0.0.0:", strlen("0.0.0.0:")) == 0 ||
		   strncmp(host, "[::]:", strlen("[::]:")) == 0;
	snprintf(address, ADDRESS_BYTES, "%.*s%s%s%s%s%s/jobs/", (int)(host - pages->url),
		 pages->url, *pages->token ? "hooktrace:" : "", pages->token,
		 *pages->token ? "@" : "", any ? "localhost" : "", any && port ? port : host);
	append(address, id, "");
}

/* Asks the collector of JOB where its page is. Returns an exit code. */
static int live_find(const struct hk_job *job, char address[ADDRESS_BYTES])
{
	Hk__Request request = HK__REQUEST__INIT;
	Hk__PagesRequest what = HK__PAGES_REQUEST__INIT;
	Hk__Response *response;

	if (job->elsewhere || strncmp(job->url, "ipc:", strlen("ipc:")) != 0) {
		hk_error("the job is kept on another machine, at %s: a collector with --http shows "
			 "pages there (deploy/docs/live.md)",
			 job->url);
		return HK_EXIT_FAILED;
	}
	request.what_case = HK__REQUEST__WHAT_PAGES;
	request.pages = &what;
	int code = hk_client_request(job->url, &request, &response);
	if (code != HK_EXIT_DONE) {
		return code;
	}
	if (response->pages) {
		live_address(response->pages, job->snapshot->job->id, address);
	} else {
		hk_error("the collector is too old for live pages: hookcli report --format html");
		code = HK_EXIT_FAILED;
	}
	hk__response__free_unpacked(response, NULL);
	return code;
}

/* ---- a job that has ended ---- */

/* Returns whether the page at PATH was written behind the last change of the job's files. */
static bool is_newest(const char *path, const char *directory)
{
	char job[PATH_MAX + sizeof("/job.json")];
	struct stat page, files;

	snprintf(job, sizeof(job), "%s/job.json", directory);
	return stat(path, &page) == 0 && stat(job, &files) == 0 &&
	       (page.st_mtim.tv_sec > files.st_mtim.tv_sec ||
		(page.st_mtim.tv_sec == files.st_mtim.tv_sec &&
		 page.st_mtim.tv_nsec >= files.st_mtim.tv_nsec));
}

/* Makes sure that JOB's directory has a page. Returns an exit code. */
static int report_find(const struct hk_job *job, char address[ADDRESS_BYTES])
{
	char path[PATH_MAX + sizeof("/" REPORT)];
	struct hk_report *report;

	if (!job->snapshot->job->closed) {
		hk_error("the job has not ended, and no collector of this machine has all of it: "
			 "hookcli report --format html -o FILE writes what there is");
		return HK_EXIT_FAILED;
	}
	snprintf(path, sizeof(path), "%s/" REPORT, job->directory);
	if (!is_newest(path, job->directory)) {
		int r = hk_report_new(job->snapshot, &report);
		bool written = r == 0 && hk_job_page_write(job, report);
		if (r == 0) {
			hk_report_free(report);
		}
		if (!written) {
			hk_error("cannot write %s: hookcli report --format html -o FILE writes it "
				 "elsewhere",
				 path);
			return HK_EXIT_FAILED;
		}
	}
	snprintf(address, ADDRESS_BYTES, "file://");
	append(address, path, "/");
	return HK_EXIT_DONE;
}

/* ---- both ---- */

static void show(const char *address)
{
	int r = hk_browser_open(address, strchr(address, '@') != NULL);
	const char *port =
	    strncmp(address, "file:", strlen("file:")) == 0 ? NULL : strrchr(address, ':');

	if (r == -ENODEV && port) {
		fprintf(stderr,
			"no screen here: ssh -L %.*s:127.0.0.1:%.*s HOST, then open it there\n",
			(int)strspn(port + 1, "0123456789"), port + 1,
			(int)strspn(port + 1, "0123456789"), port + 1);
	} else if (r < 0 && r != -ENODEV) {
		hk_warning("cannot start a browser: %s (set BROWSER)", strerror(-r));
	}
}

static int run(int argc, char **argv)
{
	static char address[ADDRESS_BYTES];
	struct arguments arguments = {0};
	struct hk_job job;

	if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0) {
		return HK_EXIT_USAGE;
	}
	int code = hk_job_open(arguments.job, &job);
	if (code != HK_EXIT_DONE) {
		return code;
	}
	code = job.live && *job.url ? live_find(&job, address) : report_find(&job, address);
	hk_job_close(&job);
	if (code == HK_EXIT_DONE) {
		puts(address);
		code = hk_command_output_close(stdout, code);
	}
	if (code == HK_EXIT_DONE && !arguments.no_browser) {
		show(address);
	}
	return code;
}

static const char examples[] = "hookcli open\tThe newest job, live while it runs\n"
			       "hookcli open slow --no-browser\tPrint the address of job slow";

const struct hk_command hk_command_open = {
    {"open", "show the page of a job in a browser, live while it runs", &argp, NULL, NULL,
     examples},
    run};
