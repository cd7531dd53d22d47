#include "agent/stack/answer.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <ucontext.h>

#include "agent/record/process.h"
#include "agent/record/thread.h"
#include "agent/stack/interpreter.h"
#include "agent/stack/walk.h"
#include "ring/kernel.h"

#define SIGNAL_MASK_BYTES 8u
#define STACK_BYTES 16384u
#define FRAME_BYTES_MOST 4096u /* with AVX-512; programs that use AMX have larger stacks */
#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif
#define RESTORER 0x04000000ul /* SA_RESTORER, which only the kernel's headers have */

/* The kernel's struct sigaction. libc's function is not asked, because an interposer such as a
 * sanitizer may run handlers later, when their stack has changed. */
struct action {
	void (*handler)(int signal, siginfo_t *info, void *context);
	unsigned long flags;
#if defined(__x86_64__)
	void (*restorer)(void);
#endif
	uint64_t mask;
};

#if defined(__x86_64__)
extern void hk_answer_return(void); /* answer_entry.S */
#endif

extern void hk_answer_on(void *top, void (*function)(void *data), void *data); /* there, too */

/* One of each for each request. The thread that answers it is their only user. */
static struct hk_thread_walk walks[HK_ASKS];
static _Alignas(16) char stacks[HK_ASKS][STACK_BYTES];

/* What is to be done on such a stack. */
struct taking {
	struct hk_ask *ask;
	uint32_t number;
	const ucontext_t *context;
};

static bool installed;
static uint32_t refusal;
static bool avoids_alternate; /* the handler runs on the thread's own stack */

/* ---- answering ---- */

static struct hk_frame interrupted(const ucontext_t *context)
{
#if defined(__aarch64__)
	return (struct hk_frame){
	    .pc = context->uc_mcontext.pc,
	    .sp = context->uc_mcontext.sp,
	    .fp = context->uc_mcontext.regs[29],
	    .link = context->uc_mcontext.regs[30],
	    .exact = true,
	};
#else
	return (struct hk_frame){
	    .pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP],
	    .sp = (uint64_t)context->uc_mcontext.gregs[REG_RSP],
	    .fp = (uint64_t)context->uc_mcontext.gregs[REG_RBP],
	    .exact = true,
	};
#endif
}

static void write_answer(struct hk_ask *ask, const struct hk_thread_walk *walk)
{
	uint32_t count = walk->count < HK_ASK_FRAMES ? walk->count : HK_ASK_FRAMES;

	for (uint32_t i = 0; i < count; i++) {
		ask->address[i] = walk->address[i];
	}
	ask->count = count;
	ask->end = count < walk->count ? HK_WALK_DEEP : walk->end;
}

/* Whether the stack is large enough. The kernel looks at its own part only. */
static bool has_room(const ucontext_t *context)
{
	uint64_t room = (uint64_t)context - (uint64_t)context->uc_stack.ss_sp;

	return room >= context->uc_stack.ss_size || room >= HK_ANSWER_BYTES;
}

static void take(void *data)
{
	const struct taking *taking = data;
	struct hk_thread_walk *walk = &walks[taking->number];
	struct hk_ask *ask = taking->ask;

	/* Another thread used it before: nothing is known of this one's pages. */
	walk->first_page = 0;
	for (size_t i = 0; i < HK_WALK_PAGES / 64; i++) {
		walk->readable[i] = 0;
	}
	hk_walk_take(interrupted(taking->context), walk);
	if (!hk_answer_python(taking->number, walk, ask)) {
		write_answer(ask, walk);
	}
	ask->ticks = hk_process_ticks();
}

/* The thread's own stack may have little room left: what takes more is done on another one. */
static void take_apart(struct hk_ask *ask, uint32_t number, const ucontext_t *context)
{
	struct taking taking = {ask, number, context};

	if (has_room(context)) {
		hk_answer_on(stacks[number] + STACK_BYTES, take, &taking);
	} else {
		ask->count = ask->python_block = ask->python_count = ask->python_missing = 0;
	}
}

