/* trampoline.S: the thunks and the way in and out of a hooked call (x86-64, System V).
 *
 * A thunk is a cache line of code of its own per site: its `call *original` has its own entry in the branch predictor, which a
 * shared indirect call at a thousand sites has not. It builds a frame by rbp, so that unwinders, exceptions and debuggers pass
 * through by ordinary CFI, and copies the stack arguments of a described function, because the original must find them above its
 * return address. How many an undescribed function takes is not known: such a call has no frame (trampoline_stay.S). The levels
 * count and sample are done in a line besides, with no call: that and its return would cost them as much again. Those lines lie
 * apart, because what fetches code ahead fetches the line behind, which had better be another thunk.
 * Vector registers are never touched here or in the C code reached by the fast path (-mgeneral-regs-only); the slow path
 * saves them all. r10 and r11 are free: a lazily bound PLT call clobbers them too.
 */
#include "agent/record/layout.h"

#if defined(__x86_64__)

	.text

/* ---- way in. r10: the site's index; r11: struct hk_site_hot; rbp: the thunk's frame; our return address at (%rsp) ---- */
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
	movq	%r11, HK_CALL_SITE(%rbp)
.Lenter:
	movq	hk_thread_current@gottpoff(%rip), %rax
	movq	%fs:(%rax), %rax
	/* A call recorded as open, but below this frame on the stack, was abandoned. 0: the thread is not ready, and nothing else of it
	 * may be read. */
	movq	HK_THREAD_INNER(%rax), %rdx
	cmpq	%rdx, %rbp
	jae	.Lprepare
	movq	HK_THREAD_CELLS(%rax,%r10,8), %rcx
	testq	%rcx, %rcx
	jz	.Lprepare
	prefetchw (%rcx)			/* needed after the clock is read, which does not wait for prefetches */
	prefetcht0 64(%rcx)			/* offsets of the octaves, which the way out reads */
	movq	%rdx, HK_CALL_OUTER(%rbp)
	movq	HK_THREAD_GENERATION(%rax), %rdx
	movl	(%rdx), %edx
	cmpl	HK_THREAD_SEEN(%rax), %edx
	jne	.Lprepare
	movq	%rax, HK_CALL_THREAD(%rbp)
	movq	%rcx, HK_CALL_CELL(%rbp)
	movq	%rbp, HK_THREAD_INNER(%rax)
	movq	HK_THREAD_CHILD(%rax), %rdx
	movq	%rdx, HK_CALL_CHILD(%rbp)
	movq	$0, HK_THREAD_CHILD(%rax)
	movq	HK_THREAD_DOMAINS(%rax), %rdx
	movq	%rdx, HK_CALL_DOMAINS(%rbp)
	orq	HK_HOT_DOMAIN(%r11), %rdx
	movq	%rdx, HK_THREAD_DOMAINS(%rax)
	movl	HK_HOT_NUMBER(%r11), %r10d
	andl	$HK_NUMBER_MASK, %r10d
	movq	%rbp, %rdx
	shlq	$28, %rdx			/* frame address / 16 in the upper half */
	orq	%rdx, %r10
	movl	HK_THREAD_DEPTH(%rax), %edx
	movl	%edx, HK_CALL_DEPTH(%rbp)
	movl	%edx, %esi
	andl	$15, %esi
	shll	$4, %esi
	incl	%edx
	movl	%edx, HK_THREAD_DEPTH(%rax)
	movq	HK_THREAD_SLOT(%rax), %rax
	addq	%rax, %rsi			/* the open call's slot, HK_SLOT_OPEN further on */
	movq	%r10, HK_SLOT_OPEN(%rsi)	/* site and frame, before depth shows them */
	movl	%edx, HK_SLOT_DEPTH(%rax)
	testb	$~HK_STACK_WORDS_WORK, HK_HOT_STACK_WORDS(%r11)
	jne	.Lcopy
.Lclock:
	rdtsc					/* last: only the jump to the original lies between the two clock reads */
	shlq	$32, %rdx
	orq	%rdx, %rax
	testb	$HK_STACK_WORDS_WORK, HK_HOT_STACK_WORDS(%r11)
	jnz	.Lwork
