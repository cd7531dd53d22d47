#include "wire/nodes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "wire/statistics.h"

#define ID_BYTES 16u

/* ---- finding ---- */

static bool is_file(int dirfd, const char *name, struct stat *ret_status)
{
	return fstatat(dirfd, name, ret_status, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(ret_status->st_mode);
}

/* Time of the newest file that a collector keeps writing in a node's directory; 0 if it is not a
 * node's directory, or has no such file. */
static time_t touched(int dirfd, const char *name)
{
	static const char *const files[] = {"job.json", HK_STATISTICS_FILE};
	time_t newest = 0;
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		return 0;
	}
	struct stat status;
	/* A store holds directories with such files too: those of whole jobs. */
	bool marked = is_file(fd, HK_NODES_MARK, &status);
	for (size_t i = 0; marked && i < sizeof(files) / sizeof(files[0]); i++) {
		if (is_file(fd, files[i], &status) && status.st_mtime > newest) {
			newest = status.st_mtime;
		}
	}
	close(fd);
	return newest;
}

static int add(struct hk_nodes *nodes, const char *name, time_t when)
{
	/* Grows when the count reaches a power of two. */
	if ((nodes->count & (nodes->count - 1)) == 0) {
		size_t room = nodes->count ? 2 * nodes->count : 1;
		struct hk_node_part *grown = realloc(nodes->parts, room * sizeof(*grown));
		if (!grown) {
			return -ENOMEM;
		}
		nodes->parts = grown;
	}
	struct hk_node_part *part = &nodes->parts[nodes->count++];
	*part = (struct hk_node_part){.fresh = time(NULL) - when <= HK_NODES_SILENT_S};
	snprintf(part->name, sizeof(part->name), "%s", name);
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct hk_node_part *x = a, *y = b;
	return strcmp(x->name, y->name);
}

int hk_nodes_find(const char *job_dir, struct hk_nodes *ret_nodes)
{
	struct hk_nodes nodes = {0};
	DIR *directory = opendir(job_dir);
	int r = directory ? 0 : errno == ENOTDIR ? -ENOENT : -errno;
	for (struct dirent *entry; r == 0 && (entry = readdir(directory));) {
		bool maybe = entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN;
		time_t when =
		    maybe && entry->d_name[0] != '.' ? touched(dirfd(directory), entry->d_name) : 0;
		if (when > 0 && nodes.count < HK_NODES_MAX) {
			r = add(&nodes, entry->d_name, when);
		}
	}
	if (directory) {
		closedir(directory);
	}
	if (r == 0 && nodes.count == 0) {
		r = -ENOENT;
	}
	if (r < 0) {
		hk_nodes_fini(&nodes);
		return r;
	}
	qsort(nodes.parts, nodes.count, sizeof(nodes.parts[0]), by_name);
	*ret_nodes = nodes;
	return 0;
}

void hk_nodes_fini(struct hk_nodes *nodes)
{
	free(nodes->parts);
	*nodes = (struct hk_nodes){0};
}

const char *hk_nodes_directory(const Hk__Job *job, const Hk__Process *process)
{
	for (size_t i = 0; process->node.len > 0 && i < job->n_nodes; i++) {
		const Hk__Node *node = job->nodes[i];
		if (node->id.len == process->node.len &&
		    memcmp(node->id.data, process->node.data, node->id.len) == 0) {
			return node->directory;
		}
	}
	return "";
}

bool hk_nodes_ranks_came(const Hk__Snapshot *whole)
{
	int32_t world = whole->job->world_size, came = 0;
	uint8_t *seen = world > 0 ? calloc((size_t)world, 1) : NULL;
	for (size_t i = 0; seen && i < whole->n_processes; i++) {
		const Hk__Process *process = whole->processes[i];
		int32_t rank = process->rank < 0 ? 0 : process->rank;
		if (process->role == HK__ROLE__ROLE_MAIN && rank < world && !seen[rank]) {
			seen[rank] = 1;
			came++;
		}
	}
	free(seen);
	return came == world;
}

/* ---- combining ---- */

static int set_text(char **text, const char *value)
{
	char *copy = strdup(value);
	if (!copy) {
		return -ENOMEM;
	}
	if (*text != protobuf_c_empty_string) {
		free(*text);
	}
	*text = copy;
	return 0;
}

