/* trampoline_aarch64.S: the thunks and the way in and out of a hooked call (AAPCS64). The same as
 * trampoline.S, with these differences:
 *
 * - The return address is in x30: a thunk pushes a frame record {x29, x30} right below its caller's stack arguments, and
 *   x29 + 16 is where those begin. No return address lies between the copied words and the original's stack pointer.
 * - x9 to x17 are free: no argument lies there, and a lazily bound PLT call clobbers x16 and x17. So the arguments x0 to x8
 *   stay where they are on the fast way in. x18 is the platform's and is never touched.
 * - No single instruction adds to memory. An exclusive pair is as safe: a signal ends the reservation, so that the addition
 *   starts again after the handler. LSE would save the loop on processors that have it, but a call would have to find out
 *   whether this one does.
 * - Every place that is reached by an indirect jump begins with `bti c`, a hint that older processors ignore.
 */
#include "agent/record/layout.h"

#if defined(__aarch64__)
#include "agent/frame/macros_aarch64.h"

	.text

/* ---- way in. x16: struct hk_site_hot; x29: the thunk's frame record. Gives the original in x17 ---- */
	.p2align 6
	.type	hk_call_enter, @function
hk_call_enter:
	.cfi_startproc
	frame_of_thunk
	sub	sp, sp, HK_FRAME_BYTES
	stp	x0, x1, [x29, HK_CALL_INTEGER]
	stp	x2, x3, [x29, HK_CALL_INTEGER + 16]
	stp	x4, x5, [x29, HK_CALL_INTEGER + 32]
	stp	x6, x7, [x29, HK_CALL_INTEGER + 48]
	stur	x8, [x29, HK_CALL_INDIRECT]
	stur	x16, [x29, HK_CALL_SITE]
