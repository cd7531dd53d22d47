/* state_x86_64.S: calls slow functions with the host's vector and x87 registers saved (x86-64, System V). */
#if defined(__x86_64__)

	.text

/* int hk_state_saved(int (*function)(void *, void *), void *, void *): the same from C. */
	.p2align 4
	.globl	hk_state_saved
	.hidden	hk_state_saved
	.type	hk_state_saved, @function
hk_state_saved:
	.cfi_startproc
	movq	%rdi, %rax
	movq	%rsi, %rdi
	movq	%rdx, %rsi
	jmp	hk_state_saved_call
	.cfi_endproc
	.size	hk_state_saved, . - hk_state_saved

/* ---- runs rax(rdi, rsi) with every vector and x87 register saved; result in eax ---- */
	.p2align 4
	.globl	hk_state_saved_call
	.hidden	hk_state_saved_call
	.type	hk_state_saved_call, @function
hk_state_saved_call:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register rbp
	pushq	%rbx
	pushq	%r12
	.cfi_offset rbx, -24
	.cfi_offset r12, -32
	movq	%rax, %r12
	movl	hk_state_bytes(%rip), %ecx
	subq	%rcx, %rsp
	andq	$-64, %rsp
	movq	%rsp, %rbx
	movl	hk_state_mask(%rip), %eax
	testl	%eax, %eax
	jz	.Lfxsave
	/* xrstor faults unless the reserved bytes of xsave's header are zero. */
	xorl	%edx, %edx
	movq	$0, 512(%rbx)
	movq	$0, 520(%rbx)
	movq	$0, 528(%rbx)
	movq	$0, 536(%rbx)
	movq	$0, 544(%rbx)
	movq	$0, 552(%rbx)
	movq	$0, 560(%rbx)
	movq	$0, 568(%rbx)
	xsave	(%rbx)
	cld
	call	*%r12
	movl	%eax, %r12d
	movl	hk_state_mask(%rip), %eax
	xorl	%edx, %edx
	xrstor	(%rbx)
	jmp	.Lrestored
.Lfxsave:
	fxsave64 (%rbx)
	cld
	call	*%r12
	movl	%eax, %r12d
	fxrstor64 (%rbx)
.Lrestored:
	movl	%r12d, %eax
	leaq	-16(%rbp), %rsp
	popq	%r12
	popq	%rbx
	popq	%rbp
	.cfi_def_cfa rsp, 8
	ret
	.cfi_endproc
	.size	hk_state_saved_call, . - hk_state_saved_call

#endif

	.section .note.GNU-stack,"",@progbits
