#include "job_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whatever the collector writes, finished or not; rm removes nothing else, so a mistyped directory
 * is safe. */
static const char *const patterns[] = {
    "job.json",	   "job.json.*",    "statistics",  "statistics.*",  "report.json", "report.json.*",
    "report.html", "report.html.*", "summary.txt", "summary.txt.*", "*.chunks",
};

static bool is_ours(int directory, const char *name, uint64_t *bytes)
{
	struct stat status;

	if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(status.st_mode)) {
		return false;
	}
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		if (fnmatch(patterns[i], name, 0) == 0) {
			*bytes += (uint64_t)status.st_size;
			return true;
		}
	}
	return false;
}

/* Goes through PATH without following a link at its end; REMOVE: takes our files away. */
static int walk(const char *path, bool remove, struct hk_job_files *ret_files)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct hk_job_files files = {0};
	const struct dirent *entry;
	DIR *directory;
	int rc = 0;

	if (fd < 0) {
		return -errno;
	}
	directory = fdopendir(fd);
	if (!directory) {
		rc = -errno;
		close(fd);
		return rc;
	}
	while (rc == 0 && (entry = readdir(directory))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
			continue;
		}
		if (!is_ours(fd, entry->d_name, &files.bytes)) {
			files.foreign++;
			continue;
		}
		files.ours++;
		if (remove && unlinkat(fd, entry->d_name, 0) < 0) {
			rc = -errno;
		}
	}
	closedir(directory);
	if (rc == 0) {
		*ret_files = files;
	}
	return rc;
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
