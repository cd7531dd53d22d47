#include "cli/job/job_list.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/job/collector_client.h"
#include "cli/job/collectors.h"
#include "cli/job/job.h"
#include "cli/job/job_summary.h"

struct hk_job_list *hk_job_list_new(void)
{
	return calloc(1, sizeof(struct hk_job_list));
}

/* Adds a copy of ENTRY unless the list has its directory, is full, or memory is short. */
static void add(struct hk_job_list *list, const struct hk_job_entry *entry)
{
	struct hk_job_entry own = *entry;
	char *directory = realpath(entry->directory, NULL);

	if (!directory) {
		directory = strdup(entry->directory);
	}
	for (size_t i = 0; directory && i < list->count; i++) {
		if (strcmp(list->entries[i].directory, directory) == 0) {
			free(directory);
			return;
		}
	}
	own.id = strdup(entry->id);
	own.state = strdup(entry->state);
	own.command = strdup(entry->command);
	own.user = strdup(entry->user);
	own.directory = directory;
	if (list->count == HK_JOB_LIST_MAX || !own.id || !own.state || !own.command || !own.user ||
	    !directory) {
		free(own.id);
		free(own.state);
		free(own.command);
		free(own.user);
		free(own.directory);
		return;
	}
	list->entries[list->count++] = own;
}

void hk_job_list_free(struct hk_job_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->entries[i].id);
		free(list->entries[i].state);
		free(list->entries[i].command);
		free(list->entries[i].user);
		free(list->entries[i].directory);
	}
	free(list);
}

static void add_jobs(struct hk_job_list *list, const Hk__Response *response)
{
	for (size_t i = 0; i < response->n_jobs; i++) {
		const Hk__Job *job = response->jobs[i];
		struct hk_job_entry entry = {
		    .id = job->id,
		    .state = job->closed ? job->exit : (char *)"running",
		    .command = job->command,
		    .directory = *job->whole ? job->whole : job->directory,
		    .user = job->user,
		    .start_unix_ns = job->start_unix_ns,
		    .duration_ns = job->duration_ns,
		    .world_size = job->world_size,
		    .triggers = job->triggers ? (uint32_t)job->triggers->n_fired : 0,
		    .live = !job->closed,
		};
		add(list, &entry);
	}
}

int hk_job_list_add_collectors(struct hk_job_list *list)
{
	static struct hk_collectors collectors;
	Hk__ListRequest what = HK__LIST_REQUEST__INIT;

	hk_collectors_find(&collectors);
	for (size_t i = 0; i < collectors.count; i++) {
		Hk__Request request = HK__REQUEST__INIT;
		Hk__Response *response;
		int r;
		request.what_case = HK__REQUEST__WHAT_LIST;
		request.list = &what;
		if (hk_command_setting("collector")) {
			int code = hk_collectors_request(&request, &response);
			if (code != HK_EXIT_DONE) {
				return code;
			}
		} else if ((r = hk_client_call(collectors.url[i], &request, 2000, &response)) < 0) {
			if (r == -ETIMEDOUT) {
				hk_client_failed(collectors.url[i], r);
			}
			continue;
		}
		add_jobs(list, response);
		hk__response__free_unpacked(response, NULL);
	}
	return HK_EXIT_DONE;
}

static void add_directory(struct hk_job_list *list, const char *path)
{
	struct hk_job_summary card;

	if (hk_job_summary_read(path, &card) < 0) {
		return;
	}
	bool ended = card.end_unix_ns > card.start_unix_ns;
	struct hk_job_entry entry = {
	    .id = card.id,
	    .state = card.closed ? card.exit : (char *)"open",
	    .command = card.command,
	    .directory = (char *)path,
	    .user = (char *)"",
	    .start_unix_ns = card.start_unix_ns,
	    .duration_ns = ended ? card.end_unix_ns - card.start_unix_ns : 0,
	    .world_size = card.world_size,
	    .triggers = card.triggers,
	};
	add(list, &entry);
	hk_job_summary_fini(&card);
}

void hk_job_list_add_store(struct hk_job_list *list, const char *store, const char *prefix)
{
	DIR *directory = opendir(store);

	for (struct dirent *entry; directory && (entry = readdir(directory));) {
		char path[PATH_MAX];
		if (entry->d_name[0] != '.' && strcmp(entry->d_name, HK_JOB_LAST) != 0 &&
		    strncmp(entry->d_name, prefix, strlen(prefix)) == 0 &&
		    snprintf(path, sizeof(path), "%s/%s", store, entry->d_name) < PATH_MAX) {
			add_directory(list, path);
		}
	}
	if (directory) {
		closedir(directory);
	}
}

static int by_start(const void *a, const void *b)
{
	const struct hk_job_entry *x = a, *y = b;

	return x->start_unix_ns < y->start_unix_ns ? -1 : x->start_unix_ns > y->start_unix_ns;
}

void hk_job_list_sort(struct hk_job_list *list)
{
	qsort(list->entries, list->count, sizeof(list->entries[0]), by_start);
}
