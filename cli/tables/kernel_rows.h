/* kernel_rows.h: the kernels that a job launched, summed over all processes. Reads the records. */
#ifndef HK_CLI_TABLES_KERNEL_ROWS_H
#define HK_CLI_TABLES_KERNEL_ROWS_H

#include <stdbool.h>

#include "cli/tables/unread.h"
#include "report/model/strings.h"
#include "schema/wire.pb-c.h"

/* A grid and block that a kernel was launched with, and the shared memory asked for. */
struct hk_kernel_shape {
	uint64_t grid, block, shared; /* hooks/hook.h, HK_KEY_GRID */
	uint64_t launches;
};

/* A stack: one process that has it, and its number there; 0: none was kept. */
struct hk_kernel_stack {
	const Hk__Process *process;
	uint32_t number;
	uint64_t launches;
};

struct hk_kernel_row {
	const char *name;   /* as the program spells it, or an address; "": not known */
	uint64_t hash;	    /* of the whole name */
	uint32_t cut_bytes; /* of the name that are missing */
	uint64_t launches, failed;
	uint64_t host_ns; /* inside the launching calls */
	uint64_t device_activities, device_ns;
	uint32_t ranks;			/* ranks that launched it */
	int32_t rank;			/* the first of them; -1: of no rank */
	struct hk_kernel_shape *shapes; /* the most frequent first */
	size_t shape_count;
	struct hk_kernel_stack first, top; /* the first one, and the one with the most launches */
};

struct hk_kernel_rows {
	struct hk_report_strings strings;
	struct hk_kernel_row *rows; /* the most launched first */
	size_t count;
	uint64_t launches;   /* recorded */
	uint64_t unrecorded; /* counted, but without a record */
	struct hk_unread unread;
};

/* Reads the records of the job, whose directory is DIRECTORY. *ret_rows is usable also after
 * -EBADMSG: some records were damaged. Otherwise returns 0 or -errno. */
int hk_kernel_rows_read(const Hk__Snapshot *snapshot, const char *directory,
			struct hk_kernel_rows *ret_rows);

void hk_kernel_rows_fini(struct hk_kernel_rows *rows);

/* Write the name of ROW, "" if it is not known: without namespaces and parameters, or whole. */
#define HK_KERNEL_ROW_BYTES 4096u
void hk_kernel_rows_short(const struct hk_kernel_row *row, char text[HK_KERNEL_ROW_BYTES]);
void hk_kernel_rows_whole(const struct hk_kernel_row *row, char text[HK_KERNEL_ROW_BYTES]);

/* Writes "4x2x3". */
#define HK_KERNEL_SHAPE_BYTES 40u
void hk_kernel_rows_dim(uint64_t dim, char text[HK_KERNEL_SHAPE_BYTES]);

#endif
