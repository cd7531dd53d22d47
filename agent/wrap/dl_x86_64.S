/* Entries of the dl* wrappers. They jump to the original, which a compiler does not guarantee: with a frame of the agent on the stack,
 * the loader would take the agent for the caller, and use its RUNPATH and its place in the search order. */

#if defined(__x86_64__)

/* Saves the three arguments. The stack is 16-byte aligned for the call that follows. */
	.macro keep
	endbr64
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	pushq	%rdx
	.cfi_adjust_cfa_offset 8
	.endm

	.macro restore
	popq	%rdx
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	.endm

	.macro entry name
	.globl	\name
	.hidden	\name
	.type	\name, @function
	.p2align 4
\name:
	.cfi_startproc
	.endm

	.macro leave_entry name, index
	jmpq	*(hk_wrapped_originals + 8 * \index)(%rip)
	.cfi_endproc
	.size	\name, . - \name
	.endm

/* Scans for new objects, then jumps to the original. */
	.macro pass name, index
	entry	\name
	keep
	call	hk_patch_rescan
	restore
	leave_entry \name, \index
	.endm

/* Asks whether the agent has done the look-up, and returns its address, else jumps to the original. The caller's address is argument
 * number four. */
	.macro look name, index, version
	entry	\name
	keep
	.ifb \version
	xorl	%edx, %edx
	.endif
	movq	24(%rsp), %rcx
	call	hk_lookup_symbol
	.cfi_remember_state
	testq	%rdx, %rdx
	jz	0f
	addq	$24, %rsp
	.cfi_adjust_cfa_offset -24
	ret
0:	.cfi_restore_state
	restore
	leave_entry \name, \index
	.endm

	.hidden	hk_wrapped_originals
	.hidden	hk_patch_rescan
	.hidden	hk_dl_framed
	.hidden	hk_dl_open
	.hidden	hk_lookup_symbol
	.hidden	hk_sandbox_syscall

	.text
	entry	hk_dl_stub_open
	keep
	movq	24(%rsp), %rsi
	call	hk_dl_framed
	restore
	testl	%eax, %eax
	jnz	hk_dl_open
	leave_entry hk_dl_stub_open, 0

	pass	hk_dl_stub_mopen, 1
	look	hk_dl_stub_sym, 3
	look	hk_dl_stub_vsym, 4, version

/* Notes which system call follows, then jumps to the original. The seventh argument lies on the stack, if there is one. Otherwise that
 * word is the caller's, and another thread may be writing to it. */
	entry	hk_dl_stub_syscall
	keep
	pushq	%rcx
	.cfi_adjust_cfa_offset 8
	pushq	%r8
	.cfi_adjust_cfa_offset 8
	pushq	%r9
	.cfi_adjust_cfa_offset 8
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	hk_sandbox_syscall
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%r9
	.cfi_adjust_cfa_offset -8
	popq	%r8
	.cfi_adjust_cfa_offset -8
	popq	%rcx
	.cfi_adjust_cfa_offset -8
	restore
	leave_entry hk_dl_stub_syscall, 10

#endif

	.section .note.GNU-stack, "", @progbits
