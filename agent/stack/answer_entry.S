/* answer_entry.S: how the handler of answer.c leaves the interrupted thread's stack, and how it returns. */

/* void hk_answer_on(void *top, void (*function)(void *), void *data): calls FUNCTION with DATA on the stack below TOP, which is
 * aligned to 16 bytes. Unwinders go on through it to the stack that it was called on. */
#if defined(__aarch64__)
#include "agent/frame/macros_aarch64.h"
#endif

	.text
	.hidden	hk_answer_on
	.globl	hk_answer_on
	.type	hk_answer_on, %function
	.balign	16
#if defined(__x86_64__)
hk_answer_on:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register rbp
	movq	%rdi, %rsp
	movq	%rdx, %rdi
	callq	*%rsi
	movq	%rbp, %rsp
	popq	%rbp
	.cfi_def_cfa rsp, 8
	retq
	.cfi_endproc
#elif defined(__aarch64__)
hk_answer_on:
	.cfi_startproc
	stp	x29, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x29, -16
	.cfi_offset x30, -8
	mov	x29, sp
	.cfi_def_cfa_register x29
	mov	sp, x0
	mov	x0, x2
	blr	x1
	mov	sp, x29
	ldp	x29, x30, [sp], #16
	.cfi_def_cfa sp, 0
	ret
	.cfi_endproc
#endif
	.size	hk_answer_on, . - hk_answer_on

#if defined(__x86_64__)
/* Where the handler returns to: rt_sigreturn, in the instructions by which unwinders and debuggers know the frame of a signal. The
 * nop keeps the unwind information of what lies before from being taken for its own. */
	.hidden	hk_answer_return
	.globl	hk_answer_return
	.type	hk_answer_return, @function
	.balign	16
	nop
hk_answer_return:
	movq	$15, %rax
	syscall
	.size	hk_answer_return, . - hk_answer_return
#endif
	.section .note.GNU-stack, "", %progbits
#if defined(__aarch64__)
	landing_pads
#endif
