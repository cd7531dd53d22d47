#include "cli/job/collectors.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rundir.h"
#include "cli/command.h"
#include "cli/job/collector_client.h"

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

/* Adds the collector of DIRECTORY, or of the directory that it leads to: roots of a stream engine
 * have theirs in the store. */
static void add_linked(struct hk_collectors *collectors, const char *directory)
{
	char real[PATH_MAX];

	add(collectors, realpath(directory, real) ? real : directory);
}

/* Adds the private collectors below BASE. */
static void add_private(struct hk_collectors *collectors, const char *base)
{
	int fd = hk_rundir_open(base, 0);
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);
	char path[PATH_MAX];

	for (struct dirent *entry; entries && (entry = readdir(entries));) {
		if (strncmp(entry->d_name, HK_COLLECTORS_PRIVATE, strlen(HK_COLLECTORS_PRIVATE)) ==
			0 &&
		    snprintf(path, sizeof(path), "%s/%s", base, entry->d_name) < PATH_MAX) {
			add_linked(collectors, path);
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
		if (hk_client_call(collectors->url[i], &request, ASK_TIMEOUT_MS, &response) < 0) {
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

const char *hk_collectors_default(void)
{
	static char url[HK_REQUEST_URL_BYTES];
	const char *chosen = hk_command_setting("collector");
	char path[PATH_MAX];

	if (chosen) {
		return chosen;
	}
	int fd = hk_rundir_open_default(0, path);
	if (fd < 0) {
		return NULL;
	}
	close(fd);
	return hk_request_url(path, url) == 0 ? url : NULL;
}

int hk_collectors_request(Hk__Request *request, Hk__Response **ret_response)
{
	return hk_client_request(hk_collectors_default(), request, ret_response);
}

/* Gets the store of the running collector. Returns 0, or -errno if no collector answers. */
static int collector_store(char path[PATH_MAX])
{
	Hk__StatusRequest what = HK__STATUS_REQUEST__INIT;
	Hk__Request request = HK__REQUEST__INIT;
	Hk__Response *response;

	request.what_case = HK__REQUEST__WHAT_STATUS;
	request.status = &what;
	int r = hk_client_call(hk_collectors_default(), &request, HK_CLIENT_TIMEOUT_MS, &response);
	if (r < 0) {
		return r;
	}
	bool known = response->status && *response->status->store;
	if (known) {
		snprintf(path, PATH_MAX, "%s", response->status->store);
	}
	hk__response__free_unpacked(response, NULL);
	return known ? 0 : -ENOENT;
}

int hk_collectors_store(char path[PATH_MAX])
{
	const char *chosen = hk_command_setting("store");
	const char *state = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");
	int length;

	if (chosen) {
		length = snprintf(path, PATH_MAX, "%s", chosen);
	} else if (collector_store(path) == 0) {
		return 0; /* the store also holds jobs that ended before this collector started */
	} else if (state && *state == '/') {
		length = snprintf(path, PATH_MAX, "%s/hooktrace", state);
	} else if (home && *home) {
		length = snprintf(path, PATH_MAX, "%s/.local/state/hooktrace", home);
	} else {
		return -ENOENT;
	}
	return length < PATH_MAX ? 0 : -ENOENT;
}

int hk_collectors_private_rundir(const char *parent, const char *name, int create,
				 char path[PATH_MAX])
{
	uint64_t hash = 14695981039346656037u; /* FNV-1a: short, and the same in every process */
	char absolute[PATH_MAX], base[PATH_MAX];

	if (!realpath(parent, absolute)) {
		return -errno;
	}
	int fd = hk_rundir_open_default(create, base);
	if (fd < 0) {
		return fd;
	}
	close(fd);
	for (const char *at = absolute; *at; at++) {
		hash = (hash ^ (unsigned char)*at) * 1099511628211u;
	}
	for (const char *at = name; *at; at++) {
		hash = (hash ^ ((unsigned char)*at | 0x100u)) * 1099511628211u;
	}
	int length = snprintf(path, PATH_MAX, "%s/" HK_COLLECTORS_PRIVATE "%016llx", base,
			      (unsigned long long)hash);
	return length < PATH_MAX ? 0 : -ENAMETOOLONG;
}
