/* trampoline_stay_aarch64.S: calls of functions whose arguments on the stack are not known (AAPCS64). The same as
 * trampoline_stay.S, with these differences:
 *
 * - The return address is in x30: nothing is taken off the stack, and the call in a place puts its own address there. By that
 *   the unwinder finds the place. A function that signs it leaves the signature in what the unwinder reads: only 48 bits count.
 * - The arguments x0 to x8 are never moved.
 */
#include "agent/record/layout.h"

#if defined(__aarch64__)
#include "agent/frame/macros_aarch64.h"

/* A field of the newest kept call, from HK_THREAD_KEPT on. */
#define ENTRY(field) ((field) + HK_KEPT_FRAME)

/* Offsets in a place: after the distance, after the landing pad, after the call. */
#define PLACE_CODE 8
#define PLACE_CALL 12
#define PLACE_RETURN 16

/* Places described by one entry of .eh_frame: an unwinder reads half an entry on average. */
#define PLACES_DESCRIBED 32

/* The place, as a DWARF expression: breg30 + 0, lit16, shl, lit16, shr, lit, minus. */
#define PLACE_EXPRESSION 0x8e, 0, 0x40, 0x24, 0x40, 0x25, 0x30 + PLACE_RETURN, 0x1c

/* The caller's return address less 1. A place begins with the distance from itself to its entry of hk_callers. */
#define CALLER_EXPRESSION 0x16, 30, 21, /* DW_CFA_val_expression, return address, length */ \
	PLACE_EXPRESSION, 0x06, PLACE_EXPRESSION, 0x22, 0x06, 0x31, 0x1c /* deref; plus, deref, lit1, minus */

	/* Frees the entry at x10 of a call that cannot be kept, of the thread in x9. */
	.macro	give_up
	stur	xzr, [x10, HK_KEPT_FRAME]
	add	x12, x9, HK_THREAD_APART
	ldr	x11, [x12, KEPT(HK_THREAD_KEPT)]
	sub	x11, x11, HK_KEPT_BYTES
	str	x11, [x12, KEPT(HK_THREAD_KEPT)]
	.endm

	.text

/* ---- way in ---- */

/* x16: struct hk_site_hot; x15: the caller's x30. Returns with the address to jump to in x17, and the original in x9. The call's
 * identity is the address where its frame record would lie. */
	.p2align 6
	.globl	hk_call_stay
	.hidden	hk_call_stay
	.type	hk_call_stay, @function