.Lstarted:
	movq	%rax, HK_CALL_START(%rbp)
	movq	%rax, HK_SLOT_OPEN + 8(%rsi)
	/* After the clock: on many processors rdtsc would wait for it, and here the call hides it. */
	incq	(%rcx)				/* cell.calls */
	movq	HK_CALL_RAX(%rbp), %rax
	movq	HK_CALL_RDX(%rbp), %rdx
	movq	HK_CALL_RCX(%rbp), %rcx
	movq	HK_CALL_RSI(%rbp), %rsi
	ret

/* The part that the short way in does not handle. Stack words of a described function are copied from above the thunk's return address
 * to the bottom of its frame, 8(%rsp). The return address of this call lies below them. The lower end of the frame moves to where the
 * copy has the alignment of the original, and the return address moves with it. */
.Lcopy:
	movq	%rcx, %r8
	testb	$HK_STACK_WORDS_VECTOR, HK_HOT_STACK_WORDS(%r11)
	jz	.Lno_vectors
	.irp	number, 0, 1, 2, 3, 4, 5, 6, 7
	movq	%xmm\number, HK_CALL_VECTOR + 8 * \number(%rbp)
	.endr
.Lno_vectors:
	testb	$HK_STACK_WORDS_COPIED, HK_HOT_STACK_WORDS(%r11)
	jz	.Lcopied
	movzbl	HK_HOT_COPIED_WORDS(%r11), %ecx
	movq	(%rsp), %rax
	leaq	16(%rbp), %rdi
	leaq	(,%rcx,8), %rdx
	subq	%rdx, %rsp			/* highest start of the copy, before alignment */
	leaq	8(%rsp), %rdx
	subq	%rdi, %rdx
	andl	$HK_STACK_ALIGNMENT - 1, %edx
	subq	%rdx, %rsp
	movq	%rax, (%rsp)
	cmpl	$16, %ecx
	ja	.Lmany
.Lwords:
	movq	-8(%rdi,%rcx,8), %rdx
	movq	%rdx, (%rsp,%rcx,8)
	decl	%ecx
	jnz	.Lwords
.Lcopied:
	movq	%r8, %rcx
	movq	HK_CALL_RDI(%rbp), %rdi
	movq	HK_CALL_R8(%rbp), %r8
	movq	HK_CALL_SITE(%rbp), %r11
	cmpb	$0, hk_clock_by_call(%rip)
	je	.Lclock
	jmp	.Lask
	/* A short stretch of work is counted on the way out (work.h). */
.Lwork:
	movq	HK_CALL_THREAD(%rbp), %r10
	testq	%r10, %r10
	jz	.Lstarted
	cmpq	HK_THREAD_LONG_FROM(%r10), %rax
	jb	.Lstarted
.Lask:
	pushq	%rsi
	pushq	%rcx
	subq	$8, %rsp			/* 16-byte alignment for C */
	leaq	-HK_CALL_BYTES(%rbp), %rdi
	call	hk_work_end
	addq	$8, %rsp
	popq	%rcx
	popq	%rsi
	movq	HK_CALL_RDI(%rbp), %rdi
	movq	HK_CALL_R8(%rbp), %r8
	movq	HK_CALL_R9(%rbp), %r9
	jmp	.Lstarted
.Lmany:
	movq	%rsi, HK_CALL_SCRATCH(%rbp)
	movq	%rdi, %rsi
	leaq	8(%rsp), %rdi
	rep movsq
	movq	HK_CALL_SCRATCH(%rbp), %rsi
	jmp	.Lcopied

/* The slow way in. All argument registers are in struct hk_call. Vector and x87 state is saved around the C code, where there is room
 * for it. */
.Lprepare:
	subq	$8, %rsp			/* 16-byte alignment for C */
	call	hk_state_has_room
	addq	$8, %rsp
	movzbl	%al, %eax
	testl	%eax, %eax
	jz	.Lprepared
	movq	HK_CALL_SITE(%rbp), %r11
	movq	%rbp, %rdi
	subq	$HK_CALL_BYTES, %rdi
	movq	%r11, %rsi
	leaq	hk_call_prepare(%rip), %rax
	call	hk_state_saved_call
