#include "collector/stack/subject.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/model/attachment.h"
#include "collector/model/collector.h"
#include "collector/model/fields.h"
#include "collector/model/process.h"
#include "collector/proc/procfs.h"
#include "collector/proc/tasks.h"
#include "collector/process/ancestry.h"
#include "collector/process/naming.h"
#include "collector/stack/dump.h"
#include "collector/stack/extract.h"
#include "collector/stack/row.h"
#include "collector/stack/traced.h"

#define ANSWER_NS 400000000u	   /* for one thread's answer */
#define ANSWER_LATE_NS 2000000000u /* of one that waits for a processor */
#define BLOCKED_NS 200000000u	   /* a thread may block signals for a moment, as the agent does */
#define ANSWER_SHORT_NS 50000000u  /* once several threads of the process did not answer */
#define SILENT_MAX 4u		   /* so many */
#define TRACING_NS 6000000000u	   /* for the program that reads stacks by ptrace */
#define NAMING_NS 3000000000u	   /* for names of functions: a file may be large */
#define NO_TASK SIZE_MAX

enum phase { PHASE_ASKING, PHASE_TRACING, PHASE_NAMING, PHASE_DONE };

struct hk_subject {
	uint8_t uid[HK_UID_BYTES];
	Hk__Process *state;
	enum phase phase;
	uint32_t pid; /* in the collector's namespace; 0: it is not there */
	bool foreign;
	int signal;
	struct hk_task *tasks;
	struct hk_row *rows; /* one for each task */
	size_t count;
	uint64_t began_ns; /* asking; 0: not yet */
	unsigned silent;   /* threads that did not answer */
	struct place {
		size_t task; /* NO_TASK: free */
		uint64_t sent_ns;
		bool stuck; /* a thread stopped in the midst of its answer */
	} places[HK_ASKS];
	struct hk_traced *traced;
	uint64_t traced_until_ns;
	struct hk_naming *naming; /* that names the frames; NULL: not yet */
	uint64_t ticket;	  /* there */
	uint64_t named_until_ns;
};

/* ---- making ---- */

static const char *refusal_text(uint32_t refusal)
{
	switch (refusal) {
	case HK_ASK_TAKEN:
		return "the program handles or ignores SIGURG itself (--ptrace reads its stacks)";
	case HK_ASK_SEALED:
		return "the process is in a sandbox (--ptrace reads its stacks)";
	default:
		return "its agent cannot be asked (--ptrace reads its stacks)";
	}
}

/* The process's pid as the collector's namespace has it; 0: it is not in there. */
static uint32_t pid_here(const struct hk_process *process)
{
	struct hk_procfs_stat stat;
	uint32_t pid = process->foreign ? hk_tasks_find(process->pid_namespace, process->state->pid)
					: process->state->pid;
	bool same = pid != 0 && hk_procfs_stat(pid, &stat) == 0 &&
		    (process->foreign || process->state->pid_start == 0 ||
		     stat.start_ticks == process->state->pid_start);

	return same ? pid : 0;
}

/* Sleeping threads answer at once; those that wait for a processor come last. */
static int by_state(const void *a, const void *b)
{
	const struct hk_task *x = a, *y = b;
	bool x_runs = x->state == 'R', y_runs = y->state == 'R';

	return x_runs != y_runs ? x_runs - y_runs : (x->tid > y->tid) - (x->tid < y->tid);
}

struct hk_subject *hk_subject_new(const struct hk_process *process)
{
	struct hk_subject *subject = calloc(1, sizeof(*subject));
	const struct hk_segment_status *status = &process->segment->status;

