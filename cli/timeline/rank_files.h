/* rank_files.h: an export that is a directory with a file per rank, rank<N>.json or
 * rank<N>.json.gz. The timeline of each rank's own processes goes through an exporter of its own,
 * one rank after the other, so memory and open files do not grow with the ranks. Helpers and
 * launchers have no file, nor have ranks without recorded calls. Files get their names once all are
 * whole, and files of an earlier export are then removed: readers take all files of a directory for
 * one job. A directory with other files is not changed. */
#ifndef HK_CLI_TIMELINE_RANK_FILES_H
#define HK_CLI_TIMELINE_RANK_FILES_H

#include "cli/timeline/timeline.h"

struct hk_rank_files_result {
	struct hk_timeline_result sum;
	size_t files;
	size_t empty;	/* requested ranks without a file: no call was recorded */
	size_t strange; /* helpers and launchers with records */
};

/* Exports as hk_timeline_export does, to the directory TARGET->path, which is created if necessary.
 * GZIP: compressed. *ret_result is set on success. Returns 0, -ENOTEMPTY if it holds other files,
 * -ENOTDIR, or the errors of hk_timeline_export. Errors before all files are whole leave the
 * files of an earlier export unchanged. */
int hk_rank_files_export(const Hk__Snapshot *snapshot, const char *directory,
			 const struct hk_exporter_ops *ops, const struct hk_export_target *target,
			 bool gzip, const struct hk_timeline_options *options,
			 struct hk_rank_files_result *ret_result);

#endif
