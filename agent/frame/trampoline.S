/* trampoline.S: the thunks and the way in and out of a hooked call (x86-64, System V).
 *
 * A thunk is 128 bytes of code of its own per site: its `call *original` has its own entry in the branch predictor, which a
 * shared indirect call at a thousand sites has not. The levels count and sample are done in it, with no branch taken before the
 * jump to the original: two more would cost them as much again. The full path builds a frame by rbp, so that unwinders,
 * exceptions and debuggers pass through by ordinary CFI, and copies stack arguments because the original must find them above
 * its return address.
 * Vector registers are never touched here or in the C code reached by the fast path (-mgeneral-regs-only); the slow path
 * saves them all. r10 and r11 are free: a lazily bound PLT call clobbers them too.
 */
#include "frame/layout.h"

#if defined(__x86_64__)

	.text

/* ---- way in. r11: the site's index; rbp: the thunk's frame; our return address at (%rsp) ---- */
	.p2align 6
	.type	hk_call_enter, @function
hk_call_enter:
	.cfi_startproc
	.cfi_def_cfa	rbp, 16
	.cfi_offset	rbp, -16
	movq	%rdi, HK_CALL_RDI(%rbp)
	movq	%rsi, HK_CALL_RSI(%rbp)
	movq	%rdx, HK_CALL_RDX(%rbp)
	movq	%rcx, HK_CALL_RCX(%rbp)
	movq	%r8, HK_CALL_R8(%rbp)
	movq	%r9, HK_CALL_R9(%rbp)
	movq	%rax, HK_CALL_RAX(%rbp)
	movl	%r11d, %eax
	leaq	hk_hot(%rip), %r10
	shlq	$6, %r11			/* HK_HOT_BYTES */
	addq	%r10, %r11
	movq	%r11, HK_CALL_SITE(%rbp)
.Lenter:					/* rax: the index; r11: struct hk_site_hot */
	movq	hk_thread_current@gottpoff(%rip), %r10
	movq	%fs:(%r10), %r10
	cmpl	$0, HK_THREAD_READY(%r10)
	je	.Lprepare
	movq	HK_THREAD_CELLS(%r10,%rax,8), %r8
	testq	%r8, %r8
	jz	.Lprepare
	prefetcht0 64(%r8)			/* the way out reads it: where the octaves are */
	movq	HK_THREAD_GENERATION(%r10), %rsi
	movl	(%rsi), %esi
	cmpl	HK_THREAD_SEEN(%r10), %esi
	jne	.Lprepare
	/* A call recorded as open but below us on the stack was abandoned. */
	movq	HK_THREAD_INNER(%r10), %rsi
	cmpq	%rsi, %rbp
	jae	.Lprepare
	movq	%r10, HK_CALL_THREAD(%rbp)
	movq	%r8, HK_CALL_CELL(%rbp)
	movq	%rsi, HK_CALL_OUTER(%rbp)
	movq	%rbp, HK_THREAD_INNER(%r10)
	movq	HK_THREAD_CHILD(%r10), %rcx
	movq	HK_THREAD_DOMAINS(%r10), %rdx
	movq	%rcx, HK_CALL_CHILD(%rbp)
	movq	%rdx, HK_CALL_DOMAINS(%rbp)
	orq	HK_HOT_DOMAIN(%r11), %rdx
	movq	$0, HK_THREAD_CHILD(%r10)
	movq	%rdx, HK_THREAD_DOMAINS(%r10)
	movl	HK_THREAD_DEPTH(%r10), %ecx
	movq	HK_THREAD_SLOT(%r10), %rdi
	movl	%ecx, HK_CALL_DEPTH(%rbp)
	movl	%ecx, %esi
	andl	$15, %esi
	shll	$4, %esi
	leaq	HK_SLOT_OPEN(%rdi,%rsi), %rsi	/* the open call's slot */
	incl	%ecx
	movq	%rbp, %rdx
	shlq	$28, %rdx			/* frame address / 16 in the upper half */
	orq	%rax, %rdx
	movq	%rdx, (%rsi)			/* site and frame, before depth shows them */
	movl	%ecx, HK_THREAD_DEPTH(%r10)
	movl	%ecx, HK_SLOT_DEPTH(%rdi)
	movzbl	HK_HOT_STACK_WORDS(%r11), %ecx
	testl	%ecx, %ecx
	jnz	.Lcopy