.Lenter:
	current_thread x9, x10
	ldr	w10, [x9, HK_THREAD_READY]
	cbz	w10, .Lprepare
	ldr	w11, [x16, HK_HOT_INDEX]
	add	x15, x9, HK_THREAD_APART		/* what a fork keeps of it */
	add	x12, x15, KEPT(HK_THREAD_CELLS)
	ldr	x12, [x12, x11, lsl #3]
	cbz	x12, .Lprepare
	ldr	x10, [x15, KEPT(HK_THREAD_GENERATION)]
	ldr	w10, [x10]
	ldr	w13, [x9, HK_THREAD_SEEN]
	cmp	w10, w13
	b.ne	.Lprepare
	/* A call recorded as open, but below this frame on the stack, was abandoned. */
	ldr	x10, [x9, HK_THREAD_INNER]
	cmp	x29, x10
	b.hs	.Lprepare
	stp	x9, x12, [x29, HK_CALL_THREAD]		/* and the cell */
	stur	x10, [x29, HK_CALL_OUTER]
	str	x29, [x9, HK_THREAD_INNER]
	ldp	x13, x14, [x15, KEPT(HK_THREAD_CHILD)]		/* and the domains */
	stp	x13, x14, [x29, HK_CALL_CHILD]
	ldr	x13, [x16, HK_HOT_DOMAIN]
	orr	x14, x14, x13
	stp	xzr, x14, [x15, KEPT(HK_THREAD_CHILD)]
	ldr	w13, [x15, KEPT(HK_THREAD_DEPTH)]
	ldr	x17, [x15, KEPT(HK_THREAD_SLOT)]
	stur	w13, [x29, HK_CALL_DEPTH]
	and	w14, w13, #15
	add	x14, x17, w14, uxtw #4
	add	x14, x14, HK_SLOT_OPEN			/* the open call's slot */
	add	w13, w13, #1
	ldr	w11, [x16, HK_HOT_NUMBER]
	and	w11, w11, HK_NUMBER_MASK
	orr	x11, x11, x29, lsl #28			/* frame address / 16 in the upper half */
	str	x11, [x14]				/* site and frame, before depth shows them */
	str	w13, [x15, KEPT(HK_THREAD_DEPTH)]
	add	x17, x17, HK_SLOT_DEPTH
	stlr	w13, [x17]
	ldrb	w13, [x16, HK_HOT_STACK_WORDS]
	cbnz	w13, .Lcopy
.Lclock:
	mrs	x13, cntvct_el0
.Lstarted:
	stur	x13, [x29, HK_CALL_START]
	str	x13, [x14, #8]
	count_call x12
	load_original
	ret

/* The part that the short way in does not handle. Stack words of a described function are copied from above the thunk's frame record to
 * the bottom of its frame. The lower end of the frame moves to where the copy has the alignment of the original. The cell in x12 and
 * the open call's slot in x14 are kept. */
.Lcopy:
	tbz	w13, #6, .Lno_vectors		/* HK_STACK_WORDS_VECTOR */
	sub	x10, x29, -HK_CALL_VECTOR
	stp	d0, d1, [x10]
	stp	d2, d3, [x10, #16]
	stp	d4, d5, [x10, #32]
	stp	d6, d7, [x10, #48]
.Lno_vectors:
	tbz	w13, #0, .Lcopied		/* HK_STACK_WORDS_COPIED */
	ldrb	w13, [x16, HK_HOT_COPIED_WORDS]
	add	x9, x29, #16
	mov	x10, sp
	sub	x10, x10, w13, uxtw #3
	sub	x11, x10, x9
	and	x11, x11, HK_STACK_ALIGNMENT - 1
	sub	sp, x10, x11
.Lwords:
	sub	w13, w13, #1
	ldr	x10, [x9, w13, uxtw #3]
	str	x10, [sp, w13, uxtw #3]
	cbnz	w13, .Lwords
.Lcopied:
	adrp	x10, hk_clock_by_call
	ldrb	w10, [x10, :lo12:hk_clock_by_call]
	cbnz	w10, .Lask
	ldrb	w13, [x16, HK_HOT_STACK_WORDS]
	tbz	w13, #5, .Lclock		/* HK_STACK_WORDS_WORK */
	/* A short stretch of work is counted on the way out (work.h). */
	mrs	x13, cntvct_el0
	ldur	x10, [x29, HK_CALL_THREAD]
	cbz	x10, .Lstarted
	add	x10, x10, HK_THREAD_APART
	ldr	x10, [x10, KEPT(HK_THREAD_LONG_FROM)]
	cmp	x13, x10
	b.lo	.Lstarted
.Lask:
	stp	x12, x14, [sp, #-32]!
	stp	x16, x30, [sp, #16]
	adrp	x0, hk_work_end
	add	x0, x0, :lo12:hk_work_end
	sub	x1, x29, HK_CALL_BYTES
	bl	hk_state_saved
	mov	x13, x0
	ldp	x16, x30, [sp, #16]
	ldp	x12, x14, [sp], #32
	reload_arguments
	b	.Lstarted

/* The slow way in. All argument registers are in struct hk_call. Vector state is saved around the C code. */
.Lprepare:
	str	x30, [sp, #-16]!
	bl	hk_state_has_room
	ands	w0, w0, #1
	b.eq	.Lprepared
	adrp	x0, hk_call_prepare
	add	x0, x0, :lo12:hk_call_prepare
	sub	x1, x29, HK_CALL_BYTES
	ldur	x2, [x29, HK_CALL_SITE]
	bl	hk_state_saved
.Lprepared:
	ldr	x30, [sp], #16
	mov	w9, w0
	ldur	x16, [x29, HK_CALL_SITE]
	reload_arguments
	cbnz	w9, .Lenter
	/* An unmeasured call still needs its stack words, and fields to count in. */
	stur	xzr, [x29, HK_CALL_THREAD]
	add	x12, x29, HK_CALL_CELL
	add	x14, x29, HK_CALL_START		/* no open call: the clock's second copy goes to SCRATCH */
	ldrb	w13, [x16, HK_HOT_STACK_WORDS]
	cbnz	w13, .Lcopy
	b	.Lclock
	.cfi_endproc
	.size	hk_call_enter, . - hk_call_enter

/* ---- ways out, by the clock a site wants. x29: the thunk's frame record; they return to the thunk's caller ---- */
	.macro	leave_call
	sub	x0, x29, HK_CALL_BYTES
	bl	hk_call_leave			/* x1: ticks; returns the results */
	mov	sp, x29
	ldp	x29, x30, [sp], #16
	.cfi_def_cfa	sp, 0
	.cfi_restore	x29
	.cfi_restore	x30
	ret
	.endm

	.p2align 6
	.type	hk_call_exit, @function
hk_call_exit:
	.cfi_startproc
	frame_of_thunk
	.cfi_remember_state
	ldur	x9, [x29, HK_CALL_SITE]
	stp	x0, x1, [x29, HK_CALL_RESULT]
	ldrb	w9, [x9, HK_HOT_EXIT]
	cbnz	w9, 1f
	mrs	x1, cntvct_el0
	leave_call
	.cfi_restore_state
	.cfi_remember_state
1:	cmp	w9, HK_EXIT_ORDERED
	b.ne	2f
	isb					/* waits for the call's own instructions */
	mrs	x1, cntvct_el0
	leave_call
	.cfi_restore_state
2:	adrp	x0, hk_clock_read
	add	x0, x0, :lo12:hk_clock_read
	bl	hk_state_saved
	mov	x1, x0
	leave_call
	.cfi_endproc
	.size	hk_call_exit, . - hk_call_exit

/* ---- levels count and sample, sites that are off, and calls without a frame ---- */

/* x16: struct hk_site_hot; x15: the caller's x30. Returns to the thunk with the address to jump to in x17, or into the thunk's full
 * path. */
	.p2align 6
	.type	hk_call_light, @function
hk_call_light:
	.cfi_startproc
	ldrb	w10, [x16, HK_HOT_CONTROL]
	cmp	w10, HK_CONTROL_PASS
	b.eq	.Lpass
	b.hi	.Lstay
.Lcount:
	current_thread x9, x10
	ldr	w10, [x9, HK_THREAD_READY]
	cbz	w10, .Lfull
	add	x12, x9, HK_THREAD_APART
	ldr	x10, [x12, KEPT(HK_THREAD_GENERATION)]
	ldr	w10, [x10]
	ldr	w11, [x9, HK_THREAD_SEEN]
	cmp	w10, w11
	b.ne	.Lstale
	ldr	w10, [x16, HK_HOT_STEP]
	cbz	w10, .Ladd
	ldr	w11, [x9, HK_THREAD_COUNTDOWN]
	subs	w11, w11, w10
	b.le	.Lturn
	str	w11, [x9, HK_THREAD_COUNTDOWN]
.Ladd:
	ldr	w10, [x16, HK_HOT_INDEX]
	add	x9, x9, HK_THREAD_APART
	add	x9, x9, KEPT(HK_THREAD_CELLS)
	ldr	x9, [x9, x10, lsl #3]
	cbz	x9, .Lfull
	count_call x9
.Lreturn:
	load_original
	ret
	/* The full path times the call. */
.Lturn:
	ldr	w10, [x12, KEPT(HK_THREAD_TURNS)]
	mov	w11, HK_SAMPLE_STEP & 0xffff
	movk	w11, HK_SAMPLE_STEP >> 16, lsl 16
	add	w10, w10, w11
	str	w10, [x12, KEPT(HK_THREAD_TURNS)]
	lsr	w10, w10, HK_SAMPLE_SHIFT
	add	w10, w10, HK_SAMPLE_LEAST
	str	w10, [x9, HK_THREAD_COUNTDOWN]
.Lfull:
	ldrb	w10, [x16, HK_HOT_STACK_WORDS]
	tbnz	w10, #1, .Lstay			/* HK_STACK_WORDS_STAY */
	/* Returns into the thunk's full path, after its test of the control byte. */
	sub	x17, x30, hk_thunk_light - hk_thunk_full
	mov	x30, x15
	ret	x17
.Lstay:
	b	hk_call_stay
	/* The full path applies the new generation, except in a signal handler that interrupted the agent. */
.Lstale:
	adrp	x10, :gottprel:hk_in_agent
	ldr	x10, [x10, :gottprel_lo12:hk_in_agent]
	mrs	x11, tpidr_el0
	ldr	w10, [x11, x10]
	cbnz	w10, .Ladd
	b	.Lfull
.Lpass:
	adrp	x9, hk_process + HK_PROCESS_HEADER
	ldr	x9, [x9, :lo12:hk_process + HK_PROCESS_HEADER]
	ldr	w9, [x9, HK_HEADER_GENERATION]
	adrp	x10, hk_generation_seen
	ldr	w10, [x10, :lo12:hk_generation_seen]
	cmp	w9, w10
	b.eq	.Lreturn
/* Levels may have changed: applies them, then reads the site's control again. */
	stp	x29, x30, [sp, #-112]!
	.cfi_def_cfa_offset 112
	.cfi_offset x29, -112
	.cfi_offset x30, -104
	mov	x29, sp
	stp	x0, x1, [sp, #16]
	stp	x2, x3, [sp, #32]
	stp	x4, x5, [sp, #48]
	stp	x6, x7, [sp, #64]
	stp	x8, x15, [sp, #80]
	.cfi_offset x15, -24
	str	x16, [sp, #96]
	bl	hk_state_may_save
	tbz	w0, #0, 1f			/* a later call applies them */
	adrp	x0, hk_control_poll
	add	x0, x0, :lo12:hk_control_poll
	bl	hk_state_saved
1:	ldp	x0, x1, [sp, #16]
	ldp	x2, x3, [sp, #32]
	ldp	x4, x5, [sp, #48]
	ldp	x6, x7, [sp, #64]
	ldp	x8, x15, [sp, #80]
	.cfi_restore x15
	ldr	x16, [sp, #96]
	ldp	x29, x30, [sp], #112
	.cfi_def_cfa_offset 0
	.cfi_restore x29
	.cfi_restore x30
	ldrb	w10, [x16, HK_HOT_CONTROL]
	cmp	w10, HK_CONTROL_PASS
	b.eq	.Lreturn
	b.hi	.Lstay
	cmp	w10, HK_CONTROL_LIGHT
	b.eq	.Lcount
	b	.Lfull
	.cfi_endproc
	.size	hk_call_light, . - hk_call_light

/* int hk_state_saved(int (*function)(void *, void *), void *, void *): calls FUNCTION with the vector registers of AAPCS64's arguments
 * and results, and the floating-point status, saved. Returns all 64 bits of x0. */
	.p2align 4
	.globl	hk_state_saved
	.hidden	hk_state_saved
	.type	hk_state_saved, @function
hk_state_saved:
	.cfi_startproc
	hint	#34
	stp	x29, x30, [sp, #-160]!
	.cfi_def_cfa_offset 160
	.cfi_offset x29, -160
	.cfi_offset x30, -152
	mov	x29, sp
	.cfi_def_cfa_register x29
	stp	q0, q1, [sp, #16]
	stp	q2, q3, [sp, #48]
	stp	q4, q5, [sp, #80]
	stp	q6, q7, [sp, #112]
	mrs	x9, fpsr
	mrs	x10, fpcr
	stp	x9, x10, [sp, #144]
	mov	x9, x0
	mov	x0, x1
	mov	x1, x2
	blr	x9
	ldp	x9, x10, [sp, #144]
	msr	fpsr, x9
	msr	fpcr, x10
	ldp	q0, q1, [sp, #16]
	ldp	q2, q3, [sp, #48]
	ldp	q4, q5, [sp, #80]
	ldp	q6, q7, [sp, #112]
	ldp	x29, x30, [sp], #160
	.cfi_def_cfa sp, 0
	.cfi_restore x29
	.cfi_restore x30
	ret
	.cfi_endproc
	.size	hk_state_saved, . - hk_state_saved

/* ---- the thunks: fourteen instructions each ---- */
	.p2align 6
	.globl	hk_thunks
	.hidden	hk_thunks
	.type	hk_thunks, @object
hk_thunks:
	.set	site, 0
	.rept	HK_THUNKS
	.p2align 6
	.cfi_startproc
	hint	#34
	adrp	x16, hk_hot + site * HK_HOT_BYTES
	add	x16, x16, :lo12:hk_hot + site * HK_HOT_BYTES
	ldrb	w17, [x16, HK_HOT_CONTROL]
	.cfi_remember_state
	cbnz	w17, 0f
	.if site == 0
hk_thunk_full:
	.endif
	stp	x29, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x29, -16
	.cfi_offset x30, -8
	mov	x29, sp
	.cfi_def_cfa_register x29
	bl	hk_call_enter
	blr	x17
	b	hk_call_exit
	.cfi_restore_state
0:	mov	x15, x30
	.cfi_register x30, x15
	bl	hk_call_light
	.if site == 0
hk_thunk_light:
	.endif
	mov	x30, x15
	.cfi_restore x30
	br	x17
	.cfi_endproc
	.set	site, site + 1
	.endr
	.size	hk_thunks, . - hk_thunks

/* ---- the spare thunks (spare.h). w16: the thunk's number ---- */
	.p2align 6
	.type	hk_spare_enter, @function
hk_spare_enter:
	.cfi_startproc
	current_thread x9, x10
	ldr	w10, [x9, HK_THREAD_READY]
	cbz	w10, .Lspare_slow
	add	x12, x9, HK_THREAD_APART
	ldr	x10, [x12, KEPT(HK_THREAD_GENERATION)]
	ldr	w10, [x10]
	ldr	w11, [x9, HK_THREAD_SEEN]
	cmp	w10, w11
	b.ne	.Lspare_slow
	mov	w10, HK_THREAD_SPARE & 0xffff
	movk	w10, HK_THREAD_SPARE >> 16, lsl #16
	ldr	x9, [x9, x10]
	cbz	x9, .Lspare_slow
	ldr	x9, [x9, x16, lsl #3]
	cbz	x9, .Lspare_slow
	adrp	x10, hk_spare_hot
	ldr	x10, [x10, :lo12:hk_spare_hot]
	add	x16, x10, x16, lsl #6		/* HK_HOT_BYTES */
	ldrb	w10, [x16, HK_HOT_CONTROL]
	cmp	w10, HK_CONTROL_PASS
	b.eq	.Lspare_pass
	count_call x9
.Lspare_pass:
	ldr	x17, [x16, HK_HOT_ORIGINAL]
	br	x17
/* The thread's state is incomplete, or levels may have changed. */
.Lspare_slow:
	stp	x29, x30, [sp, #-112]!
	.cfi_def_cfa_offset 112
	.cfi_offset x29, -112
	.cfi_offset x30, -104
	mov	x29, sp
	stp	x0, x1, [sp, #16]
	stp	x2, x3, [sp, #32]
	stp	x4, x5, [sp, #48]
	stp	x6, x7, [sp, #64]
	stp	x8, x16, [sp, #80]
	bl	hk_state_has_room
	tbz	w0, #0, 1f
	adrp	x0, hk_spare_count
	add	x0, x0, :lo12:hk_spare_count
	ldr	x1, [sp, #88]			/* x16 */
	bl	hk_state_saved
1:	ldp	x0, x1, [sp, #16]
	ldp	x2, x3, [sp, #32]
	ldp	x4, x5, [sp, #48]
	ldp	x6, x7, [sp, #64]
	ldp	x8, x16, [sp, #80]
	ldp	x29, x30, [sp], #112
	.cfi_def_cfa_offset 0
	.cfi_restore x29
	.cfi_restore x30
	adrp	x10, hk_spare_hot
	ldr	x10, [x10, :lo12:hk_spare_hot]
	add	x16, x10, x16, lsl #6
	b	.Lspare_pass
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
	hint	#34
	mov	w16, number & 0xffff
	movk	w16, number >> 16, lsl #16
	b	hk_spare_enter
	.set	number, number + 1
	.endr
	.cfi_endproc
	.size	hk_spare_thunks, . - hk_spare_thunks

	landing_pads

#endif

	.section .note.GNU-stack,"",@progbits