hk_call_stay:
	.cfi_startproc
	current_thread x9, x10
	ldr	x10, [x9, HK_THREAD_INNER]
	sub	x11, sp, #16
	cmp	x11, x10
	b.hs	.Lno_room			/* no thread state, or as in hk_call_enter */
	add	x12, x9, HK_THREAD_APART
	ldr	x10, [x12, KEPT(HK_THREAD_KEPT)]
	ldr	x13, [x12, KEPT(HK_THREAD_KEPT_END)]
	cmp	x10, x13
	b.eq	.Lcrowded
	add	x10, x10, HK_KEPT_BYTES
	str	x10, [x12, KEPT(HK_THREAD_KEPT)]	/* set before the entry is written: calls of signal handlers are kept after it */
	stur	x11, [x10, HK_KEPT_FRAME]
	stp	x0, x1, [x10, ENTRY(HK_CALL_INTEGER)]
	stp	x2, x3, [x10, ENTRY(HK_CALL_INTEGER + 16)]
	stp	x4, x5, [x10, ENTRY(HK_CALL_INTEGER + 32)]
	stp	x6, x7, [x10, ENTRY(HK_CALL_INTEGER + 48)]
	stur	x8, [x10, ENTRY(HK_CALL_INDIRECT)]
	/* Finds the place of this return address. */
	mov	w11, HK_CALLERS_HASH & 0xffff
	movk	w11, HK_CALLERS_HASH >> 16, lsl #16
	mul	w12, w15, w11
	lsr	w12, w12, #32 - HK_CALLERS_BITS
	adrp	x14, hk_callers
	add	x14, x14, :lo12:hk_callers
	ldr	x11, [x14, x12, lsl #3]
	cmp	x11, x15
	b.ne	.Lfind_place
.Lplace:
	stur	w12, [x10, ENTRY(HK_CALL_SCRATCH)]
	ldr	w11, [x16, HK_HOT_INDEX]
	add	x12, x9, HK_THREAD_APART	/* what a fork keeps of it */
	add	x17, x12, KEPT(HK_THREAD_CELLS)
	ldr	x17, [x17, x11, lsl #3]
	cbz	x17, .Lprepare
	ldr	x13, [x12, KEPT(HK_THREAD_GENERATION)]
	ldr	w13, [x13]
	ldr	w14, [x9, HK_THREAD_SEEN]
	cmp	w13, w14
	b.ne	.Lprepare
	stp	x9, x17, [x10, ENTRY(HK_CALL_THREAD)]	/* and the cell */
	stur	x16, [x10, ENTRY(HK_CALL_SITE)]
	ldr	x13, [x9, HK_THREAD_INNER]
	stur	x13, [x10, ENTRY(HK_CALL_OUTER)]
	sub	x13, sp, #16
	str	x13, [x9, HK_THREAD_INNER]
	ldr	w11, [x16, HK_HOT_NUMBER]
	and	w11, w11, HK_NUMBER_MASK
	orr	x11, x11, x13, lsl #28		/* frame address / 16 in the upper half */
	ldp	x13, x14, [x12, KEPT(HK_THREAD_CHILD)]		/* and the domains */
	stp	x13, x14, [x10, ENTRY(HK_CALL_CHILD)]
	ldr	x13, [x16, HK_HOT_DOMAIN]
	orr	x14, x14, x13
	stp	xzr, x14, [x12, KEPT(HK_THREAD_CHILD)]
	ldr	w13, [x12, KEPT(HK_THREAD_DEPTH)]
	ldr	x9, [x12, KEPT(HK_THREAD_SLOT)]
	stur	w13, [x10, ENTRY(HK_CALL_DEPTH)]
	and	w14, w13, #15
	add	x14, x9, w14, uxtw #4
	add	x14, x14, HK_SLOT_OPEN		/* the open call's slot */
	add	w13, w13, #1
	str	x11, [x14]
	str	w13, [x12, KEPT(HK_THREAD_DEPTH)]
	add	x9, x9, HK_SLOT_DEPTH
	stlr	w13, [x9]
	ldrb	w13, [x16, HK_HOT_STACK_WORDS]
	tbnz	w13, #7, .Lask_clock		/* HK_STACK_WORDS_CLOCK */
	mrs	x13, cntvct_el0
.Lstarted:
	stur	x13, [x10, ENTRY(HK_CALL_START)]
	str	x13, [x14, #8]
	ldur	w12, [x10, ENTRY(HK_CALL_SCRATCH)]
	count_call x17
	mov	w13, HK_PLACE_BYTES
	adrp	x14, hk_places + PLACE_CODE
	add	x14, x14, :lo12:hk_places + PLACE_CODE
	umaddl	x12, w12, w13, x14
	load_original
	mov	x9, x17
	mov	x17, x12
	ret
.Lask_clock:
	stp	x29, x30, [sp, #-64]!
	.cfi_def_cfa_offset 64
	.cfi_offset x29, -64
	.cfi_offset x30, -56
	mov	x29, sp
	stp	x10, x14, [sp, #16]
	stp	x15, x16, [sp, #32]
	.cfi_offset x15, -32
	str	x17, [sp, #48]
	adrp	x0, hk_clock_read
	add	x0, x0, :lo12:hk_clock_read
	bl	hk_state_saved
	mov	x13, x0
	ldp	x10, x14, [sp, #16]
	ldp	x15, x16, [sp, #32]
	.cfi_restore x15
	ldr	x17, [sp, #48]
	ldp	x29, x30, [sp], #64
	.cfi_def_cfa_offset 0
	.cfi_restore x29
	.cfi_restore x30
	ldp	x0, x1, [x10, ENTRY(HK_CALL_INTEGER)]
	ldp	x2, x3, [x10, ENTRY(HK_CALL_INTEGER + 16)]
	ldp	x4, x5, [x10, ENTRY(HK_CALL_INTEGER + 32)]
	ldp	x6, x7, [x10, ENTRY(HK_CALL_INTEGER + 48)]
	ldur	x8, [x10, ENTRY(HK_CALL_INDIRECT)]
	b	.Lstarted

/* x15: the return address; w12: its first place; x14: hk_callers. */
.Lfind_place:
	mov	w17, HK_CALLERS_TRIES
1:	add	x13, x14, x12, lsl #3
	ldr	x11, [x13]
	cmp	x11, x15
	b.eq	.Lplace
	cbnz	x11, 4f
2:	ldaxr	x11, [x13]
	cbnz	x11, 3f
	stlxr	w11, x15, [x13]
	cbnz	w11, 2b
	b	.Lplace
3:	clrex
	cmp	x11, x15
	b.eq	.Lplace				/* a call of another thread assigned this place */
4:	add	w12, w12, #1
	and	w12, w12, HK_CALLERS - 1
	subs	w17, w17, #1
	b.ne	1b
	/* No place is left. The call is counted if possible. */
	give_up
	ldr	w11, [x9, HK_THREAD_READY]
	cbz	w11, .Lpass
	ldr	w11, [x16, HK_HOT_INDEX]
	add	x12, x9, HK_THREAD_APART
	add	x12, x12, KEPT(HK_THREAD_CELLS)
	ldr	x12, [x12, x11, lsl #3]
	cbz	x12, .Lpass
.Luntimed:
	count_call x12
	add	x12, x9, HK_THREAD_APART
	ldr	x12, [x12, KEPT(HK_THREAD_SLOT)]
	add	x12, x12, HK_SLOT_UNTIMED
	count_call x12
.Lpass:
	load_original
	ret

/* All entries are in use. A call below the newest of them on its stack is counted without another check. */
.Lcrowded:
	ldr	w13, [x9, HK_THREAD_READY]
	cbz	w13, .Lno_room
	ldur	x13, [x10, HK_KEPT_FRAME]
	sub	x13, x13, x11
	lsr	x13, x13, HK_STACK_SHIFT
	cbnz	x13, .Lno_room
	ldr	x13, [x12, KEPT(HK_THREAD_GENERATION)]
	ldr	w13, [x13]
	ldr	w11, [x9, HK_THREAD_SEEN]
	cmp	w11, w13
	b.ne	.Lno_room
	ldr	w11, [x16, HK_HOT_INDEX]
	add	x13, x12, KEPT(HK_THREAD_CELLS)
	ldr	x13, [x13, x11, lsl #3]
	cbz	x13, .Lno_room
	ldr	w11, [x12, KEPT(HK_THREAD_CROWDED)]
	subs	w11, w11, #1
	str	w11, [x12, KEPT(HK_THREAD_CROWDED)]
	b.mi	.Lno_room
	mov	x12, x13
	b	.Luntimed

/* A part of the thread's state is missing. */
.Lprepare:
	give_up
.Lno_room:
	stp	x29, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x29, -16
	.cfi_offset x30, -8
	mov	x29, sp
	.cfi_def_cfa_register x29
	sub	sp, sp, HK_CALL_BYTES
	stp	x0, x1, [x29, HK_CALL_INTEGER]
	stp	x2, x3, [x29, HK_CALL_INTEGER + 16]
	stp	x4, x5, [x29, HK_CALL_INTEGER + 32]
	stp	x6, x7, [x29, HK_CALL_INTEGER + 48]
	stur	x8, [x29, HK_CALL_INDIRECT]
	stur	x15, [x29, HK_CALL_SCRATCH]
	.cfi_offset x15, HK_CALL_SCRATCH - 16
	stur	x16, [x29, HK_CALL_SITE]
	bl	hk_state_has_room
	ands	w0, w0, #1
	b.eq	1f
	adrp	x0, hk_call_prepare
	add	x0, x0, :lo12:hk_call_prepare
	sub	x1, x29, HK_CALL_BYTES
	ldur	x2, [x29, HK_CALL_SITE]
	bl	hk_state_saved
1:	mov	w9, w0
	reload_arguments
	ldur	x15, [x29, HK_CALL_SCRATCH]
	.cfi_restore x15
	ldur	x16, [x29, HK_CALL_SITE]
	mov	sp, x29
	ldp	x29, x30, [sp], #16
	.cfi_def_cfa sp, 0
	.cfi_restore x29
	.cfi_restore x30
	cbnz	w9, hk_call_stay
	b	.Lpass
	.cfi_endproc
	.size	hk_call_stay, . - hk_call_stay

/* ---- way out ---- */

/* The original has returned to its place, whose number is in w10. Makes the frame of an ordinary call with the kept words, and leaves
 * as an ordinary call does. */
	.p2align 6
	.type	hk_call_return, @function
hk_call_return:
	.cfi_startproc
	.cfi_escape CALLER_EXPRESSION
	adrp	x9, hk_callers
	add	x9, x9, :lo12:hk_callers
	ldr	x30, [x9, w10, uxtw #3]
	.cfi_same_value x30
	stp	x29, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x29, -16
	.cfi_offset x30, -8
	mov	x29, sp
	.cfi_def_cfa_register x29
	sub	sp, sp, HK_FRAME_BYTES
	stp	x0, x1, [x29, HK_CALL_RESULT]
	adrp	x10, hk_clock_by_call
	ldrb	w10, [x10, :lo12:hk_clock_by_call]
	cbnz	w10, 4f
	isb					/* waits for the call's own instructions */
	mrs	x1, cntvct_el0
1:	stur	x1, [x29, HK_CALL_SCRATCH]
	current_thread x9, x10
	ldr	w10, [x9, HK_THREAD_READY]
	cbz	w10, 3f
	add	x9, x9, HK_THREAD_APART
	ldr	x10, [x9, KEPT(HK_THREAD_KEPT)]
	ldur	x11, [x10, HK_KEPT_FRAME]
	cmp	x11, x29
	b.ne	3f
	.irp	field, HK_CALL_INTEGER, HK_CALL_INTEGER + 16, HK_CALL_INTEGER + 32, HK_CALL_INTEGER + 48, HK_CALL_THREAD, \
		HK_CALL_SITE, HK_CALL_CHILD, HK_CALL_OUTER	/* each with the next field */
	ldp	x11, x12, [x10, ENTRY(\field)]
	stp	x11, x12, [x29, \field]
	.endr
	stur	xzr, [x10, HK_KEPT_FRAME]
	sub	x10, x10, HK_KEPT_BYTES
	str	x10, [x9, KEPT(HK_THREAD_KEPT)]
2:	ldur	x1, [x29, HK_CALL_SCRATCH]
	sub	x0, x29, HK_CALL_BYTES
	bl	hk_call_leave			/* returns the results */
	b	5f
	/* Calls that do not end in the order they began, or not on their thread. */
3:	sub	x0, x29, HK_CALL_BYTES
	bl	hk_kept_take
	tbnz	w0, #0, 2b
	ldp	x0, x1, [x29, HK_CALL_RESULT]
5:	.cfi_remember_state
	mov	sp, x29
	ldp	x29, x30, [sp], #16
	.cfi_def_cfa	sp, 0
	.cfi_restore	x29
	.cfi_same_value	x30
	ret
	.cfi_restore_state
4:	adrp	x0, hk_clock_read
	add	x0, x0, :lo12:hk_clock_read
	bl	hk_state_saved
	mov	x1, x0
	b	1b
	.cfi_endproc
	.size	hk_call_return, . - hk_call_return

/* ---- the places ---- */
	.p2align 6
	.globl	hk_places
	.hidden	hk_places
	.type	hk_places, @object
hk_places:
	.set	place, 0
	.rept	HK_CALLERS
	.xword	hk_callers + 8 * place - .
	hint	#34
	blr	x9
	mov	w10, place
	b	hk_call_return
	.set	place, place + 1
	.endr
	.org	hk_places + HK_CALLERS * HK_PLACE_BYTES
	.size	hk_places, . - hk_places

/* The return address of each place; 0: unused. */
	.local	hk_callers
	.comm	hk_callers, HK_CALLERS * 8, 64

/* The places' unwind table, written by hand as in trampoline_stay.S. */
	.section .eh_frame, "a", @progbits
.Lcie:
	.word	.Lcie_end - .Lcie_content
.Lcie_content:
	.word	0
	.byte	1				/* version */
	.asciz	"zRS"
	.uleb128 1				/* code alignment */
	.sleb128 -8				/* data alignment */
	.byte	30				/* return address: x30 */
	.uleb128 1
	.byte	0x1b				/* addresses are relative to their own, in four bytes */
	.byte	0x0c, 31, 0			/* DW_CFA_def_cfa: sp */
	.byte	CALLER_EXPRESSION
	.balign	8, 0
.Lcie_end:
	.set	group, 0
	.rept	HK_CALLERS / PLACES_DESCRIBED
	.word	8f - 7f
7:	.word	. - .Lcie
	.word	hk_places + group * PLACES_DESCRIBED * HK_PLACE_BYTES - .
	.word	PLACES_DESCRIBED * HK_PLACE_BYTES
	.uleb128 0
	.set	step, PLACE_CODE
	.rept	PLACES_DESCRIBED
	.byte	0x40 + step, 0x0a, 0x08, 30	/* at the landing pad; remember_state; same_value: x30 */
	.byte	0x40 + PLACE_CALL - PLACE_CODE + 1, 0x0b /* in the call, where the unwinder looks while it runs; restore_state */
	.set	step, HK_PLACE_BYTES - PLACE_CALL - 1 + PLACE_CODE
	.endr
	.balign	8, 0
8:
	.set	group, group + 1
	.endr

	landing_pads

#endif

	.section .note.GNU-stack,"",@progbits