static int set_bytes(ProtobufCBinaryData *data, const void *bytes, size_t size)
{
	uint8_t *copy = malloc(size);
	if (!copy) {
		return -ENOMEM;
	}
	memcpy(copy, bytes, size);
	free(data->data);
	*data = (ProtobufCBinaryData){.len = size, .data = copy};
	return 0;
}

/* The id comes from the directory: two nodes might claim the same one. */
static void make_id(const char *name, uint8_t id[ID_BYTES])
{
	XXH128_canonical_t canonical;
	XXH128_canonicalFromHash(&canonical, XXH3_128bits(name, strlen(name)));
	memcpy(id, canonical.digest, ID_BYTES);
}

static int add_node(Hk__Job *whole, const struct hk_node_part *part, const Hk__Snapshot *snapshot)
{
	const char *host = snapshot->n_processes > 0 && *snapshot->processes[0]->host
			       ? snapshot->processes[0]->host
			       : part->name;
	const ProtobufCBinaryData *boot = &snapshot->job->root_boot;
	uint8_t id[ID_BYTES];
	Hk__Node *node = malloc(sizeof(*node));
	if (!node) {
		return -ENOMEM;
	}
	hk__node__init(node);
	whole->nodes[whole->n_nodes++] = node;
	make_id(part->name, id);
	node->connected = part->open && part->fresh;
	int r = set_bytes(&node->id, id, sizeof(id));
	r = r < 0 || boot->len == 0 ? r : set_bytes(&node->boot, boot->data, boot->len);
	r = r < 0 ? r : set_text(&node->host, host);
	return r < 0 ? r : set_text(&node->directory, part->name);
}

/* Marks PROCESS as vanished if it was running: its node is gone, and its end unknown. */
static void vanish(Hk__Process *process)
{
	if (process->exit_kind == HK__EXIT_KIND__EXIT_RUNNING && !process->end) {
		process->exit_kind = HK__EXIT_KIND__EXIT_VANISHED;
		process->end = process->seen;
		process->seen = NULL;
	}
}

/* Moves the processes of PART to WHOLE. */
static int take_processes(Hk__Snapshot *whole, Hk__Snapshot *part, const struct hk_node_part *of)
{
	uint8_t id[ID_BYTES];
	make_id(of->name, id);
	size_t count = whole->n_processes + part->n_processes;
	if (count > HK_STATISTICS_PROCESSES_MAX) {
		return -E2BIG;
	}
	Hk__Process **grown =
	    realloc(whole->processes, (count + 1) * sizeof(struct _Hk__Process *));
	if (!grown) {
		return -ENOMEM;
	}
	whole->processes = grown;
	while (part->n_processes > 0) {
		Hk__Process *process = part->processes[part->n_processes - 1];
		int r = set_bytes(&process->node, id, sizeof(id));
		if (r < 0) {
			return r;
		}
		if (of->open && !of->fresh) {
			vanish(process);
		}
		whole->processes[whole->n_processes++] = process;
		part->n_processes--;
	}
	return 0;
}

/* Rank of an exit by severity: a failed one becomes the job's. */
static int badness(const Hk__Job *job)
{
	if (job->have_exit) {
		return job->exit_status;
	}
	return strcmp(job->exit, "exit 0") != 0 && strcmp(job->exit, "running") != 0;
}

static int take_exit(Hk__Job *whole, const Hk__Job *part)
{
	bool first = !*whole->exit;
	if (!first && (badness(part) <= badness(whole) || strcmp(part->exit, "running") == 0)) {
		return 0;
	}
	whole->have_exit = part->have_exit;
	whole->exit_status = part->exit_status;
	return set_text(&whole->exit, part->exit);
}

static int32_t lowest_rank(const Hk__Snapshot *snapshot)
{
	int32_t lowest = INT32_MAX;
	for (size_t i = 0; i < snapshot->n_processes; i++) {
		const Hk__Process *process = snapshot->processes[i];
		if (process->role == HK__ROLE__ROLE_MAIN && process->rank >= 0 &&
		    process->rank < lowest) {
			lowest = process->rank;
		}
	}
	return lowest;
}

/* Names of the job, taken from the node of the lowest rank. */
static int take_names(Hk__Job *whole, const Hk__Job *part)
{
	int r = set_text(&whole->id, part->id);
	r = r < 0 ? r : set_text(&whole->key, part->key);
	r = r < 0 ? r : set_text(&whole->name, part->name);
	return r < 0 ? r : set_text(&whole->command, part->command);
}

