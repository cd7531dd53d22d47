#include "cli/job/job_summary.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wire/nodes.h"
#include "wire/statistics.h"

static const char *text_of(const json_t *root, const char *name)
{
	const char *text = json_string_value(json_object_get(root, name));

	return text ? text : "";
}

static uint64_t time_of(const json_t *root, const char *name)
{
	json_int_t value = json_integer_value(json_object_get(root, name));

	return value > 0 ? (uint64_t)value : 0;
}

/* Reads FILE as JSON. Returns NULL if it is unreadable or no JSON. O_NONBLOCK keeps a FIFO in its
 * place from blocking. */
static json_t *load(const char *file)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	json_t *root = fd < 0 ? NULL : json_loadfd(fd, JSON_REJECT_DUPLICATES, NULL);

	if (fd >= 0) {
		close(fd);
	}
	return root;
}

static int read_one(const char *directory, struct hk_job_summary *ret_card)
{
	char file[PATH_MAX];

	if (snprintf(file, sizeof(file), "%s/job.json", directory) >= PATH_MAX) {
		return -ENOENT;
	}
	json_t *root = load(file);
	if (!json_is_object(root)) {
		json_decref(root);
		return -ENOENT;
	}
	struct hk_job_summary card = {
	    .id = strdup(text_of(root, "id")),
	    .command = strdup(text_of(root, "command")),
	    .exit = strdup(text_of(root, "exit")),
	    .start_unix_ns = time_of(root, "start_unix_ns"),
	    .end_unix_ns = time_of(root, "end_unix_ns"),
	    .world_size = (int32_t)json_integer_value(json_object_get(root, "world_size")),
	    .triggers = (uint32_t)json_integer_value(json_object_get(root, "triggers")),
	    .closed = strcmp(text_of(root, "state"), "closed") == 0,
	};
	json_decref(root);
	if (!card.id || !card.command || !card.exit) {
		hk_job_summary_fini(&card);
		return -ENOMEM;
	}
	*ret_card = card;
	return 0;
}

static void swap(char **a, char **b)
{
	char *kept = *a;

	*a = *b;
	*b = kept;
}

/* Adds PART, of another node, to CARD, and frees PART. */
static void merge(struct hk_job_summary *card, struct hk_job_summary *part)
{
	bool failed = strcmp(card->exit, "exit 0") != 0;

	if (!card->closed || !part->closed) {
		/* The job is over when its last part is. */
		if (card->closed) {
			swap(&card->exit, &part->exit);
		}
		card->closed = false;
		card->end_unix_ns = 0;
	} else {
		if (!failed) {
			swap(&card->exit, &part->exit);
		}
		card->end_unix_ns =
		    part->end_unix_ns > card->end_unix_ns ? part->end_unix_ns : card->end_unix_ns;
	}
	if (!*card->command) {
		swap(&card->command, &part->command);
	}
	if (part->start_unix_ns > 0 && part->start_unix_ns < card->start_unix_ns) {
		card->start_unix_ns = part->start_unix_ns;
	}
	card->triggers += part->triggers;
	card->world_size =
	    part->world_size > card->world_size ? part->world_size : card->world_size;
	hk_job_summary_fini(part);
}

static int read_nodes(const char *directory, struct hk_job_summary *ret_card)
{
	struct hk_nodes nodes;
	struct hk_job_summary card;
	int result = -ENOENT, r = hk_nodes_find(directory, &nodes);

	if (r < 0) {
		return r;
	}
	for (size_t i = 0; i < nodes.count && result != -ENOMEM; i++) {
		char path[PATH_MAX];
		struct hk_job_summary part;
		if (snprintf(path, sizeof(path), "%s/%s", directory, nodes.parts[i].name) >=
		    PATH_MAX) {
			continue;
		}
		r = read_one(path, &part);
		if (r < 0) {
			result = r == -ENOMEM ? r : result;
			continue;
		}
		part.closed = part.closed || !nodes.parts[i].fresh;
		if (result == 0) {
			merge(&card, &part);
		} else {
			card = part;
			result = 0;
		}
	}
	hk_nodes_fini(&nodes);
	if (result == 0) {
		*ret_card = card;
	}
	return result;
}

int hk_job_summary_read(const char *directory, struct hk_job_summary *ret_card)
{
	int r = read_one(directory, ret_card);

	return r == -ENOENT ? read_nodes(directory, ret_card) : r;
}

void hk_job_summary_fini(struct hk_job_summary *card)
{
	free(card->id);
	free(card->command);
	free(card->exit);
	*card = (struct hk_job_summary){0};
}

bool hk_job_summary_is_job(const char *path)
{
	char file[PATH_MAX];
	struct hk_nodes nodes;

	if (snprintf(file, sizeof(file), "%s/" HK_STATISTICS_FILE, path) >= PATH_MAX) {
		return false;
	}
	if (access(file, F_OK) == 0) {
		return true;
	}
	if (hk_nodes_find(path, &nodes) < 0) {
		return false;
	}
	hk_nodes_fini(&nodes);
	return true;
}
