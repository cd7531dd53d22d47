#include "agent/frame/state.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>

#include "agent/record/process.h"
#include "ring/kernel.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/uio.h>

/* Components to save: x87, SSE, AVX, AVX-512 (three parts). Read by trampoline.S. 0: the processor
 * has no xsave. */
#define STATE_COMPONENTS 0xe7u

uint32_t hk_state_mask;
uint32_t hk_state_bytes = 512;

/* Whether valgrind runs the process. memcheck treats a question by futex as a use of the word. */
static bool watched;

/* Returns whether valgrind runs this program. valgrind knows a request by the first five
 * instructions, which do nothing on a processor and then leave 0 as the answer. Request 0x1001 asks
 * whether valgrind runs. */
static bool is_watched(void)
{
	uint64_t request[6] = {0x1001}, answer = 0;
	__asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi\n\t"
			 "xchgq %%rbx, %%rbx"
			 : "+d"(answer)
			 : "a"(request)
			 : "cc", "memory");
	return answer != 0;
}

static long read_word(uintptr_t address)
{
	uint64_t word;
	struct iovec here = {&word, sizeof(word)}, there = {(void *)address, sizeof(word)};
	long pid = hk_kernel(SYS_getpid, 0, 0, 0, 0, 0, 0);
	return hk_kernel(SYS_process_vm_readv, pid, &here, 1, &there, 1, 0);
}

void hk_state_setup(void)
{
	watched = is_watched();
	uint32_t a, b, c, d;
	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) {
		return;
	}
	uint32_t enabled, high;
	__asm__ volatile("xgetbv" : "=a"(enabled), "=d"(high) : "c"(0));
	uint32_t mask = enabled & STATE_COMPONENTS;
	/* Leaf 13: offset and size of each component in the standard format that xsave writes. */
	uint32_t bytes = 512 + 64;
	for (uint32_t component = 2; component < 8; component++) {
		if (!(mask & (1u << component))) {
			continue;
		}
		__cpuid_count(13, component, a, b, c, d);
		if (a + b > bytes) {
			bytes = a + b;
		}
	}
	hk_state_mask = mask;
	hk_state_bytes = bytes;
}
#else
/* hk_state_saved saves the same registers on all processors. */
void hk_state_setup(void)
{
}
#endif

#if defined(__x86_64__)
#define SAVED_BYTES hk_state_bytes
#else
#define SAVED_BYTES 1024u
#endif

bool hk_state_has_bytes(uint64_t bytes)
{
	stack_t stack;
	if (hk_process.sealed || hk_kernel(SYS_sigaltstack, 0, &stack, 0, 0, 0, 0) < 0 ||
	    !(stack.ss_flags & SS_ONSTACK)) {
		return true;
	}
	return (uint64_t)__builtin_frame_address(0) - (uint64_t)stack.ss_sp >= bytes;
}

bool hk_state_may_save(void)
{
	return !hk_in_agent && hk_state_has_bytes(SAVED_BYTES + HK_STATE_SLOW_BYTES);
}

bool hk_state_has_room(void)
{
	bool room = hk_state_has_bytes(SAVED_BYTES + HK_STATE_SLOW_BYTES);
	if (!room && !hk_in_agent) {
		hk_process_untracked();
	}
	return room;
}

bool hk_state_is_readable(uintptr_t address)
{
	address &= ~(uintptr_t)3;
#if defined(__x86_64__)
	if (watched) {
		return read_word(address) != -EFAULT;
	}
#endif
	/* This call wakes and moves no thread, whatever the word is. */
	return hk_kernel(SYS_futex, (long)address, FUTEX_CMP_REQUEUE_PRIVATE, 0, 0, (long)address,
			 0) != -EFAULT;
}