/* Answers if a request names this thread. The signal may also come late, or from elsewhere. */
static void answer(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	struct hk_segment_header *header = hk_process.writer.header;
	if (!header || hk_process.sealed || hk_process_forked()) {
		return;
	}
	struct hk_ask *asks = (struct hk_ask *)(void *)((char *)header + HK_ASK_OFFSET);
	uint64_t own = (uint64_t)hk_kernel(SYS_gettid, 0, 0, 0, 0, 0, 0) << 32;
	for (uint32_t i = 0; i < HK_ASKS; i++) {
		uint64_t asked = own | HK_ASK_ASKED;
		if (atomic_compare_exchange_strong(&asks[i].state, &asked, own | HK_ASK_WRITING)) {
			take_apart(&asks[i], i, context);
			atomic_store_explicit(&asks[i].state, own | HK_ASK_ANSWERED,
					      memory_order_release);
		}
	}
}

/* ---- the handler ---- */

static long change_action(const struct action *action, struct action *old)
{
	return hk_kernel(SYS_rt_sigaction, HK_ANSWER_SIGNAL, action, old, SIGNAL_MASK_BYTES, 0, 0);
}

void hk_answer_publish(void)
{
	struct hk_segment_header *header = hk_process.writer.header;

	if (header && !hk_process_forked()) {
		uint32_t signal = installed ? HK_ANSWER_SIGNAL : 0;
		atomic_store_explicit(&header->ask_refusal, refusal, memory_order_relaxed);
		atomic_store_explicit(&header->python, hk_interpreter_status(),
				      memory_order_relaxed);
		atomic_store_explicit(&header->ask_signal, signal, memory_order_release);
	}
}

static void note(bool is_installed, uint32_t why)
{
	installed = is_installed;
	refusal = why;
	hk_process.unblocked = is_installed ? 1ull << (HK_ANSWER_SIGNAL - 1) : 0;
	hk_answer_publish();
}

static long install(void)
{
	/* Not restarted are only the calls that no handler's flag restarts: signal(7). */
	const struct action own = {
		.handler = answer,
#if defined(__x86_64__)
		.flags = SA_SIGINFO | SA_RESTART | RESTORER | (avoids_alternate ? 0 : SA_ONSTACK),
		.restorer = hk_answer_return,
#else
		.flags = SA_SIGINFO | SA_RESTART | (avoids_alternate ? 0 : SA_ONSTACK),
#endif
		.mask = ~0ull,
	};

	return change_action(&own, NULL);
}

/* Returns how much of a stack the kernel may need for a signal. Older ones do not say it: then of
 * any processor. */
static uint64_t frame_bytes(void)
{
	uint64_t bytes = getauxval(AT_MINSIGSTKSZ);

	return bytes ? bytes : FRAME_BYTES_MOST;
}

void hk_answer_note_stack(const stack_t *stack)
{
	bool small =
	    !(stack->ss_flags & SS_DISABLE) && stack->ss_size < frame_bytes() + HK_ANSWER_BYTES;

	if (small && !avoids_alternate) {
		avoids_alternate = true;
		if (installed) {
			install();
		}
	}
}

void hk_answer_start(void)
{
	struct action old = {.handler = NULL};
	stack_t stack;

	if (hk_kernel(SYS_sigaltstack, 0, &stack, 0, 0, 0, 0) == 0) {
		hk_answer_note_stack(&stack);
	}
	if (change_action(NULL, &old) < 0) {
		return;
	}
	if (old.handler) {
		note(false, HK_ASK_TAKEN);
	} else if (install() == 0) {
		note(true, HK_ASK_UNPREPARED);
	}
}

void hk_answer_yield(void)
{
	note(false, HK_ASK_TAKEN);
}

void hk_answer_resume(void)
{
	if (!hk_process.sealed) {
		hk_answer_start();
	}
}

void hk_answer_seal(void)
{
	note(false, HK_ASK_SEALED);
}

void hk_answer_start_late(void)
{
	avoids_alternate = true; /* other threads may have small ones */
	hk_answer_start();
}

void hk_answer_stop(void)
{
	struct action old = {.handler = NULL};

	if (installed && change_action(NULL, &old) == 0 && old.handler == answer) {
		old = (struct action){.handler = NULL};
		change_action(&old, NULL);
	}
	note(false, HK_ASK_UNPREPARED);
}

bool hk_answer_is_installed(void)
{
	return installed;
}
