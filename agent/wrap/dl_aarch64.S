/* Entries of the dl* wrappers on aarch64. dl_x86_64.S explains why they are not in C. The caller's return address stays in x30, where
 * the original expects it. */
#if defined(__aarch64__)

/* Saves the three arguments. */
	.macro keep
	stp	x29, x30, [sp, #-48]!
	.cfi_def_cfa_offset 48
	.cfi_offset x29, -48
	.cfi_offset x30, -40
	mov	x29, sp
	stp	x0, x1, [sp, #16]
	str	x2, [sp, #32]
	.endm

	.macro restore
	ldp	x0, x1, [sp, #16]
	ldr	x2, [sp, #32]
	ldp	x29, x30, [sp], #48
	.cfi_def_cfa_offset 0
	.cfi_restore x29
	.cfi_restore x30
	.endm

	.macro entry name
	.globl	\name
	.hidden	\name
	.type	\name, @function
	.p2align 4
\name:
	.cfi_startproc
	hint	#34				/* bti c */
	.endm

	.macro leave_entry name, index
	adrp	x16, hk_wrapped_originals + 8 * \index
	ldr	x16, [x16, :lo12:hk_wrapped_originals + 8 * \index]
	br	x16
	.cfi_endproc
	.size	\name, . - \name
	.endm

/* Scans for new objects, then jumps to the original. */
	.macro pass name, index
	entry	\name
	keep
	bl	hk_patch_rescan
	restore
	leave_entry \name, \index
	.endm

/* Asks whether the agent has done the look-up, and returns its address, else jumps to the original. The caller's address is argument
 * number four. */
	.macro look name, index, version
	entry	\name
	keep
	.ifb \version
	mov	x2, xzr
	.endif
	mov	x3, x30
	bl	hk_lookup_symbol
	.cfi_remember_state
	cbz	x1, 0f
	ldp	x29, x30, [sp], #48
	.cfi_def_cfa_offset 0
	.cfi_restore x29
	.cfi_restore x30
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
	mov	x1, x30
	bl	hk_dl_framed
	mov	w9, w0
	restore
	cbnz	w9, hk_dl_open
	leave_entry hk_dl_stub_open, 0

	pass	hk_dl_stub_mopen, 1
	look	hk_dl_stub_sym, 3
	look	hk_dl_stub_vsym, 4, version

/* Notes which system call follows, then jumps to the original. */
	entry	hk_dl_stub_syscall
	keep
	stp	x3, x4, [sp, #-32]!
	.cfi_def_cfa_offset 80
	stp	x5, x6, [sp, #16]
	bl	hk_sandbox_syscall
	ldp	x5, x6, [sp, #16]
	ldp	x3, x4, [sp], #32
	.cfi_def_cfa_offset 48
	restore
	leave_entry hk_dl_stub_syscall, 10

	/* Every target of an indirect jump in this file begins with `bti c`. */
	.section .note.gnu.property,"a"
	.p2align 3
	.word	4, 16, 5			/* sizes of name and content; NT_GNU_PROPERTY_TYPE_0 */
	.asciz	"GNU"
	.word	0xc0000000, 4, 1, 0		/* GNU_PROPERTY_AARCH64_FEATURE_1_AND: BTI */

#endif

	.section .note.GNU-stack, "", @progbits
