#include "cli/run/job_page.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/html/html.h"

/* About a tenth of a second of reading, since the user waits for the command to end. */
#define RECORDS (UINT64_C(1) << 20)
#define NAME "report.html"

/* Opens the directory PATH, or returns -1 if it belongs to another user: hookcli leaves no files
 * there. */
static int directory_open(const char *path)
{
	struct stat stat;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0 && (fstat(fd, &stat) < 0 || stat.st_uid != geteuid())) {
		close(fd);
		return -1;
	}
	return fd;
}

static int file_write(int fd, const struct hk_job *job, const struct hk_report *report)
{
	FILE *file = fdopen(fd, "w");

	if (!file) {
		close(fd);
		return -errno;
	}
	int r = hk_html_write_job(report, job->snapshot, job->directory, RECORDS, file);
	return fclose(file) != 0 && r == 0 ? -errno : r;
}

bool hk_job_page_write(const struct hk_job *job, const struct hk_report *report)
{
	int directory = job->elsewhere ? -1 : directory_open(job->directory);
	char name[sizeof(NAME) + 16];

	if (directory < 0) {
		return false;
	}
	/* Written under another name first, so that readers never see a part of the page. */
	snprintf(name, sizeof(name), NAME ".%d", (int)getpid());
	int fd =
	    openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	bool written = fd >= 0 && file_write(fd, job, report) == 0 &&
		       renameat(directory, name, directory, NAME) == 0;
	if (fd >= 0 && !written) {
		unlinkat(directory, name, 0);
	}
	close(directory);
	return written;
}