.Lprepared:
	movq	HK_CALL_SITE(%rbp), %r11
	movq	HK_CALL_RDI(%rbp), %rdi
	movq	HK_CALL_R8(%rbp), %r8
	movq	HK_CALL_R9(%rbp), %r9
	movl	HK_HOT_INDEX(%r11), %r10d
	testl	%eax, %eax
	jnz	.Lenter
	/* An unmeasured call still needs its stack words, and fields to count in. */
	movq	$0, HK_CALL_THREAD(%rbp)
	leaq	HK_CALL_CELL(%rbp), %rcx
	leaq	HK_CALL_START - HK_SLOT_OPEN(%rbp), %rsi /* no open call: the clock's second copy goes to SCRATCH */
	testb	$~HK_STACK_WORDS_WORK, HK_HOT_STACK_WORDS(%r11)
	jne	.Lcopy
	jmp	.Lclock
	.cfi_endproc
	.size	hk_call_enter, . - hk_call_enter

/* ---- ways out ---- */

/* A way out for each kind of clock. rbp: the thunk's frame. They return to the thunk's caller. A thunk jumps to the first one directly:
 * for a thousand sites the branch predictor has no room for an indirect jump of each. */
	.macro	way_out name:req
	.type	\name, @function
\name:
	.cfi_startproc
	.cfi_def_cfa	rbp, 16
	.cfi_offset	rbp, -16
	.endm

	/* Does what hk_call_leave does, for usual calls. Other calls go to hk_call_leave, before anything is written. rdx:rax: the
	 * clock; r11: struct hk_site_hot. */
	.macro	leave_call name:req
	shlq	$32, %rdx
	orq	%rdx, %rax
	movq	%rax, HK_CALL_SCRATCH(%rbp)	/* the end */
\name\()_timed:
	movq	HK_CALL_THREAD(%rbp), %r10
	movq	hk_thread_current@gottpoff(%rip), %rcx
	cmpq	%r10, %fs:(%rcx)
	jne	9f
	movq	HK_CALL_CELL(%rbp), %r8
	subq	HK_CALL_START(%rbp), %rax
	addq	%rax, %rax			/* HK_CLOCK_TICK_SHIFT */
	mulq	HK_THREAD_TICK_NS(%r10)		/* rdx: nanoseconds */
	movq	%rdx, %rcx
	orq	$32, %rcx
	bsrq	%rcx, %rax
	leal	-5(%rax), %ecx			/* shift of the duration to its bucket */
	cmpq	$32, %rdx
	sbbl	$4, %eax			/* the octave */
	cmpl	$26, %eax
	ja	9f				/* more than 31 bits, or the clock went back */
	cmpq	HK_CELL_MAX(%r8), %rdx
	ja	9f
	cmpq	HK_CELL_MIN(%r8), %rdx
	jb	9f
	cmpq	$1, HK_THREAD_READY(%r10)	/* and not busy */
	jne	9f
	cmpq	%rbp, HK_THREAD_INNER(%r10)
	jne	9f
	cmpl	$15, HK_CALL_DEPTH(%rbp)
	ja	9f				/* an earlier call had this entry */
	movl	HK_CELL_OCTAVE(%r8,%rax,4), %esi
	testl	%esi, %esi
	jz	9f
	movzbl	HK_HOT_FLAGS(%r11), %edi
	testb	$(HK_FLAG_UNUSUAL | HK_FLAG_NULL), %dil
	jnz	6f
1:	movq	%rdx, %rax
	shrq	%cl, %rax
	andl	$31, %eax
	leaq	(%rsi,%rax,8), %rsi
	addq	HK_THREAD_SEGMENT(%r10), %rsi	/* the bucket */
	testb	$HK_FLAG_RECORD, %dil
	jz	3f
	movl	HK_CALL_DEPTH(%rbp), %eax
	incl	%eax
	/* Set before the end of the chain is read: from here on signal handlers write no records there. */
	movl	%eax, HK_THREAD_BUSY(%r10)
	movzbl	HK_HOT_STREAM(%r11), %eax
	leaq	(%rax,%rax,2), %rax
	leaq	HK_THREAD_CHAIN(%r10,%rax,8), %rdi
	movq	HK_CHAIN_CURSOR(%rdi), %rcx
	movzbl	HK_HOT_PAYLOAD(%r11), %eax
	leaq	16(%rcx,%rax,8), %r9
	cmpq	HK_CHAIN_END(%rdi), %r9
	ja	8f
	testl	%eax, %eax
	jnz	7f
