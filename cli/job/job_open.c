#include "cli/job/job_open.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/command.h"
#include "cli/job/collector_client.h"
#include "cli/job/collectors.h"
#include "cli/job/job_root.h"
#include "cli/job/job_snapshot.h"
#include "cli/job/job_stream.h"
#include "cli/job/job_summary.h"
#include "cli/job/notes.h"
#include "trigger/plan.h"
#include "wire/nodes.h"
#include "wire/statistics.h"

/* ---- from a directory ---- */

/* Takes the job's state from the collector at URL if it keeps the same job. Returns whether it
 * does. */
static bool refresh_from(struct hk_job *job, const char *url)
{
	Hk__Response *response = NULL;
	char theirs[PATH_MAX];
	bool same = hk_job_snapshot_request(url, job->snapshot->job->id, &response) == 0 &&
		    realpath(response->snapshot->job->directory, theirs) &&
		    strcmp(theirs, job->directory) == 0;

	if (same) {
		hk__snapshot__free_unpacked(job->snapshot, NULL);
		hk_job_snapshot_take(job, response, url);
	}
	if (response) {
		hk__response__free_unpacked(response, NULL);
	}
	return same;
}

/* Takes the state of a running job from its collector, which is fresher than its file. This is a
 * private collector, found by the job's directory or key, or else the user's. */
static void refresh(struct hk_job *job)
{
	char parent[PATH_MAX + 4], run[PATH_MAX], url[HK_REQUEST_URL_BYTES], key[256];
	const char *names[] = {strrchr(job->directory, '/') + 1, key};

	snprintf(key, sizeof(key), "%s",
		 *job->snapshot->job->key ? job->snapshot->job->key : job->snapshot->job->id);
	snprintf(parent, sizeof(parent), "%s/..", job->directory);
	for (size_t i = 0; i < 2; i++) {
		if (hk_collectors_private_rundir(parent, names[i], 0, run) == 0 &&
		    access(run, F_OK) == 0 && hk_request_url(run, url) == 0 &&
		    refresh_from(job, url)) {
			return;
		}
	}
	if (hk_collectors_default()) {
		refresh_from(job, hk_collectors_default());
	}
}

/* Returns whether job.json says that the job has ended. */
static bool has_ended(const char *directory)
{
	struct hk_job_summary card;

	if (hk_job_summary_read(directory, &card) < 0) {
		return false;
	}
	bool ended = card.closed;
	hk_job_summary_fini(&card);
	return ended;
}

/* ---- from the directories of nodes ---- */

/* Warns of each node with missing data. */
static void tell_parts(struct hk_job *job, const struct hk_nodes *nodes)
{
	for (size_t i = 0; i < nodes->count; i++) {
		const struct hk_node_part *part = &nodes->parts[i];
		if (part->error == -ENOENT && part->fresh) {
			continue; /* the node is about to begin */
		}
		if (part->error == -EBADMSG) {
			hk_warning("node %s: " HK_STATISTICS_FILE
				   " is damaged: what could be read of it is here",
				   part->name);
		} else if (part->error < 0) {
			hk_warning("node %s is missing: %s", part->name, strerror(-part->error));
		} else if (part->open && !part->fresh) {
			hk_warning("node %s fell silent: its collector or its machine has ended",
				   part->name);
		} else {
			continue;
		}
		job->damaged = true;
	}
}

/* Combines the parts that nodes wrote into directories of their own into one job. Returns -ENOENT
 * without parts. */
static int load_nodes(struct hk_job *job)
{
	struct hk_nodes nodes;
	int r = hk_nodes_find(job->directory, &nodes);

	if (r < 0) {
		return r;
	}
	r = hk_nodes_load(job->directory, &nodes, &job->snapshot);
	if (r == 0) {
		job->shared = true;
		job->live = !job->snapshot->job->closed;
		tell_parts(job, &nodes);
	}
	hk_nodes_fini(&nodes);
	return r;
}