static int take_job(Hk__Job *whole, const Hk__Job *part)
{
	uint64_t end = whole->start_unix_ns + whole->duration_ns;
	uint64_t part_end = part->start_unix_ns + part->duration_ns;
	if (part->start_unix_ns > 0 &&
	    (whole->start_unix_ns == 0 || part->start_unix_ns < whole->start_unix_ns)) {
		whole->start_unix_ns = part->start_unix_ns;
	}
	end = part_end > end ? part_end : end;
	whole->duration_ns = end > whole->start_unix_ns ? end - whole->start_unix_ns : 0;
	if (part->world_size > whole->world_size) {
		whole->world_size = part->world_size;
	}
	whole->stored_bytes += part->stored_bytes;
	whole->store_full |= part->store_full && !part->closed;
	whole->tracing_cost_ns += part->tracing_cost_ns;
	int r = *part->store_error && !*whole->store_error
		    ? set_text(&whole->store_error, part->store_error)
		    : 0;
	return r < 0 ? r : take_exit(whole, part);
}

static int take_part(Hk__Snapshot *whole, struct hk_node_part *part, Hk__Snapshot *snapshot,
		     int32_t *lowest)
{
	int32_t rank = lowest_rank(snapshot);
	bool names = !*whole->job->id || rank < *lowest;
	part->open = !snapshot->job->closed;
	whole->job->processes_live += part->fresh ? snapshot->job->processes_live : 0;
	if (part->open && part->fresh) {
		whole->job->closed = false;
	}
	*lowest = rank < *lowest ? rank : *lowest;
	int r = names ? take_names(whole->job, snapshot->job) : 0;
	r = r < 0 ? r : take_job(whole->job, snapshot->job);
	r = r < 0 ? r : add_node(whole->job, part, snapshot);
	return r < 0 ? r : take_processes(whole, snapshot, part);
}

static int whole_new(const char *job_dir, size_t nodes, Hk__Snapshot **ret_whole)
{
	char path[PATH_MAX];
	if (!realpath(job_dir, path)) {
		return -errno;
	}
	Hk__Snapshot *whole = malloc(sizeof(*whole));
	if (!whole) {
		return -ENOMEM;
	}
	hk__snapshot__init(whole);
	whole->job = malloc(sizeof(*whole->job));
	if (whole->job) {
		hk__job__init(whole->job);
		whole->job->closed = true;
		whole->job->world_size = -1;
		whole->job->nodes = calloc(nodes, sizeof(struct _Hk__Node *));
	}
	if (!whole->job || !whole->job->nodes || set_text(&whole->job->directory, path) < 0) {
		hk__snapshot__free_unpacked(whole, NULL);
		return -ENOMEM;
	}
	*ret_whole = whole;
	return 0;
}

static int load_part(const char *job_dir, Hk__Snapshot *whole, struct hk_node_part *part,
		     int32_t *lowest)
{
	char path[PATH_MAX];
	Hk__Snapshot *snapshot = NULL;
	if (snprintf(path, sizeof(path), "%s/%s", job_dir, part->name) >= PATH_MAX) {
		part->error = -ENAMETOOLONG;
		return 0;
	}
	part->error = hk_statistics_load(path, &snapshot);
	if (!snapshot) {
		part->open = part->error == -ENOENT;
		if (part->open && part->fresh) {
			whole->job->closed = false;
		}
		return part->error == -ENOMEM ? -ENOMEM : 0;
	}
	int r = take_part(whole, part, snapshot, lowest);
	hk__snapshot__free_unpacked(snapshot, NULL);
	return r;
}

int hk_nodes_load(const char *job_dir, struct hk_nodes *nodes, Hk__Snapshot **ret_snapshot)
{
	Hk__Snapshot *whole;
	int32_t lowest = INT32_MAX;
	int r = whole_new(job_dir, nodes->count, &whole);
	if (r < 0) {
		return r;
	}
	for (size_t i = 0; r == 0 && i < nodes->count; i++) {
		r = load_part(job_dir, whole, &nodes->parts[i], &lowest);
	}
	if (r == 0 && whole->job->n_nodes == 0) {
		r = -EBADMSG;
	}
	if (r == 0 && !whole->job->closed) {
		whole->job->have_exit = false;
		r = set_text(&whole->job->exit, "running");
	}
	if (r < 0) {
		hk__snapshot__free_unpacked(whole, NULL);
		return r;
	}
	whole->now_unix_ns = whole->job->start_unix_ns + whole->job->duration_ns;
	*ret_snapshot = whole;
	return 0;
}