.Lclock:
	rdtsc					/* last: nothing of ours lies between the two clock reads but the way to the call */
	shlq	$32, %rdx
	orq	%rdx, %rax
.Lstarted:
	movq	%rax, HK_CALL_START(%rbp)
	movq	%rax, 8(%rsi)
	/* Not before the clock: on many processors rdtsc waits for it, and here it hides behind the way to the call. */
	incq	(%r8)				/* cell.calls */
	movq	HK_CALL_RAX(%rbp), %rax
	movq	HK_CALL_RDX(%rbp), %rdx
	movq	HK_CALL_RCX(%rbp), %rcx
	movq	HK_CALL_RSI(%rbp), %rsi
	movq	HK_CALL_RDI(%rbp), %rdi
	movq	HK_CALL_R8(%rbp), %r8
	ret

/* Copies ecx stack words from above the thunk's return address to the bottom of its frame: 8(%rsp), our own return address lies
 * below it. For a described function the words are its arguments. For another the count is a guess, and the words may run from
 * a fiber's topmost page into a guard page: then ask the kernel, which answers EFAULT instead of a signal; on the
 * main stack there is nothing to ask. The question reads a word to compare it and then wakes nobody; every sandbox lets futex
 * pass. They never touch more than two pages. */
.Lcopy:
	testb	$HK_STACK_WORDS_VECTOR, %cl
	jz	.Lwords_only
	.irp	number, 0, 1, 2, 3, 4, 5, 6, 7
	movq	%xmm\number, HK_CALL_VECTOR + 8 * \number(%rbp)
	.endr
.Lwords_only:
	andl	$HK_STACK_WORDS_MASK, %ecx
	jz	.Lcopied
	leaq	16(%rbp), %rdi
	cmpl	$HK_STACK_COPY_BYTES / 8, %ecx
	je	.Lguess
	ja	.Lwide
.Lwords:
	movq	-8(%rdi,%rcx,8), %rdx
	movq	%rdx, (%rsp,%rcx,8)
	decl	%ecx
	jnz	.Lwords
.Lcopied:
	cmpb	$0, hk_clock_by_call(%rip)
	je	.Lclock
	pushq	%rsi
	pushq	%r8
	subq	$8, %rsp			/* 16-byte alignment for C */
	call	hk_clock_read
	addq	$8, %rsp
	popq	%r8
	popq	%rsi
	movq	HK_CALL_R9(%rbp), %r9
	jmp	.Lstarted
/* More than the frame has room for: moves its lower end, and our return address with it. */
.Lwide:
	movzbl	HK_HOT_WIDE_WORDS(%r11), %ecx
	movq	(%rsp), %rax
	leal	1(%rcx), %edx
	andl	$-2, %edx			/* the stack stays aligned */
	negq	%rdx
	leaq	HK_CALL_VECTOR - 8(%rbp,%rdx,8), %rsp
	movq	%rax, (%rsp)
.Lguess:
	leaq	-1(%rdi,%rcx,8), %rdx
	andq	$-4096, %rdx			/* page of the last byte */
	cmpq	%rdi, %rdx
	jbe	.Lreadable			/* the first byte's page too */
	movq	hk_state_stack_top(%rip), %rax
	subq	%rdx, %rax
	cmpq	$HK_MAIN_STACK_BYTES, %rax
	jb	.Lreadable			/* the main stack, in one piece up to its top */
	movl	%ecx, HK_CALL_START(%rbp)
	movq	%rsi, HK_CALL_SCRATCH(%rbp)
	movq	%rdx, %rdi
	cmpb	$0, hk_state_watched(%rip)
	jne	.Lwatched
	movl	$202, %eax			/* futex(page, cmp requeue private, wake 0, requeue 0, cell, any) */
	movl	$132, %esi
	xorl	%edx, %edx
	xorl	%r10d, %r10d
	syscall
.Lanswered:
	movq	HK_CALL_SITE(%rbp), %r11
	movq	%rdi, %rdx
	leaq	16(%rbp), %rdi
	movq	HK_CALL_SCRATCH(%rbp), %rsi
	movl	HK_CALL_START(%rbp), %ecx
	cmpl	$-14, %eax
	jne	.Lreadable
	subq	%rdi, %rdx
	shrq	$3, %rdx			/* words below the guard page */
	movl	%edx, %ecx
	jnz	.Lwords
	jmp	.Lcopied