2:	prefetchw 8 * HK_RECORDS_AHEAD_WORDS(%rcx)
	movq	HK_CALL_START(%rbp), %rax
	movq	%rax, (%rcx)
	movq	HK_HOT_WORD1(%r11), %rax
	orq	%rdx, %rax
	movq	%rax, 8(%rcx)
	movq	%r9, HK_CHAIN_CURSOR(%rdi)
	movq	HK_CHAIN_PAGE(%rdi), %rax
	subq	$HK_PAGE_BODY, %r9
	subq	%rax, %r9
	movq	%r9, HK_PAGE_WRITTEN(%rax)
	movl	$0, HK_THREAD_BUSY(%r10)
3:	incq	(%rsi)
	addq	%rdx, HK_CELL_TOTAL(%r8)
	movq	%rdx, %rax
	subq	HK_THREAD_CHILD(%r10), %rax
	jb	4f				/* the clock went back */
	addq	%rax, HK_CELL_SELF(%r8)
4:	movq	HK_CALL_DOMAINS(%rbp), %rcx
	movq	%rcx, HK_THREAD_DOMAINS(%r10)
	testq	%rcx, HK_HOT_DOMAIN(%r11)
	jnz	16f
	addq	%rdx, HK_CELL_OUTERMOST(%r8)
5:	addq	HK_CALL_CHILD(%rbp), %rdx
	movq	%rdx, HK_THREAD_CHILD(%r10)
	movq	HK_CALL_OUTER(%rbp), %rax
	movq	%rax, HK_THREAD_INNER(%r10)
	movl	HK_CALL_DEPTH(%rbp), %eax
	movl	%eax, HK_THREAD_DEPTH(%r10)
	movq	HK_THREAD_SLOT(%r10), %rcx
	movl	%eax, HK_SLOT_DEPTH(%rcx)
	movq	HK_CALL_RAX(%rbp), %rax
	movq	HK_CALL_RESULT2(%rbp), %rdx
	.cfi_remember_state
	leave
	.cfi_def_cfa	rsp, 8
	ret
	.cfi_restore_state
16:	incq	HK_CELL_INNER(%r8)
	jmp	5b
6:	testb	$HK_FLAG_UNUSUAL, %dil
	jz	14f
	/* Only values or errors are unusual. rdi, rsi, rdx become the call, its nanoseconds, its bucket. */
	andb	$(HK_FLAG_QUICK | HK_FLAG_LAZY), %dil
	cmpb	$HK_FLAG_QUICK, %dil
	jne	9f
	movq	%rdx, %rax
	shrq	%cl, %rax
	andl	$31, %eax
	leaq	(%rsi,%rax,8), %rax
	addq	HK_THREAD_SEGMENT(%r10), %rax
	movq	%rdx, %rsi
	movq	%rax, %rdx
	leaq	-HK_CALL_BYTES(%rbp), %rdi
	call	hk_call_leave_described		/* returns the results */
	.cfi_remember_state
	leave
	.cfi_def_cfa	rsp, 8
	ret
	.cfi_restore_state
14:	cmpq	$0, HK_CALL_RAX(%rbp)
	jne	1b
	jmp	9f
	/* The words, the last one first. */
7:	movzbl	HK_HOT_WORD - 1(%r11,%rax), %r8d
	testb	$(HK_WORD_SIGN32 | HK_WORD_ZERO32), %r8b
	jnz	11f
	movq	-HK_CALL_BYTES(%rbp,%r8,8), %r8
10:	movq	%r8, 8(%rcx,%rax,8)
	decl	%eax
	jnz	7b
	movq	HK_CALL_CELL(%rbp), %r8
	jmp	2b
11:	testb	$HK_WORD_SIGN32, %r8b
	jnz	12f
	andl	$HK_WORD_INDEX, %r8d
	movl	-HK_CALL_BYTES(%rbp,%r8,8), %r8d
	jmp	10b
12:	testb	$HK_WORD_ZERO32, %r8b
	jnz	13f
	andl	$HK_WORD_INDEX, %r8d
	movslq	-HK_CALL_BYTES(%rbp,%r8,8), %r8
	jmp	10b
	/* The address of an int, or 0. */
13:	andl	$HK_WORD_INDEX, %r8d
	movq	-HK_CALL_BYTES(%rbp,%r8,8), %r8
	testq	%r8, %r8
	jz	10b
	movslq	(%r8), %r8
	jmp	10b
8:	movl	$0, HK_THREAD_BUSY(%r10)
	/* If the pool was found empty a moment ago, the record is lost and counted. */
	movzbl	HK_HOT_STREAM(%r11), %eax
	leaq	hk_thread_dry_until(%rip), %rcx
	movq	HK_CALL_START(%rbp), %rdi
	subq	(%rcx,%rax,8), %rdi
	jns	9f
	leaq	(%rax,%rax,2), %rax
	movq	HK_THREAD_SLOT(%r10), %rcx
	incq	HK_SLOT_LOST(%rcx,%rax,8)
	jmp	3b