	if (!subject) {
		return NULL;
	}
	memcpy(subject->uid, process->uid, HK_UID_BYTES);
	subject->state = hk_extract_new(process->state);
	subject->pid = pid_here(process);
	subject->foreign = process->foreign;
	subject->signal = status->ask_signal == SIGURG ? SIGURG : 0;
	for (uint32_t i = 0; i < HK_ASKS; i++) {
		subject->places[i].task = NO_TASK;
	}
	if (!subject->state) {
		return hk_subject_free(subject);
	}
	if (subject->pid != 0) {
		hk_tasks_list(subject->pid, SIGURG, &subject->tasks, &subject->count);
	}
	if (subject->count > 0) {
		qsort(subject->tasks, subject->count, sizeof(*subject->tasks), by_state);
	}
	subject->rows = calloc(subject->count + 1, sizeof(*subject->rows));
	if (!subject->rows) {
		return hk_subject_free(subject);
	}
	for (size_t i = 0; i < subject->count && subject->signal == 0; i++) {
		snprintf(subject->rows[i].missing, sizeof(subject->rows[i].missing), "%s",
			 refusal_text(status->ask_refusal));
	}
	return subject;
}

struct hk_subject *hk_subject_free(struct hk_subject *subject)
{
	if (!subject) {
		return NULL;
	}
	hk_traced_free(subject->traced);
	if (subject->naming) {
		hk_naming_end(subject->naming, subject->ticket);
	}
	for (size_t i = 0; subject->rows && i < subject->count; i++) {
		hk_row_drop(&subject->rows[i]);
	}
	free(subject->rows);
	free(subject->tasks);
	if (subject->state) {
		hk__process__free_unpacked(subject->state, NULL);
	}
	free(subject);
	return NULL;
}

/* ---- asking ---- */

static void miss(struct hk_subject *subject, size_t task, const char *reason)
{
	struct hk_row *row = &subject->rows[task];

	snprintf(row->missing, sizeof(row->missing), "%s", reason);
}

/* Says why a thread did not answer, or why it is not asked. Returns false if it may be asked. */
static bool explain(struct hk_subject *subject, size_t task, bool asked)
{
	const struct hk_task *old = &subject->tasks[task];
	struct hk_task *now = &subject->tasks[task], read;
	char text[96];

	if (hk_task_read(subject->pid, old->tid, SIGURG, &read) < 0 || read.state == 'Z' ||
	    read.state == 'X') {
		miss(subject, task, "has ended");
		subject->rows[task].ended = true;
		return true;
	}
	*now = read;
	if (read.state == 'T') {
		snprintf(text, sizeof(text), "stopped (kill -CONT %" PRIu32 " lets it run on)",
			 subject->state->pid);
		miss(subject, task, text);
	} else if (read.state == 't') {
		snprintf(text, sizeof(text), "stopped by process %" PRIu32 ", a debugger",
			 read.tracer);
		miss(subject, task, text);
	} else if (!read.caught) {
		miss(subject, task, "the program has replaced the agent's handler of SIGURG");
	} else if (read.blocked) {
		miss(subject, task, "blocks SIGURG");
	} else if (asked) {
		miss(subject, task,
		     read.state == 'D'	 ? "in the kernel: uninterruptible"
		     : read.tracer	 ? "does not answer: a debugger holds its signals back"
		     : read.state == 'R' ? "does not answer: it had no processor in time"
					 : "does not answer");
	} else {
		return false;
	}
	return true;
}

/* Sends the signal to TASK, whose request is in PLACE. */
static void send(struct hk_subject *subject, struct hk_reader *reader, uint32_t place, size_t task,
		 uint64_t now_ns)
{
	const struct hk_task *thread = &subject->tasks[task];

	if (hk_reader_ask(reader, place, thread->inner) < 0) {
		subject->places[place].stuck = true;
		return;
	}
	subject->rows[task].settled = true;
	if (syscall(SYS_tgkill, subject->pid, thread->tid, SIGURG) < 0) {
		hk_reader_unask(reader, place);
		miss(subject, task, errno == ESRCH ? "has ended" : strerror(errno));
		subject->rows[task].ended = errno == ESRCH;
		return;
	}
	subject->places[place].task = task;
	subject->places[place].sent_ns = now_ns;
}

/* Whether the thread waits in a system call that a signal would end, and ptrace would not: the
 * kernel continues it without the program's knowledge. */
