/* fibers_switch.S: a switch of stacks as coroutine libraries have it: the registers that a call keeps go onto the stack that is
 * left, without notice to any other code.
 */
#if defined(__x86_64__)

	.text
	.globl	fiber_switch
	.type	fiber_switch, @function
fiber_switch:
	pushq	%rbp
	pushq	%rbx
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	movq	%rsp, (%rdi)
	movq	%rsi, %rsp
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbx
	popq	%rbp
	ret
	.size	fiber_switch, . - fiber_switch

/* Six registers, where to begin, and where that would return to, which it never does: what comes next is not ours. */
	.globl	fiber_stack
	.type	fiber_stack, @function
fiber_stack:
	leaq	-64(%rdi), %rax
	movq	$0, (%rax)
	movq	$0, 8(%rax)
	movq	$0, 16(%rax)
	movq	$0, 24(%rax)
	movq	$0, 32(%rax)
	movq	$0, 40(%rax)
	movq	%rsi, 48(%rax)
	movq	$0, 56(%rax)
	ret
	.size	fiber_stack, . - fiber_stack

#elif defined(__aarch64__)

	.text
	.globl	fiber_switch
	.type	fiber_switch, %function
fiber_switch:
	stp	x29, x30, [sp, #-160]!
	stp	x19, x20, [sp, #16]
	stp	x21, x22, [sp, #32]
	stp	x23, x24, [sp, #48]
	stp	x25, x26, [sp, #64]
	stp	x27, x28, [sp, #80]
	stp	d8, d9, [sp, #96]
	stp	d10, d11, [sp, #112]
	stp	d12, d13, [sp, #128]
	stp	d14, d15, [sp, #144]
	mov	x9, sp
	str	x9, [x0]
	mov	sp, x1
	ldp	x19, x20, [sp, #16]
	ldp	x21, x22, [sp, #32]
	ldp	x23, x24, [sp, #48]
	ldp	x25, x26, [sp, #64]
	ldp	x27, x28, [sp, #80]
	ldp	d8, d9, [sp, #96]
	ldp	d10, d11, [sp, #112]
	ldp	d12, d13, [sp, #128]
	ldp	d14, d15, [sp, #144]
	ldp	x29, x30, [sp], #160
	ret
	.size	fiber_switch, . - fiber_switch

/* New pages are zero: only where to begin is to be said. */
	.globl	fiber_stack
	.type	fiber_stack, %function
fiber_stack:
	sub	x0, x0, #160
	str	x1, [x0, #8]
	ret
	.size	fiber_stack, . - fiber_stack

#endif

	.section .note.GNU-stack, "", %progbits
