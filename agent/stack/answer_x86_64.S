/* answer_x86_64.S: where the handler of answer.c returns to: rt_sigreturn, in the instructions by
 * which unwinders and debuggers know the frame of a signal. The nop keeps the unwind information of
 * what lies before from being taken for its own. */
#if defined(__x86_64__)
	.text
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
	.section .note.GNU-stack, "", @progbits