.Lmany:
	movq	%rsi, HK_CALL_SCRATCH(%rbp)
	movq	%rdi, %rsi
	leaq	8(%rsp), %rdi
	rep movsq
	movq	HK_CALL_SCRATCH(%rbp), %rsi
	jmp	.Lcopied
.Lwatched:
	pushq	%r8
	pushq	%rdi
	leaq	hk_state_read(%rip), %rax
	call	hk_state_saved_call
	popq	%rdi
	popq	%r8
	movq	HK_CALL_R9(%rbp), %r9
	jmp	.Lanswered
.Lreadable:
	cmpl	$HK_STACK_COPY_BYTES / 8, %ecx
	jne	.Lmany
	.set	word, 0
	.rept	HK_STACK_COPY_BYTES / 16
	movq	word(%rdi), %rdx
	movq	word + 8(%rdi), %rcx
	movq	%rdx, word + 8(%rsp)
	movq	%rcx, word + 16(%rsp)
	.set	word, word + 16
	.endr
	jmp	.Lcopied

/* Slow: all argument registers are in struct hk_call; vector and x87 state is saved around the C code. */
.Lprepare:
	movq	%rbp, %rdi
	subq	$HK_CALL_BYTES, %rdi
	movq	%r11, %rsi
	leaq	hk_call_prepare(%rip), %rax
	call	hk_state_saved_call
	movq	HK_CALL_SITE(%rbp), %r11
	movq	HK_CALL_R9(%rbp), %r9
	testl	%eax, %eax
	movl	HK_HOT_INDEX(%r11), %eax
	jnz	.Lenter
	/* Unmeasured: the stack words still have to be there, and something to count. */
	movq	$0, HK_CALL_THREAD(%rbp)
	leaq	HK_CALL_CELL(%rbp), %r8
	movzbl	HK_HOT_STACK_WORDS(%r11), %ecx
	leaq	HK_CALL_START(%rbp), %rsi	/* no open call: the clock's second copy goes to SCRATCH */
	testl	%ecx, %ecx
	jnz	.Lcopy
	jmp	.Lclock
	.cfi_endproc
	.size	hk_call_enter, . - hk_call_enter

/* ---- ways out, by the clock a site wants. rbp: the thunk's frame ---- */
	.macro	way_out name:req
	.p2align 6
	.globl	\name
	.hidden	\name
	.type	\name, @function
\name:
	.cfi_startproc
	.cfi_def_cfa	rbp, 16
	.cfi_offset	rbp, -16
	movq	%rax, HK_CALL_RAX(%rbp)
	movq	%rdx, HK_CALL_RESULT2(%rbp)
	.endm

	/* rax: ticks. C brings the results back, and returns to the thunk. */
	.macro	leave_call name:req
	leaq	-HK_CALL_BYTES(%rbp), %rdi
	movq	%rax, %rsi
	jmp	hk_call_leave
	.cfi_endproc
	.size	\name, . - \name
	.endm

	way_out	hk_call_exit
	rdtsc
	shlq	$32, %rdx
	orq	%rdx, %rax
	leave_call hk_call_exit

	way_out	hk_call_exit_ordered
	rdtscp					/* waits for the call's own instructions */
	shlq	$32, %rdx
	orq	%rdx, %rax
	leave_call hk_call_exit_ordered

	way_out	hk_call_exit_by_call
	subq	$8, %rsp
	call	hk_clock_read
	addq	$8, %rsp
	leave_call hk_call_exit_by_call

/* ---- what a thunk's own light path leaves alone: sites switched off, and calls for which the full path has something to do.
 * r11: the site's index; returns to the thunk, which jumps on, or into its full path ---- */
	.p2align 6
	.type	hk_call_light, @function
hk_call_light:
	.cfi_startproc
	.cfi_def_cfa_offset 16
	shlq	$6, %r11			/* HK_HOT_BYTES */
	leaq	hk_hot(%rip), %r10
	addq	%r10, %r11
	cmpb	$HK_CONTROL_PASS, HK_HOT_CONTROL(%r11)
	je	.Lpass
.Lcount:
	movq	hk_thread_current@gottpoff(%rip), %r10
	movq	%fs:(%r10), %r10
	cmpl	$0, HK_THREAD_READY(%r10)
	je	.Lfull
	cmpl	$0, HK_THREAD_COUNTDOWN(%r10)
	jns	.Llook
	/* Its turn to be timed: start the countdown anew. */
	movl	$HK_SAMPLE_PERIOD - 1, HK_THREAD_COUNTDOWN(%r10)