static bool is_delicate(const struct hk_subject *subject, size_t task)
{
	static const long calls[] = {
		SYS_nanosleep,
		SYS_clock_nanosleep,
		SYS_ppoll,
		SYS_pselect6,
#if defined(__x86_64__)
		SYS_poll,
		SYS_select,
#endif
	};
	long call = hk_task_call(subject->pid, subject->tasks[task].tid);

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (call == calls[i]) {
			return true;
		}
	}
	return false;
}

/* Returns the next thread that may be asked now, or NO_TASK. Settles those that may not be asked at
 * all. */
static size_t next_of(struct hk_subject *subject, const struct hk_subject_limits *limits)
{
	bool early = limits->now_ns - subject->began_ns < BLOCKED_NS;

	for (size_t i = 0; i < subject->count; i++) {
		struct hk_row *row = &subject->rows[i];
		if (row->settled) {
			continue;
		}
		bool delicate = limits->ptrace && is_delicate(subject, i);
		if (!delicate && !explain(subject, i, false)) {
			return i;
		}
		row->settled = delicate || !subject->tasks[i].blocked || !early || row->ended;
	}
	return NO_TASK;
}

static bool is_settled(const struct hk_subject *subject)
{
	for (size_t i = 0; i < subject->count; i++) {
		if (!subject->rows[i].settled) {
			return false;
		}
	}
	return true;
}

/* Whether the thread runs, or would if it had a processor. */
static bool is_runnable(const struct hk_subject *subject, size_t task)
{
	struct hk_task read;

	return hk_task_read(subject->pid, subject->tasks[task].tid, SIGURG, &read) == 0 &&
	       read.state == 'R' && !read.blocked;
}

/* Whether the thread in PLACE had all the time that it gets. */
static bool is_overdue(const struct hk_subject *subject, const struct place *place,
		       const struct hk_subject_limits *limits)
{
	uint64_t waited = limits->now_ns - place->sent_ns;
	uint64_t patience = subject->silent < SILENT_MAX ? ANSWER_NS : ANSWER_SHORT_NS;

	return limits->now_ns >= limits->deadline_ns || waited >= ANSWER_LATE_NS ||
	       (waited >= patience && !is_runnable(subject, place->task));
}

static void take_answer(struct hk_subject *subject, size_t task, struct hk_ask_copy *answer)
{
	if (answer->count > 0) {
		hk_row_keep_answer(&subject->rows[task], answer);
	} else {
		miss(subject, task, "its signal stack is too small (--ptrace reads its stack)");
	}
}

/* Looks for the answer of the thread in PLACE. */
static void look(struct hk_subject *subject, struct hk_reader *reader, uint32_t number,
		 const struct hk_subject_limits *limits)
{
	struct place *place = &subject->places[number];
	struct hk_ask_copy answer;
	size_t task = place->task;
	int r = hk_reader_answer(reader, number, subject->tasks[task].inner, &answer);

	if (r > 0) {
		place->task = NO_TASK;
		take_answer(subject, task, &answer);
	} else if (r < 0 || is_overdue(subject, place, limits)) {
		place->task = NO_TASK;
		place->stuck = !hk_reader_unask(reader, number);
		explain(subject, task, true);
		subject->silent += !subject->rows[task].ended;
	}
}

/* Returns whether all threads were asked, or cannot be. */
static bool ask(struct hk_subject *subject, struct hk_reader *reader,
		const struct hk_subject_limits *limits)
{
	bool under_way = false, usable = false;

	subject->began_ns = subject->began_ns ? subject->began_ns : limits->now_ns;
	for (uint32_t i = 0; i < HK_ASKS; i++) {
		struct place *place = &subject->places[i];
		if (place->task != NO_TASK) {
			look(subject, reader, i, limits);
		}
		bool free =
		    place->task == NO_TASK && !place->stuck && limits->now_ns < limits->deadline_ns;
		size_t next = free ? next_of(subject, limits) : NO_TASK;
		if (next != NO_TASK) {
			send(subject, reader, i, next, limits->now_ns);
		}
		under_way |= place->task != NO_TASK;
		usable |= !place->stuck;
	}
	bool over = !usable || limits->now_ns >= limits->deadline_ns;
	for (size_t i = 0; i < subject->count && over && !under_way; i++) {
		if (!subject->rows[i].settled) {
			miss(subject, i, "not asked: other threads of its process took too long");
		}
	}
	return !under_way && (over || is_settled(subject));
}

