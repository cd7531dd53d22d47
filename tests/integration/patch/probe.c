/* A preload library: the agent's patcher with a call frame that only counts. Each process appends
 * its counts to the file $PROBE_OUT.<pid> when it ends. Functions with up to ten integer arguments
 * only.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/frame/site.h"
#include "agent/frame/site_table.h"
#include "agent/frame/state.h"
#include "agent/object/find.h"
#include "agent/object/slot.h"
#include "agent/patch/entry.h"
#include "agent/patch/patch.h"
#include "agent/patch/wrapped.h"
#include "agent/record/process.h"
#include "agent/record/thread.h"
#include "agent/wrap/departure.h"
#include "agent/wrap/dl.h"
#include "agent/wrap/pointer.h"
#include "agent/wrap/signals.h"

#define SITES 256
#define THUNK_BYTES 16

static struct site {
	char function[64];
	char library[512];
	char provider[512];
	void *original;
	void **lazy_slot;
	atomic_ulong calls;
	atomic_ulong rearmed;
} sites[SITES];
static unsigned site_count;
static struct hk_hookset hooks;
static struct hk_coverage seen;

extern char probe_thunks[];
/* Returned in two registers: the loader's stub on aarch64 gets its slot in x16. */
struct way {
	void *original;
	void **slot;
};
struct way probe_enter(unsigned long index);
void probe_leave(unsigned long index);

#if defined(__aarch64__)
__asm__(".pushsection .text\n"
	"	.p2align 4\n"
	"	.globl probe_thunks\n"
	"	.hidden probe_thunks\n"
	"probe_thunks:\n"
	"	.set number, 0\n"
	"	.rept 256\n"
	"	.p2align 4\n"
	"	mov w16, number\n"
	"	b probe_common\n"
	"	.set number, number + 1\n"
	"	.endr\n"
	"	.p2align 4\n"
	"probe_common:\n"
	"	stp x29, x30, [sp, #-96]!\n"
	"	mov x29, sp\n"
	"	stp x0, x1, [sp, #16]\n"
	"	stp x2, x3, [sp, #32]\n"
	"	stp x4, x5, [sp, #48]\n"
	"	stp x6, x7, [sp, #64]\n"
	"	stp x8, x16, [sp, #80]\n"
	"	mov x0, x16\n"
	"	bl probe_enter\n"
	"	mov x17, x0\n"
	"	mov x16, x1\n"
	"	ldp x0, x1, [x29, #96]\n"
	"	stp x0, x1, [sp, #-16]!\n"
	"	ldp x0, x1, [x29, #16]\n"
	"	ldp x2, x3, [x29, #32]\n"
	"	ldp x4, x5, [x29, #48]\n"
	"	ldp x6, x7, [x29, #64]\n"
	"	ldr x8, [x29, #80]\n"
	"	blr x17\n"
	"	str x0, [x29, #16]\n"
	"	ldr x0, [x29, #88]\n"
	"	bl probe_leave\n"
	"	mov sp, x29\n"
	"	ldr x0, [sp, #16]\n"
	"	ldp x29, x30, [sp], #96\n"
	"	ret\n"
	".popsection\n");
#else
__asm__(".pushsection .text\n"
	"	.p2align 4\n"
	"	.globl probe_thunks\n"
	"	.hidden probe_thunks\n"
	"probe_thunks:\n"
	"	.set number, 0\n"
	"	.rept 256\n"
	"	.p2align 4\n"
	"	movl $number, %r11d\n"
	"	jmp probe_common\n"
	"	.set number, number + 1\n"
	"	.endr\n"
	"probe_common:\n"
	"	pushq %rbp\n"
	"	movq %rsp, %rbp\n"
	"	pushq %r11\n"
	"	pushq %rdi\n"
	"	pushq %rsi\n"
	"	pushq %rdx\n"
	"	pushq %rcx\n"
	"	pushq %r8\n"
	"	pushq %r9\n"
	"	subq $8, %rsp\n"
	"	movq %r11, %rdi\n"
	"	call probe_enter\n"
	"	movq -16(%rbp), %rdi\n"
	"	movq -24(%rbp), %rsi\n"
	"	movq -32(%rbp), %rdx\n"
	"	movq -40(%rbp), %rcx\n"
	"	movq -48(%rbp), %r8\n"
	"	movq -56(%rbp), %r9\n"
	"	pushq 40(%rbp)\n"
	"	pushq 32(%rbp)\n"
	"	pushq 24(%rbp)\n"
	"	pushq 16(%rbp)\n"
	"	call *%rax\n"
	"	addq $32, %rsp\n"
	"	movq -8(%rbp), %rdi\n"
	"	movq %rax, -8(%rbp)\n"
	"	call probe_leave\n"
	"	movq -8(%rbp), %rax\n"
	"	leave\n"
	"	ret\n"
	".popsection\n");
#endif

static void *thunk_of(unsigned long index)
{
	return probe_thunks + index * THUNK_BYTES;
}

__attribute__((visibility("hidden"), used)) struct way probe_enter(unsigned long index)
{
	atomic_fetch_add(&sites[index].calls, 1);
	return (struct way){sites[index].original, sites[index].lazy_slot};
}

