#include "cli/job/job_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/job/notes.h"
#include "trigger/plan.h"
#include "wire/nodes.h"

/* All files that the collector writes, finished or not; rm removes no others, so a mistyped
 * directory is safe. */
static const char *const patterns[] = {
    "job.json",	    "job.json.*",    "statistics",  "statistics.*",
    "report.json",  "report.json.*", "report.html", "report.html.*",
    "summary.txt",  "summary.txt.*", "*.chunks",    "*.ledger",
    "*.ledger.new", "reserve",	     HK_NOTES_FILE, HK_NOTES_FILE ".*",
};

static bool is_ours(int directory, const char *name, bool in_node, uint64_t *bytes)
{
	struct stat status;
	bool ours = in_node && strcmp(name, HK_NODES_MARK) == 0;

	if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(status.st_mode)) {
		return false;
	}
	for (size_t i = 0; !ours && i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		ours = fnmatch(patterns[i], name, 0) == 0;
	}
	*bytes += ours ? (uint64_t)status.st_size : 0;
	return ours;
}

static bool is_node(int directory)
{
	struct stat status;

	return fstatat(directory, HK_NODES_MARK, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(status.st_mode);
}

static int walk_entries(DIR *directory, bool in_node, bool remove, struct hk_job_files *files);

/* Returns whether NAME is that of a directory with what a trigger kept. */
static bool is_trigger(const char *name)
{
	size_t length = strlen(HK_TRIGGER_DIRECTORY);

	return strncmp(name, HK_TRIGGER_DIRECTORY, length) == 0 && name[length] &&
	       !name[length + strspn(name + length, "0123456789")];
}

/* Counts the files of a node's or a trigger's directory at NAME; REMOVE: removes them, and the
 * directory if it is then empty. Returns 1, 0 if it is not such a directory, or -errno. */
static int walk_node(int parent, const char *name, bool remove, struct hk_job_files *files)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	uint32_t foreign = files->foreign;

	if (fd < 0) {
		return 0;
	}
	DIR *directory = is_node(fd) || is_trigger(name) ? fdopendir(fd) : NULL;
	if (!directory) {
		close(fd);
		return 0;
	}
	int r = walk_entries(directory, true, remove, files);
	closedir(directory);
	if (r == 0 && remove && files->foreign == foreign &&
	    unlinkat(parent, name, AT_REMOVEDIR) < 0) {
		r = -errno;
	}
	return r < 0 ? r : 1;
}

static int walk_entries(DIR *directory, bool in_node, bool remove, struct hk_job_files *files)
{
	const struct dirent *entry;
	int fd = dirfd(directory), r = 0;

	while (r >= 0 && (entry = readdir(directory))) {
		const char *name = entry->d_name;
		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
			continue;
		}
		if (is_ours(fd, name, in_node, &files->bytes)) {
			files->ours++;
			r = remove && unlinkat(fd, name, 0) < 0 ? -errno : 0;
			continue;
		}
		r = in_node && !is_trigger(name) ? 0 : walk_node(fd, name, remove, files);
		files->foreign += r == 0;
	}
	return r < 0 ? r : 0;
}

/* Counts the files in PATH without following a link at its end; REMOVE: removes those of hooktrace.
 * Returns 0 or -errno. */
static int walk(const char *path, bool remove, struct hk_job_files *ret_files)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct hk_job_files files = {0};

	if (fd < 0) {
		return -errno;
	}
	DIR *directory = fdopendir(fd);
	if (!directory) {
		int r = -errno;
		close(fd);
		return r;
	}
	int r = walk_entries(directory, is_node(fd), remove, &files);
	closedir(directory);
	if (r == 0) {
		*ret_files = files;
	}
	return r;
}

int hk_job_files_count(const char *directory, struct hk_job_files *ret_files)
{
	return walk(directory, false, ret_files);
}

int hk_job_files_remove(const char *directory)
{
	struct hk_job_files files;
	int rc = walk(directory, true, &files);

	if (rc < 0) {
		return rc;
	}
	if (files.foreign) {
		return -ENOTEMPTY;
	}
	return rmdir(directory) < 0 ? -errno : 0;
}