static int open_directory(const char *path, struct hk_job *job)
{
	if (!realpath(path, job->directory)) {
		hk_error("%s: %s", path, strerror(errno));
		return HK_EXIT_ABSENT;
	}
	bool ended = has_ended(
	    job->directory); /* read before the statistics, which are the first to show the end */
	int r = hk_statistics_load(job->directory, &job->snapshot);
	if (r == -ENOENT) {
		r = load_nodes(job);
		job->live = job->live && !ended; /* a part's end may be lost with its statistics */
	}
	if (r == -EBADMSG && job->snapshot) {
		hk_warning("%s/" HK_STATISTICS_FILE " is damaged: this is what could be read",
			   path);
		job->damaged = true;
		r = 0;
	}
	if (r < 0) {
		bool absent = r == -ENOENT || r == -ENOTDIR;
		hk_error(absent ? "%s holds no job (%s): hookcli ls shows the jobs there are"
				: "%s/" HK_STATISTICS_FILE " cannot be read: %s",
			 path,
			 absent		 ? "no " HK_STATISTICS_FILE " file"
			 : r == -EBADMSG ? "hooktrace did not write it"
					 : strerror(-r));
		return absent ? HK_EXIT_ABSENT : HK_EXIT_FAILED;
	}
	if (!job->snapshot->job->closed && !job->shared) {
		refresh(job);
	}
	if (ended && !job->live && !job->snapshot->job->closed && !job->damaged) {
		hk_warning("%s/" HK_STATISTICS_FILE " lacks its end: this is what could be read",
			   path);
		job->damaged = true;
	}
	return HK_EXIT_DONE;
}

/* Finds NAME, or the only entry that begins with it, in the directory DIR, and writes its path to
 * PATH. Returns the number of matches, 1 for an exact one. */
static size_t find_in(const char *dir, const char *name, char path[PATH_MAX])
{
	DIR *entries = opendir(dir);
	size_t found = 0;

	for (struct dirent *entry; entries && (entry = readdir(entries));) {
		char candidate[PATH_MAX];
		if (entry->d_name[0] == '.' || strncmp(entry->d_name, name, strlen(name)) != 0 ||
		    snprintf(candidate, sizeof(candidate), "%s/%s", dir, entry->d_name) >=
			PATH_MAX ||
		    !hk_job_summary_is_job(candidate)) {
			continue;
		}
		memcpy(path, candidate, sizeof(candidate));
		found++;
		if (strcmp(entry->d_name, name) == 0) {
			found = 1;
			break;
		}
	}
	if (entries) {
		closedir(entries);
	}
	return found;
}

/* Finds NAME as the id, or its beginning, of a job in this directory, hook-COMMAND-ID. Returns the
 * number of matches. */
static size_t find_here(const char *name, char path[PATH_MAX])
{
	DIR *entries = opendir(".");
	size_t length = strlen(name), exact = 0, begun = 0;

	for (struct dirent *entry; entries && (entry = readdir(entries));) {
		if (strncmp(entry->d_name, HK_JOB_HERE, strlen(HK_JOB_HERE)) != 0 ||
		    strcmp(entry->d_name, HK_JOB_LAST) == 0) {
			continue;
		}
		struct hk_job_summary card;
		if (!hk_job_summary_is_job(entry->d_name) ||
		    hk_job_summary_read(entry->d_name, &card) < 0) {
			continue;
		}
		bool fits = strncmp(card.id, name, length) == 0, whole = fits && !card.id[length];
		if (whole || (fits && exact == 0)) {
			snprintf(path, PATH_MAX, "./%s", entry->d_name);
		}
		exact += whole;
		begun += fits;
		hk_job_summary_fini(&card);
	}
	if (entries) {
		closedir(entries);
	}
	return exact > 0 ? exact : begun;
}

static void tell_several(const char *name)
{
	hk_error("several jobs begin with '%s': give the directory that hookcli ls shows", name);
}

/* Replaces one node's part by the whole job, if the job has a directory per node. */
static int complete(struct hk_job *job)
{
	struct hk_job whole = {0};

	if (!*job->snapshot->job->whole) {
		return HK_EXIT_DONE;
	}
	int code = open_directory(job->snapshot->job->whole, &whole);
	if (code == HK_EXIT_DONE) {
		memcpy(whole.url, job->url, sizeof(whole.url));
	}
	hk_job_close(job);
	*job = whole;
	return code;
}

/* Takes the job NAME from the first of the user's collectors that has it. Otherwise returns the
 * first collector's answer. */
static int ask_all(const char *name, struct hk_job *job)
{
	static struct hk_collectors collectors;
	int first = -ECONNREFUSED;

	hk_collectors_find(&collectors);
	for (size_t i = 0; i < collectors.count; i++) {
		Hk__Response *response = NULL;
		int r = hk_job_snapshot_request(collectors.url[i], name, &response);
		if (r == 0) {
			hk_job_snapshot_take(job, response, collectors.url[i]);
		}
		if (response) {
			hk__response__free_unpacked(response, NULL);
		}
		if (r == 0 || r == -ENOTUNIQ) {
			return r;
		}
		first = i == 0 ? r : first;
	}
	return first;
}

