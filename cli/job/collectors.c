#include "cli/job/collectors.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/rundir.h"
#include "cli/command.h"
#include "cli/job/collector_client.h"
#include "cli/job/job.h"

#define ASK_TIMEOUT_MS 2000

static void add(struct hk_collectors *collectors, const char *directory)
{
	int fd = hk_rundir_open(directory, 0);

	if (fd < 0) {
		return;
	}
	size_t at = collectors->count;
	if (hk_rundir_has_collector(fd) && at < HK_COLLECTORS_MAX &&
	    hk_request_url(directory, collectors->text[at]) == 0) {
		collectors->url[at] = collectors->text[at];
		collectors->count++;
	}
	close(fd);
}

/* Those of the private collectors below BASE. */
static void add_private(struct hk_collectors *collectors, const char *base)
{
	int fd = hk_rundir_open(base, 0);
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);
	char path[PATH_MAX];

	for (struct dirent *entry; entries && (entry = readdir(entries));) {
		if (strncmp(entry->d_name, HK_JOB_RUNDIR, strlen(HK_JOB_RUNDIR)) == 0 &&
		    snprintf(path, sizeof(path), "%s/%s", base, entry->d_name) < PATH_MAX) {
			add(collectors, path);
		}
	}
	if (entries) {
		closedir(entries);
	} else if (fd >= 0) {
		close(fd);
	}
}

void hk_collectors_find(struct hk_collectors *collectors)
{
	const char *chosen = hk_command_setting("collector");
	char base[PATH_MAX];

	collectors->count = 0;
	if (chosen) {
		collectors->url[collectors->count++] = chosen;
		return;
	}
	for (int i = 0; hk_rundir_path(i, base) == 0; i++) {
		add(collectors, base);
	}
	for (int i = 0; hk_rundir_path(i, base) == 0; i++) {
		add_private(collectors, base);
	}
}

int hk_collectors_newest(const struct hk_collectors *collectors)
{
	Hk__ListRequest what = HK__LIST_REQUEST__INIT;
	int newest = -ENOENT;
	uint64_t start_ns = 0;
	bool live = false;

	for (size_t i = 0; i < collectors->count; i++) {
		Hk__Request request = HK__REQUEST__INIT;
		Hk__Response *response;
		request.what_case = HK__REQUEST__WHAT_LIST;
		request.list = &what;
		if (hk_call(collectors->url[i], &request, ASK_TIMEOUT_MS, &response) < 0) {
			continue;
		}
		for (size_t k = 0; k < response->n_jobs; k++) {
			const Hk__Job *job = response->jobs[k];
			bool better =
			    live == !job->closed ? job->start_unix_ns >= start_ns : !job->closed;
			if (newest < 0 || better) {
				newest = (int)i;
				start_ns = job->start_unix_ns;
				live = !job->closed;
			}
		}
		hk__response__free_unpacked(response, NULL);
	}
	return newest;
}
