/* macros_aarch64.h: what the trampolines of aarch64 do in several places. For assembly only. */
#ifndef HK_AGENT_FRAME_MACROS_AARCH64_H
#define HK_AGENT_FRAME_MACROS_AARCH64_H

#include "agent/record/layout.h"

/* A field of struct hk_thread that a fork keeps, from HK_THREAD_APART on. */
#define KEPT(field) ((field)-HK_THREAD_APART)

/* clang-format off */
	.macro	count_call cell:req
9:	ldxr	x10, [\cell]
	add	x10, x10, #1
	stxr	w11, x10, [\cell]
	cbnz	w11, 9b
	.endm

	.macro	current_thread register:req, scratch:req
	adrp	\register, :gottprel:hk_thread_current
	ldr	\register, [\register, :gottprel_lo12:hk_thread_current]
	mrs	\scratch, tpidr_el0
	ldr	\register, [\scratch, \register]
	.endm

	/* x17: the original of the site in x16, read after the flag that says what it is. The loader's stub finds out in x16
	 * which slot it stands for. Clobbers x10 and x11. */
	.macro	load_original
	ldrb	w10, [x16, HK_HOT_FLAGS]
	eor	x11, x10, x10
	add	x11, x16, x11			/* depends on the flag: the order of the two loads */
	ldr	x17, [x11, HK_HOT_ORIGINAL]
	tbz	w10, HK_HOT_LAZY_BIT, 8f
	ldr	w11, [x16, HK_HOT_INDEX]
	adrp	x10, hk_lazy_slots
	add	x10, x10, :lo12:hk_lazy_slots
	ldr	x16, [x10, x11, lsl #3]
8:
	.endm

	.macro	reload_arguments
	ldp	x0, x1, [x29, HK_CALL_INTEGER]
	ldp	x2, x3, [x29, HK_CALL_INTEGER + 16]
	ldp	x4, x5, [x29, HK_CALL_INTEGER + 32]
	ldp	x6, x7, [x29, HK_CALL_INTEGER + 48]
	ldur	x8, [x29, HK_CALL_INDIRECT]
	.endm

	/* The thunk's frame, seen from what it calls. */
	.macro	frame_of_thunk
	.cfi_def_cfa	x29, 16
	.cfi_offset	x29, -16
	.cfi_offset	x30, -8
	.endm

	/* At the end of a file: every place in it that an indirect jump may reach begins with `bti c`. */
	.macro	landing_pads
	.section .note.gnu.property,"a"
	.p2align 3
	.word	4, 16, 5			/* sizes of name and content; NT_GNU_PROPERTY_TYPE_0 */
	.asciz	"GNU"
	.word	0xc0000000, 4, 1, 0		/* GNU_PROPERTY_AARCH64_FEATURE_1_AND: BTI */
	.endm

#endif
