/* trampoline_spare.S: the spare thunks (x86-64, System V). They only count and jump: the agent has no frame on the stack, so unwinders
 * need not know about them. r10 and r11 are free, as in every thunk. */
#include "agent/record/layout.h"

#if defined(__x86_64__)

	.text
/* r11: the thunk's number. */
	.p2align 6
	.type	hk_spare_enter, @function
hk_spare_enter:
	.cfi_startproc
	movq	hk_thread_current@gottpoff(%rip), %r10
	movq	%fs:(%r10), %r10
	cmpl	$0, HK_THREAD_READY(%r10)
	je	.Lslow
	pushq	%rax
	.cfi_adjust_cfa_offset 8
	movq	HK_THREAD_GENERATION(%r10), %rax
	movl	(%rax), %eax
	cmpl	HK_THREAD_SEEN(%r10), %eax
	jne	.Lrestore
	movq	HK_THREAD_SPARE(%r10), %rax
	testq	%rax, %rax
	jz	.Lrestore
	movq	(%rax,%r11,8), %rax
	testq	%rax, %rax
	jz	.Lrestore
	shlq	$6, %r11			/* HK_HOT_BYTES */
	addq	hk_spare_hot(%rip), %r11
	cmpb	$HK_CONTROL_PASS, HK_HOT_CONTROL(%r11)
	je	1f
	incq	(%rax)				/* cell.calls */
1:	popq	%rax
	.cfi_adjust_cfa_offset -8
	jmp	*HK_HOT_ORIGINAL(%r11)
.Lrestore:
	.cfi_adjust_cfa_offset 8
	popq	%rax
	.cfi_adjust_cfa_offset -8
/* The thread's state is incomplete, or levels may have changed. */
.Lslow:
	.irp	register, rax, rdi, rsi, rdx, rcx, r8, r9, r11, r11	/* an odd number, for C */
	pushq	%\register
	.cfi_adjust_cfa_offset 8
	.endr
	call	hk_state_has_room
	testb	%al, %al
	jz	1f
	movq	(%rsp), %rdi			/* r11 */
	leaq	hk_spare_count(%rip), %rax
	call	hk_state_saved_call
1:	.irp	register, r11, r11, r9, r8, rcx, rdx, rsi, rdi, rax
	popq	%\register
	.cfi_adjust_cfa_offset -8
	.endr
	shlq	$6, %r11
	addq	hk_spare_hot(%rip), %r11
	jmp	*HK_HOT_ORIGINAL(%r11)
	.cfi_endproc
	.size	hk_spare_enter, . - hk_spare_enter

	.p2align 6
	.globl	hk_spare_thunks
	.hidden	hk_spare_thunks
	.type	hk_spare_thunks, @object
hk_spare_thunks:
	.cfi_startproc
	.set	number, 0
	.rept	HK_SPARE_THUNKS
	endbr64
	movl	$number, %r11d
	.byte	0xe9				/* jmp, never a short one */
	.long	hk_spare_enter - . - 4
	.byte	0xcc
	.set	number, number + 1
	.endr
	.cfi_endproc
	.if	. - hk_spare_thunks != HK_SPARE_THUNKS * HK_SPARE_THUNK_BYTES
	.error	"HK_SPARE_THUNK_BYTES"
	.endif
	.size	hk_spare_thunks, . - hk_spare_thunks

#endif

	.section .note.GNU-stack,"",@progbits