9:	movq	HK_CALL_SCRATCH(%rbp), %rsi
	leaq	-HK_CALL_BYTES(%rbp), %rdi
	call	hk_call_leave			/* returns the results */
	leave
	.cfi_def_cfa	rsp, 8
	ret
	.cfi_endproc
	.size	\name, . - \name
	.endm

	.p2align 6
	way_out	hk_call_exit
	movq	HK_CALL_SITE(%rbp), %r11
	movq	%rax, HK_CALL_RAX(%rbp)
	movq	%rdx, HK_CALL_RESULT2(%rbp)
	cmpb	$HK_EXIT_UNORDERED, HK_HOT_EXIT(%r11)
	jne	hk_call_exit_ordered
	rdtsc
	leave_call hk_call_exit

	.globl	hk_call_exit_ordered_timed
	.hidden	hk_call_exit_ordered_timed
	.p2align 6
	way_out	hk_call_exit_ordered
	cmpb	$HK_EXIT_ORDERED, HK_HOT_EXIT(%r11)
	je	15f
	call	hk_clock_read
	movq	%rax, HK_CALL_SCRATCH(%rbp)
	jmp	9f
15:	rdtscp					/* waits for the call's own instructions */
	leave_call hk_call_exit_ordered

/* ---- calls that a light path does not handle ---- */

/* Calls of sites that are off, calls that need the full path, and calls without a frame. The light path that called identifies the
 * site. Returns there, and the light path jumps to r11, or into the thunk's full path. */
	.p2align 6
	.type	hk_call_light, @function
hk_call_light:
	.cfi_startproc
	.cfi_def_cfa_offset 16
	leaq	hk_thunks_light(%rip), %r10
	movq	(%rsp), %r11
	subq	%r10, %r11
	shrq	$7, %r11			/* LIGHT_BYTES */
	shlq	$6, %r11			/* HK_HOT_BYTES */
	leaq	hk_hot(%rip), %r10
	addq	%r10, %r11
	cmpb	$HK_CONTROL_PASS, HK_HOT_CONTROL(%r11)
	je	.Lpass
	ja	hk_call_stay
.Lcount:
	movq	hk_thread_current@gottpoff(%rip), %r10
	movq	%fs:(%r10), %r10
	cmpl	$0, HK_THREAD_READY(%r10)
	je	.Lunready
	cmpl	$0, HK_THREAD_COUNTDOWN(%r10)
	jg	.Llook
	/* The call is to be timed. */
	pushq	%rax
	.cfi_adjust_cfa_offset 8
	movl	HK_THREAD_TURNS(%r10), %eax
	addl	$HK_SAMPLE_STEP, %eax
	movl	%eax, HK_THREAD_TURNS(%r10)
	shrl	$HK_SAMPLE_SHIFT, %eax
	addl	$HK_SAMPLE_LEAST, %eax
	movl	%eax, HK_THREAD_COUNTDOWN(%r10)
	popq	%rax
	.cfi_adjust_cfa_offset -8
.Lfull:
	testb	$HK_STACK_WORDS_STAY, HK_HOT_STACK_WORDS(%r11)
	jnz	hk_call_stay
	/* Returns into the thunk's full path, after its test of the control byte. A thunk has the size of its site's line. */
	leaq	hk_hot(%rip), %r10
	subq	%r10, %r11
	leaq	hk_thunk_full(%rip), %r10
	addq	%r10, %r11
	movq	%r11, (%rsp)
	ret
.Lreturn:
	movq	HK_HOT_ORIGINAL(%r11), %r11
	ret
.Lunready:
	movl	$0, HK_THREAD_COUNTDOWN(%r10)	/* calls have decremented it */
	jmp	.Lfull
/* The full path makes the cell and applies the new generation, except in a signal handler that interrupted the agent. */
.Llook:
	pushq	%rax
	.cfi_adjust_cfa_offset 8
	movl	HK_HOT_INDEX(%r11), %eax
	movq	HK_THREAD_CELLS(%r10,%rax,8), %r10
	movq	hk_in_agent@gottpoff(%rip), %rax
	cmpl	$0, %fs:(%rax)
	popq	%rax
	.cfi_adjust_cfa_offset -8
	je	.Lfull
	testq	%r10, %r10
	jz	.Lfull
	incq	(%r10)
	jmp	.Lreturn
