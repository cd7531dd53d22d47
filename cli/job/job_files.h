/* job_files.h: the files that make up a job directory, its nodes' included, for those who measure
 * or remove one. No state, any thread. */
#ifndef HK_CLI_JOB_JOB_FILES_H
#define HK_CLI_JOB_JOB_FILES_H

#include <stdint.h>

struct hk_job_files {
	uint32_t ours;	  /* files that hooktrace writes into a job directory */
	uint32_t foreign; /* anything else in it */
	uint64_t bytes;	  /* of ours */
};

/* Counts what lies in DIRECTORY. -ENOTDIR, -ENOENT, -errno. */
int hk_job_files_count(const char *directory, struct hk_job_files *ret_files);

/* Removes our files from DIRECTORY, and DIRECTORY itself when nothing else is in it. 0; -ENOTEMPTY:
 * files of others stay, and so does the directory; -ELOOP: DIRECTORY is a link; -errno. */
int hk_job_files_remove(const char *directory);

#endif
