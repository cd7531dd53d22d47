#include "cli/tables/thread_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <uthash.h>

#include "chunk/read/cursor.h"
#include "report/model/report.h"
#include "report/model/role.h"
#include "text/name.h"
#include "text/quantity.h"
#include "text/table.h"
#include "timeline/source.h"

struct thread {
	UT_hash_handle hh;
	uint64_t uid;
	uint32_t tid;
	char name[HK_CHUNK_NAME_BYTES];
	uint64_t calls;
	uint64_t outermost_ns; /* time inside hooked calls */
	uint64_t busy_until;   /* ticks: end of the outermost call so far */
	uint64_t longest_ns;
	char longest[96];
};

static struct thread *thread_get(struct thread **threads, const struct hk_chunk_thread *from)
{
	struct thread *thread;

	HASH_FIND(hh, *threads, &from->uid, sizeof(from->uid), thread);
	if (thread) {
		return thread;
	}
	thread = calloc(1, sizeof(*thread));
	if (!thread) {
		return NULL;
	}
	thread->uid = from->uid;
	HASH_ADD(hh, *threads, uid, sizeof(thread->uid), thread);
	if (!thread->hh.tbl) {
		free(thread);
		return NULL;
	}
	return thread;
}

/* Adds RECORD to THREAD. Records come in order of their starts, the outer one of two first. */
static void thread_add(struct thread *thread, const struct hk_record *record,
		       const struct hk_cursor *cursor, uint64_t tick_ns_q32)
{
	uint64_t ticks = (uint64_t)(((unsigned __int128)record->duration_ns << 32) / tick_ns_q32);
	uint64_t end = record->start_ticks + ticks;

	thread->tid = record->thread->tid;
	if (*record->thread->name) {
		memcpy(thread->name, record->thread->name, sizeof(thread->name));
		thread->name[sizeof(thread->name) - 1] = '\0';
	}
	thread->calls++;
	if (record->start_ticks >= thread->busy_until) {
		thread->outermost_ns += record->duration_ns;
		thread->busy_until = end;
	}
	if (record->duration_ns >= thread->longest_ns) {
		const struct hk_chunk_site *site = hk_cursor_site(cursor, record->site);
		thread->longest_ns = record->duration_ns;
		snprintf(thread->longest, sizeof(thread->longest), "%s",
			 site ? site->function : "?");
	}
}

static int threads_read(struct hk_cursor *cursor, struct thread **threads, uint64_t tick_ns_q32)
{
	const struct hk_record *records;
	size_t count;
	int r;

	while ((r = hk_cursor_batch(cursor, &records, &count)) > 0) {
		for (size_t i = 0; i < count; i++) {
			if (records[i].kind != HK_CHUNK_KIND_CALL &&
			    records[i].kind != HK_CHUNK_KIND_UNWOUND &&
			    records[i].kind != HK_CHUNK_KIND_FAILED) {
				continue;
			}
			struct thread *thread = thread_get(threads, records[i].thread);
			if (!thread) {
				return -ENOMEM;
			}
			thread_add(thread, &records[i], cursor, tick_ns_q32);
		}
	}
	return r == 0 && hk_cursor_stats(cursor)->damaged > 0 ? -EBADMSG : r;
}

/* Returns the name of THREAD, which may have been set after its last record was stored. */
static const char *name_of(const struct thread *thread, const Hk__Process *process)
{
	for (size_t i = 0; !*thread->name && i < process->n_threads; i++) {
		if (process->threads[i]->uid == thread->uid) {
			return process->threads[i]->name;
		}
	}
	return thread->name;
}

static void rows_add(struct hk_table *table, struct thread **threads, const Hk__Process *process)
{
	struct thread *thread, *next;
	char text[HK_QUANTITY_BYTES];

	HASH_ITER (hh, *threads, thread, next) {
		hk_table_add(table, "%" PRId32, hk_report_rank_of(process));
		hk_table_add(table, "%s", hk_report_role_of(process));
		hk_table_add(table, "%" PRIu32, process->pid);
		hk_table_add(table, "%" PRIu32, thread->tid);
		hk_table_add(table, "%s", name_of(thread, process));
		hk_table_add(table, "%" PRIu64, thread->calls);
		hk_table_add(table, "%.3f", (double)thread->outermost_ns / 1e9);
		hk_table_add(table, "%s", hk_quantity_duration(text, thread->longest_ns));
		hk_table_add(table, "%s", thread->longest);
		HASH_DEL(*threads, thread);
		free(thread);
	}
}

static int process_add(struct hk_table *table, struct hk_loader *loader, const struct hk_job *job,
		       const Hk__Process *process)
{
	uint64_t tick_ns_q32 = process->tick_ns_q32 ? process->tick_ns_q32 : 1ull << 32;
	struct thread *threads = NULL;
	struct hk_cursor *cursor = NULL;
	int fd = hk_source_open(job->snapshot->job, job->directory, process);

	if (fd < 0) {
		return fd == -ENOENT ? 0 : fd;
	}
	int r = hk_cursor_new(loader, fd, &cursor);
	r = r < 0 ? r : threads_read(cursor, &threads, tick_ns_q32);
	rows_add(table, &threads, process);
	hk_cursor_free(cursor);
	close(fd);
	return r;
}

static int by_rank(const void *a, const void *b)
{
	const Hk__Process *x = *(Hk__Process *const *)a, *y = *(Hk__Process *const *)b;
	int32_t x_rank = hk_report_rank_of(x), y_rank = hk_report_rank_of(y);

	if (x_rank != y_rank) {
		return x_rank < y_rank ? -1 : 1;
	}
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

int hk_thread_table_write(const struct hk_job *job, FILE *output, bool colour)
{
	struct hk_table *table = hk_table_new(
	    ">rank|<role|>pid|>thread|<name|>recorded calls|>inside s|>longest|<which:48");
	struct hk_loader *loader = hk_loader_new();
	int result = loader ? 0 : -ENOMEM;

	qsort(job->snapshot->processes, job->snapshot->n_processes,
	      sizeof(job->snapshot->processes[0]), by_rank);
	for (size_t i = 0; loader && i < job->snapshot->n_processes; i++) {
		int r = process_add(table, loader, job, job->snapshot->processes[i]);
		result = r < 0 ? r : result;
	}
	int r = 0;
	if (!hk_table_is_empty(table)) {
		r = hk_table_write(table, output, colour);
	} else if (result == 0) {
		fputs("no records, which a table by thread needs: run with --level '*=record'\n",
		      output);
	}
	hk_table_free(table);
	hk_loader_free(loader);
	return r < 0 ? r : result;
}