.Lfull:
	/* Return into the thunk's full path, behind its test of the control byte. */
	addq	$(hk_thunk_full - hk_thunk_light), (%rsp)
.Lreturn:
	ret
/* The full path makes the cell and heeds the new generation, but not for a signal handler while the agent is busy. */
.Llook:
	pushq	%rax
	.cfi_adjust_cfa_offset 8
	movl	HK_HOT_INDEX(%r11), %eax
	movq	HK_THREAD_CELLS(%r10,%rax,8), %r10
	movq	hk_inside@gottpoff(%rip), %rax
	cmpl	$0, %fs:(%rax)
	popq	%rax
	.cfi_adjust_cfa_offset -8
	je	.Lfull
	testq	%r10, %r10
	jz	.Lfull
	incq	(%r10)
	ret
.Lpass:
	movq	hk_process + HK_PROCESS_HEADER(%rip), %r10
	movl	HK_HEADER_GENERATION(%r10), %r10d
	cmpl	hk_generation_seen(%rip), %r10d
	je	.Lreturn
/* Levels may have changed: looks, and then asks the site again. */
	pushq	%rax
	pushq	%rdi
	pushq	%rsi
	pushq	%rdx
	pushq	%rcx
	pushq	%r8
	pushq	%r9
	pushq	%r11
	.cfi_adjust_cfa_offset 64
	leaq	hk_control_poll(%rip), %rax
	call	hk_state_saved_call
	popq	%r11
	popq	%r9
	popq	%r8
	popq	%rcx
	popq	%rdx
	popq	%rsi
	popq	%rdi
	popq	%rax
	.cfi_adjust_cfa_offset -64
	cmpb	$HK_CONTROL_LIGHT, HK_HOT_CONTROL(%r11)
	je	.Lcount
	jb	.Lfull
	jmp	.Lreturn
	.cfi_endproc
	.size	hk_call_light, . - hk_call_light

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
	/* xsave reads its header's reserved bytes back as faults unless they are zero. */
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

/* ---- the thunks ---- */
	.p2align 7
	.globl	hk_thunks
	.hidden	hk_thunks
	.type	hk_thunks, @object
hk_thunks:
	.set	site, 0
	.rept	HK_THUNKS
	.p2align 7
	.cfi_startproc
	endbr64
	cmpb	$HK_CONTROL_LIGHT, hk_hot + site * HK_HOT_BYTES + HK_HOT_CONTROL(%rip)
	jb	2f
	ja	1f
	movq	hk_thread_current@gottpoff(%rip), %r10
	movq	%fs:(%r10), %r10
	cmpl	$0, HK_THREAD_READY(%r10)
	je	1f
	movq	HK_THREAD_GENERATION(%r10), %r11
	movl	(%r11), %r11d
	cmpl	HK_THREAD_SEEN(%r10), %r11d
	jne	1f
	movl	hk_hot + site * HK_HOT_BYTES + HK_HOT_STEP(%rip), %r11d
	subl	%r11d, HK_THREAD_COUNTDOWN(%r10)
	js	1f
	movq	HK_THREAD_CELLS + site * 8(%r10), %r11
	testq	%r11, %r11
	jz	1f
	incq	(%r11)				/* cell.calls */
0:	jmp	*hk_hot + site * HK_HOT_BYTES + HK_HOT_ORIGINAL(%rip)
1:	movl	$site, %r11d
	call	hk_call_light
	.if site == 0
hk_thunk_light:
	.endif
	jmp	0b
2:
	.if site == 0
hk_thunk_full:
	.endif
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register rbp
	subq	$HK_FRAME_BYTES, %rsp
	movl	$site, %r11d
	call	hk_call_enter
	call	*hk_hot + site * HK_HOT_BYTES + HK_HOT_ORIGINAL(%rip)
	call	*hk_hot + site * HK_HOT_BYTES + HK_HOT_EXIT(%rip)
	leave
	.cfi_def_cfa rsp, 8
	ret
	.cfi_endproc
	.set	site, site + 1
	.endr
	.size	hk_thunks, . - hk_thunks

#endif

	.section .note.GNU-stack,"",@progbits