static int open_named(const char *name, struct hk_job *job)
{
	char store[PATH_MAX], path[PATH_MAX];
	const char *url = hk_collectors_default();
	int r = ask_all(name, job);

	if (r == 0) {
		return complete(job);
	}
	if (r == -ENOTUNIQ) {
		tell_several(name);
	}
	/* No other place is searched if the collector of --collector cannot answer. */
	if (hk_command_setting("collector") && r != -ENOENT && r != -ENOTUNIQ) {
		return hk_client_failed(url, r);
	}
	size_t found = 0;
	if (r != -ENOTUNIQ && hk_collectors_store(store) == 0) {
		found = find_in(store, name, path);
	}
	if (r != -ENOTUNIQ && found == 0) {
		found = find_here(name, path);
	}
	if (found == 1) {
		return open_directory(path, job);
	}
	if (found > 1) {
		tell_several(name);
	} else if (r != -ENOTUNIQ) {
		hk_error(
		    "no job '%s': hookcli ls shows the jobs there are; a job of another store is "
		    "named by its directory",
		    name);
	}
	return HK_EXIT_ABSENT;
}

/* Opens the newest running job of all collectors of the user, or the newest job if no job runs. */
static int open_newest(struct hk_job *job)
{
	static struct hk_collectors collectors;
	Hk__Response *response = NULL;

	hk_collectors_find(&collectors);
	int newest = collectors.count > 1 ? hk_collectors_newest(&collectors) : -ENOENT;
	const char *url = newest >= 0		 ? collectors.url[newest]
			  : collectors.count > 0 ? collectors.url[0]
						 : hk_collectors_default();
	int r = hk_job_snapshot_request(url, "", &response);
	int code = HK_EXIT_DONE;

	if (r == 0) {
		hk_job_snapshot_take(job, response, url);
	} else if (r == -ENOENT) {
		hk_error("the collector has no job yet: trace one with: hookcli run -- CMD");
		code = HK_EXIT_ABSENT;
	} else if (r == -ECONNREFUSED) {
		hk_error("no job: no ./" HK_JOB_LAST
			 " here and no collector running; " HK_CLIENT_START_HINT);
		code = HK_EXIT_ABSENT;
	} else {
		code = hk_client_failed(url, r);
	}
	if (response) {
		hk__response__free_unpacked(response, NULL);
	}
	return r == 0 ? complete(job) : code;
}

/* ---- any ---- */

/* Notes lie beside the job's files, if these are on this machine. */
static void load_notes(struct hk_job *job)
{
	int r =
	    job->elsewhere || !*job->directory ? 0 : hk_notes_load(job->directory, job->snapshot);

	if (r < 0) {
		hk_warning("%s/" HK_NOTES_FILE " is left out: %s", job->directory,
			   r == -EBADMSG ? "hooktrace did not write it" : strerror(-r));
	}
}

int hk_job_open(const char *name, struct hk_job *ret_job)
{
	struct hk_job job = {0};
	struct stat status;
	int code;

	if (!name) {
		/* --collector selects the job of a collector, not ./hook-last. */
		bool here = !hk_command_setting("collector") && hk_job_summary_is_job(HK_JOB_LAST);
		code = here ? open_directory(HK_JOB_LAST, &job) : open_newest(&job);
	} else if (hk_job_stream_is(name)) {
		char path[PATH_MAX];
		code = hk_job_stream_read(name, path);
		code = code == HK_EXIT_DONE ? open_directory(path, &job) : code;
	} else if (strchr(name, '/') || (stat(name, &status) == 0 && S_ISDIR(status.st_mode))) {
		code = open_directory(name, &job);
	} else {
		code = open_named(name, &job);
	}
	/* A leaf's part is replaced by the root's whole, unless --collector names the collector. */
	if (code == HK_EXIT_DONE && *job.snapshot->job->upstream &&
	    !hk_command_setting("collector")) {
		hk_job_root_follow(&job);
	}
	if (code == HK_EXIT_DONE) {
		load_notes(&job);
		*ret_job = job;
	}
	return code;
}

int hk_job_open_trigger(const char *name, uint32_t trigger, struct hk_job *ret_job)
{
	char path[PATH_MAX];
	struct hk_job job;
	int code = hk_job_open(name, &job);

	if (code != HK_EXIT_DONE || trigger == 0) {
		*ret_job = job;
		return code;
	}
	int length = snprintf(path, sizeof(path), "%s/" HK_TRIGGER_DIRECTORY "%" PRIu32,
			      job.directory, trigger);
	if (length < PATH_MAX && hk_job_summary_is_job(path)) {
		hk_job_close(&job);
		return hk_job_open(path, ret_job);
	}
	hk_error("job %s has no records of trigger %" PRIu32
		 " %s: hookcli report shows its triggers",
		 job.snapshot->job->id, trigger, job.live ? "yet" : "here");
	hk_job_close(&job);
	return HK_EXIT_ABSENT;
}