/* The process has ended, or has become another program. */
static void note_end(struct hk_subject *subject)
{
	for (size_t i = 0; i < subject->count; i++) {
		if (!subject->rows[i].stack.address) {
			miss(subject, i, "has ended");
			subject->rows[i].ended = true;
		}
	}
}

/* ---- reading by ptrace ---- */

/* Whether the stack of the thread may be read from outside. */
static bool is_left(const struct hk_row *row)
{
	return !row->stack.address && !row->ended;
}

static void begin_tracing(struct hk_subject *subject, uint64_t now_ns)
{
	uint32_t *tids = calloc(subject->count + 1, sizeof(*tids));
	size_t count = 0;

	for (size_t i = 0; tids && i < subject->count; i++) {
		if (is_left(&subject->rows[i])) {
			tids[count++] = subject->tasks[i].tid;
		}
	}
	if (count > 0) {
		hk_traced_open(subject->pid, tids, count, &subject->traced);
	}
	free(tids);
	subject->traced_until_ns = now_ns + TRACING_NS;
}

static void take_traced(struct hk_subject *subject, struct hk_traced_answer *answer)
{
	for (size_t i = 0; i < subject->count; i++) {
		struct hk_row *row = &subject->rows[i];
		if (subject->tasks[i].tid != answer->tid) {
			continue;
		}
		if (*answer->missing) {
			miss(subject, i, answer->missing);
		} else {
			const struct hk_dump_stack stack = {
			    .address = answer->address, .count = answer->count, .end = answer->end};
			hk_row_keep(row, &stack);
			row->traced = true;
		}
	}
}

/* Returns whether all threads were read. */
static bool trace(struct hk_subject *subject, uint64_t now_ns)
{
	struct hk_traced_answer answer;
	int r = -ENODATA;

	while (subject->traced && (r = hk_traced_next(subject->traced, &answer)) > 0) {
		take_traced(subject, &answer);
	}
	if (r == 0 && now_ns < subject->traced_until_ns) {
		return false;
	}
	subject->traced = hk_traced_free(subject->traced);
	return true;
}

/* ---- the message ---- */

/* Returns why the stack of ROW lacks Python frames that it may have; "": it does not. */
static const char *python_missing(const struct hk_subject *subject, const struct hk_row *row)
{
	bool read = subject->state->python >> 32 == HK_PYTHON_READ;

	if (!row->stack.address || !read) {
		return "";
	}
	return row->traced ? "read by ptrace, which knows native frames only"
	       : row->python_missing == HK_ASK_PYTHON_BUSY ? "the process was changing its segment"
	       : row->python_missing == HK_ASK_PYTHON_UNSEEN
		   ? "its interpreter ends, or the thread is between two functions"
	       : row->python_missing == HK_ASK_PYTHON_FULL ? "its segment has no room for them"
							   : "";
}

static int add_thread(struct hk_subject *subject, struct hk_dump *dump, size_t task)
{
	const struct hk_task *from = &subject->tasks[task];
	const struct hk_row *row = &subject->rows[task];
	const char state[2] = {from->state, '\0'};
	Hk__ThreadStack *thread = malloc(sizeof(*thread));

	if (!thread) {
		return -ENOMEM;
	}
	hk__thread_stack__init(thread);
	subject->state->thread_stacks[subject->state->n_thread_stacks++] = thread;
	thread->tid = from->inner;
	thread->traced = row->traced;
	int r = hk_field_set_string(&thread->name, from->name);
	r = r < 0 ? r : hk_field_set_string(&thread->state, state);
	r = r < 0 ? r : hk_field_set_string(&thread->missing, row->missing);
	r = r < 0 ? r : hk_field_set_string(&thread->python_missing, python_missing(subject, row));
	if (r == 0 && row->stack.address && dump) {
		r = hk_dump_add(dump, &row->stack, &thread->stack);
	}
	return r;
}