.Lpass:
	movq	hk_process + HK_PROCESS_HEADER(%rip), %r10
	movl	HK_HEADER_GENERATION(%r10), %r10d
	cmpl	hk_generation_seen(%rip), %r10d
	je	.Lreturn
/* Levels may have changed: applies them, then reads the site's control again. */
	.irp	register, rax, rdi, rsi, rdx, rcx, r8, r9, r11
	pushq	%\register
	.cfi_adjust_cfa_offset 8
	.endr
	call	hk_state_may_save
	testb	%al, %al
	jz	1f				/* a later call applies them */
	leaq	hk_control_poll(%rip), %rax
	call	hk_state_saved_call
1:	.irp	register, r11, r9, r8, rcx, rdx, rsi, rdi, rax
	popq	%\register
	.cfi_adjust_cfa_offset -8
	.endr
	cmpb	$HK_CONTROL_PASS, HK_HOT_CONTROL(%r11)
	jb	.Lpoll_counts
	je	.Lreturn
	jmp	hk_call_stay
.Lpoll_counts:
	cmpb	$HK_CONTROL_LIGHT, HK_HOT_CONTROL(%r11)
	je	.Lcount
	jmp	.Lfull
	.cfi_endproc
	.size	hk_call_light, . - hk_call_light

/* ---- the thunks ---- */
	.set	LIGHT_BYTES, HK_LIGHT_BYTES
	.set	LIGHT_ASIDE, 64
	.p2align 6
	.globl	hk_thunks
	.hidden	hk_thunks
	.type	hk_thunks, @object
hk_thunks:
	.set	site, 0
	.rept	HK_THUNKS
	.org	hk_thunks + site * HK_THUNK_BYTES
	.cfi_startproc
	endbr64
	cmpb	$HK_CONTROL_LIGHT, hk_hot + site * HK_HOT_BYTES + HK_HOT_CONTROL(%rip)
	ja	hk_thunks_light + site * LIGHT_BYTES + LIGHT_ASIDE
	je	hk_thunks_light + site * LIGHT_BYTES
	.if site == 0
hk_thunk_full:
	.endif
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register rbp
	subq	$HK_FRAME_BYTES, %rsp
	leaq	hk_hot + site * HK_HOT_BYTES(%rip), %r11
	movl	$site, %r10d
	call	hk_call_enter
	call	*hk_hot + site * HK_HOT_BYTES + HK_HOT_ORIGINAL(%rip)
	jmp	hk_call_exit
	.cfi_endproc
	.set	site, site + 1
	.endr
	.org	hk_thunks + HK_THUNKS * HK_THUNK_BYTES
	.size	hk_thunks, . - hk_thunks

/* ---- their light paths ---- */
	.p2align 6
	.globl	hk_thunks_light
	.hidden	hk_thunks_light
	.type	hk_thunks_light, @object
hk_thunks_light:
	.cfi_startproc
	.set	site, 0
	.rept	HK_THUNKS
	.org	hk_thunks_light + site * LIGHT_BYTES
	movq	hk_thread_current@gottpoff(%rip), %r10
	movq	%fs:(%r10), %r10
	movl	hk_hot + site * HK_HOT_BYTES + HK_HOT_STEP(%rip), %r11d
	subl	%r11d, HK_THREAD_COUNTDOWN(%r10)
	jle	1f				/* never above 0 where the thread is not ready */
	movq	HK_THREAD_GENERATION(%r10), %r11
	movl	(%r11), %r11d
	cmpl	HK_THREAD_SEEN(%r10), %r11d
	jne	1f
	movq	HK_THREAD_CELLS + site * 8(%r10), %r11
	testq	%r11, %r11
	jz	1f
	incq	(%r11)				/* cell.calls */
	jmp	*hk_hot + site * HK_HOT_BYTES + HK_HOT_ORIGINAL(%rip)
	.org	hk_thunks_light + site * LIGHT_BYTES + LIGHT_ASIDE
1:	call	hk_call_light
	notrack jmp *%r11
	.set	site, site + 1
	.endr
	.cfi_endproc
	.size	hk_thunks_light, . - hk_thunks_light

#endif

	.section .note.GNU-stack,"",@progbits
