/* job_files.h: measures and removes the files of a job directory, its nodes' included. No state,
 * any thread. */
#ifndef HK_CLI_JOB_JOB_FILES_H
#define HK_CLI_JOB_JOB_FILES_H

#include <stdint.h>

struct hk_job_files {
	uint32_t ours;	  /* files that hooktrace writes into a job directory */
	uint32_t foreign; /* all other files in it */
	uint64_t bytes;	  /* size of the files that hooktrace writes */
};

/* Counts the files in DIRECTORY. Returns 0, -ENOTDIR, -ENOENT or -errno. */
int hk_job_files_count(const char *directory, struct hk_job_files *ret_files);

/* Removes the files of hooktrace from DIRECTORY, and DIRECTORY itself if it is then empty. Returns
 * 0, -ENOTEMPTY if other files stay, -ELOOP if DIRECTORY is a link, or -errno. */
int hk_job_files_remove(const char *directory);

#endif