/* A process without threads that can be seen gets one line, which says so. */
static int add_absent(struct hk_subject *subject)
{
	Hk__ThreadStack *thread = malloc(sizeof(*thread));

	if (!thread) {
		return -ENOMEM;
	}
	hk__thread_stack__init(thread);
	subject->state->thread_stacks[subject->state->n_thread_stacks++] = thread;
	thread->tid = subject->state->pid;
	return hk_field_set_string(&thread->missing,
				   subject->foreign && !subject->pid
				       ? "in a pid namespace that hookcollector does not see (run "
					 "hookcollector on the host, or in the same container)"
				       : "has ended");
}

/* Opens the dump by the map of the process, or of any thread with a stack: a process whose first
 * thread has ended has none of its own. */
static int open_dump(struct hk_subject *subject, struct hk_dump **ret_dump)
{
	int r = subject->pid ? hk_dump_open(subject->pid, subject->state, ret_dump) : -ESRCH;
	for (size_t i = 0; i < subject->count && r < 0 && r != -ENOMEM; i++) {
		if (subject->rows[i].stack.address) {
			r = hk_dump_open(subject->tasks[i].tid, subject->state, ret_dump);
		}
	}
	return r;
}

static void put_together(struct hk_subject *subject)
{
	Hk__Process *state = subject->state;
	struct hk_dump *dump = NULL;

	state->thread_stacks = calloc(subject->count + 1, sizeof(*state->thread_stacks));
	int r = state->thread_stacks ? 0 : -ENOMEM;
	int mapped = open_dump(subject, &dump);
	for (size_t i = 0; i < subject->count && r == 0; i++) {
		if (mapped < 0 && subject->rows[i].stack.address) {
			miss(subject, i,
			     mapped == -EACCES ? "its memory map cannot be read" : "has ended");
		}
		r = add_thread(subject, dump, i);
	}
	r = r == 0 && subject->count == 0 ? add_absent(subject) : r;
	hk_dump_free(dump);
}

static void begin_naming(struct hk_subject *subject, struct hk_collector *collector,
			 uint64_t now_ns)
{
	if (collector->naming) {
		subject->naming = collector->naming;
		subject->ticket = hk_naming_begin(subject->naming, subject->state, subject->pid);
	}
	subject->named_until_ns = now_ns + NAMING_NS;
}

/* Returns whether the wait for names is over. */
static bool is_named(struct hk_subject *subject, struct hk_collector *collector, uint64_t now_ns)
{
	if (!subject->naming) {
		return true;
	}
	hk_naming_run(collector, now_ns);
	if (hk_naming_is_pending(subject->naming, subject->ticket) &&
	    now_ns < subject->named_until_ns) {
		return false;
	}
	hk_naming_end(subject->naming, subject->ticket);
	subject->naming = NULL;
	return true;
}

bool hk_subject_advance(struct hk_subject *subject, struct hk_collector *collector,
			const struct hk_subject_limits *limits)
{
	const struct hk_process *process = hk_ancestry_by_uid(collector, subject->uid);
	struct hk_reader *reader =
	    process && process->segment && !process->exited ? process->segment->reader : NULL;

	if (subject->phase == PHASE_ASKING) {
		bool asked = !subject->signal || !reader || ask(subject, reader, limits);
		subject->phase = asked ? PHASE_TRACING : PHASE_ASKING;
		if (!reader) {
			note_end(subject);
		}
		if (asked && limits->ptrace && reader) {
			begin_tracing(subject, limits->now_ns);
		}
	}
	if (subject->phase == PHASE_TRACING && trace(subject, limits->now_ns)) {
		put_together(subject);
		begin_naming(subject, collector, limits->now_ns);
		subject->phase = PHASE_NAMING;
	}
	if (subject->phase == PHASE_NAMING && is_named(subject, collector, limits->now_ns)) {
		subject->phase = PHASE_DONE;
	}
	return subject->phase == PHASE_DONE;
}

Hk__Process *hk_subject_take(struct hk_subject *subject)
{
	Hk__Process *state = subject->state;

	subject->state = NULL;
	return state;
}