__attribute__((visibility("hidden"), used)) void probe_leave(unsigned long index)
{
	struct site *site = &sites[index];
	void *real = site->lazy_slot ? hk_slot_rearm(site->lazy_slot, thunk_of(index)) : NULL;
	if (real) {
		site->original = real;
		site->lazy_slot = NULL;
		atomic_fetch_add(&site->rearmed, 1);
	}
}

void hk_process_cover(const struct hk_coverage *coverage)
{
	seen = *coverage;
}

void *hk_site_bind(const struct hk_site_request *request, uint32_t *ret_refusal)
{
	for (unsigned i = 0; i < site_count; i++) {
		if (strcmp(sites[i].function, request->function) == 0 &&
		    strcmp(sites[i].library, request->library) == 0 &&
		    sites[i].original == request->original) {
			return thunk_of(i);
		}
	}
	if (site_count == SITES) {
		*ret_refusal = HK_REFUSED_THUNKS;
		return NULL;
	}
	struct site *site = &sites[site_count];
	snprintf(site->function, sizeof(site->function), "%s", request->function);
	snprintf(site->library, sizeof(site->library), "%s", request->library);
	snprintf(site->provider, sizeof(site->provider), "%s", request->provider);
	site->original = request->original;
	site->lazy_slot = request->lazy ? request->slot : NULL;
	return thunk_of(site_count++);
}

void hk_site_retire(struct hk_span span)
{
	(void)span;
}

static void forget(struct hk_span span)
{
	(void)span;
}

bool hk_state_has_bytes(uint64_t bytes)
{
	(void)bytes;
	return true;
}

bool hk_site_is_thunk(const void *address)
{
	const char *at = address;
	return at >= probe_thunks && at < probe_thunks + SITES * THUNK_BYTES;
}

void *hk_site_original(const void *thunk)
{
	return hk_site_is_thunk(thunk)
		   ? sites[((const char *)thunk - probe_thunks) / THUNK_BYTES].original
		   : NULL;
}

struct hk_process hk_process;

void hk_site_table_pass_all(void)
{
}

void hk_departure_begin(void)
{
}

void hk_departure_end(void)
{
}

void hk_departure_lock(void)
{
}

void hk_departure_locked(int flags)
{
	(void)flags;
}

void hk_sandbox_prctl(int option, unsigned long argument)
{
	(void)option, (void)argument;
}

void hk_sandbox_syscall(long number, unsigned long a, unsigned long b)
{
	(void)number, (void)a, (void)b;
}

int hk_signals_set_action(int signal, const struct sigaction *action, struct sigaction *old)
{
	int (*original)(int, const struct sigaction *, struct sigaction *) =
	    (int (*)(int, const struct sigaction *, struct sigaction *))atomic_load(
		&hk_wrapped_originals[HK_WRAPPED_SIGACTION]);
	return original(signal, action, old);
}

sighandler_t hk_signals_set(int signal, sighandler_t handler)
{
	sighandler_t (*original)(int, sighandler_t) = (sighandler_t(*)(
	    int, sighandler_t))atomic_load(&hk_wrapped_originals[HK_WRAPPED_SIGNAL]);
	return original(signal, handler);
}

int hk_signals_set_stack(const stack_t *stack, stack_t *old)
{
	int (*original)(const stack_t *, stack_t *) = (int (*)(
	    const stack_t *, stack_t *))atomic_load(&hk_wrapped_originals[HK_WRAPPED_SIGALTSTACK]);
	return original(stack, old);
}

void hk_thread_may_end(int code)
{
	(void)code;
}

__thread uint32_t hk_in_agent;

uint64_t hk_process_block_signals(void)
{
	return 0;
}

void hk_process_restore_signals(uint64_t mask)
{
	(void)mask;
}

__attribute__((constructor)) static void start(int argc, char **argv, char **environment)
{
	(void)argc;
	(void)argv;
	hk_hookset_load(environment, &hooks);
	hk_dl_start();
	hk_entry_start(hk_pointer_of_entry);
	hk_patch_start(&hooks, forget, false);
	hk_patch_rescan();
}

__attribute__((destructor)) static void end(void)
{
	const char *prefix = getenv("PROBE_OUT");
	char name[1024];
	if (!prefix) {
		return;
	}
	snprintf(name, sizeof(name), "%s.%d", prefix, (int)getpid());
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	for (unsigned i = 0; i < site_count; i++) {
		dprintf(fd, "site %s %s %s %lu %lu\n", sites[i].function, sites[i].library,
			sites[i].provider[0] ? sites[i].provider : "-", sites[i].calls,
			sites[i].rearmed);
	}
	hk_patch_rescan();
	dprintf(
	    fd,
	    "objects %u\npending %u\nfound %u\npatched %u\nscans %u\nhidden %u\nhidden_objects %u\n"
	    "escaped %u\n",
	    seen.objects, seen.objects_pending, seen.slots_found, seen.slots_patched, seen.scans,
	    seen.namespaces_hidden, seen.objects_hidden, seen.symbols_escaped);
	for (unsigned i = 0; i < HK_REFUSALS_MAX; i++) {
		dprintf(fd, "refused%u %u\n", i, seen.slots_refused[i]);
	}
	dprintf(fd, "lookup %d\n",
		hk_find_function("libtarget.so", "target_add") != NULL &&
		    !hk_find_function("liblazy.so", "target_add"));
	close(fd);
}
