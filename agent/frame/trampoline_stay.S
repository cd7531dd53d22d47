/* trampoline_stay.S: calls of functions whose arguments on the stack are not known (x86-64, System
 * V).
 *
 * The arguments stay where they are, and the function is called with its stack pointer where its
 * caller left it: what a frame would hold is kept beside the stack (kept.h). Only the return
 * address above the arguments changes. A place of hk_places belongs to one return address of the
 * program, which hk_callers has at the same index: the place takes the return address off the
 * stack, calls the original, which pushes the address behind that call instead, and later returns
 * there to its caller. Calls and returns stay paired, as branch predictors expect and shadow stacks
 * demand. Where a place returns to does not depend on what was kept: a call whose kept entry is
 * lost is not measured, and returns as it would without hooktrace.
 *
 * The unwinder finds the caller from the place itself: by the word that leads from a place to its
 * entry of hk_callers.
 */
#include "agent/record/layout.h"

#if defined(__x86_64__)

/* A field of the newest kept call, from HK_THREAD_KEPT on. */
#define ENTRY(field) ((field) + HK_KEPT_FRAME)

/* Offsets in a place: after the word, after the instruction that pops the return address, after the call. */
#define PLACE_CODE 8
#define PLACE_CALL 10
#define PLACE_RETURN 13

/* Places described by one entry of .eh_frame: an unwinder reads half an entry on average. */
#define PLACES_DESCRIBED 32

/* The caller's return address less 1, as a DWARF expression. Below the CFA lies the address behind the place's call; the place
 * begins with the distance from itself to its entry of hk_callers. No operator but those that valgrind knows too. */
#define CALLER_EXPRESSION 0x16, 16, 15, /* DW_CFA_val_expression, return address, length */ \
	0x38, 0x1c, 0x06, 0x30 + PLACE_RETURN, 0x1c, 0x06, /* lit8, minus, deref, lit, minus: the place; deref: the distance */ \
	0x77, 0x78, 0x06, 0x30 + PLACE_RETURN, 0x1c, 0x22, /* breg7 - 8, deref, lit, minus: the place; plus */ \
	0x06, 0x31, 0x1c /* deref, lit1, minus */

	/* All registers but rdi, which holds their address. */
	.macro	reload_arguments
	movq	ENTRY(HK_CALL_RAX)(%rdi), %rax
	movq	ENTRY(HK_CALL_RSI)(%rdi), %rsi
	movq	ENTRY(HK_CALL_RDX)(%rdi), %rdx
	movq	ENTRY(HK_CALL_RCX)(%rdi), %rcx
	movq	ENTRY(HK_CALL_R8)(%rdi), %r8
	movq	ENTRY(HK_CALL_R9)(%rdi), %r9
	.endm

	.text

/* ---- way in ---- */

/* r11: struct hk_site_hot; (%rsp): a return address of the agent, below the caller's. Returns with the address to jump to in r11, and
 * the original in r10. The call's identity is the address below its return address, as with a frame. */
	.p2align 6
	.globl	hk_call_stay
	.hidden	hk_call_stay
	.type	hk_call_stay, @function
hk_call_stay:
	.cfi_startproc
	.cfi_def_cfa_offset 16
	movq	%rdi, -8(%rsp)			/* signal handlers do not touch the 128 bytes below */
	movq	hk_thread_current@gottpoff(%rip), %r10
	movq	%fs:(%r10), %r10
	movq	HK_THREAD_INNER(%r10), %rdi
	cmpq	%rdi, %rsp
	jae	.Lno_room			/* no thread state, or as in hk_call_enter */
	movq	HK_THREAD_KEPT(%r10), %rdi
	cmpq	HK_THREAD_KEPT_END(%r10), %rdi
	je	.Lcrowded
	addq	$HK_KEPT_BYTES, %rdi
	movq	%rdi, HK_THREAD_KEPT(%r10)	/* set before the entry is written: calls of signal handlers are kept after it */
	movq	%rsp, HK_KEPT_FRAME(%rdi)
	movq	%rax, ENTRY(HK_CALL_RAX)(%rdi)
	movq	-8(%rsp), %rax
	movq	%rax, ENTRY(HK_CALL_RDI)(%rdi)
	movq	%rsi, ENTRY(HK_CALL_RSI)(%rdi)
	movq	%rdx, ENTRY(HK_CALL_RDX)(%rdi)
	movq	%rcx, ENTRY(HK_CALL_RCX)(%rdi)
	movq	%r8, ENTRY(HK_CALL_R8)(%rdi)
	movq	%r9, ENTRY(HK_CALL_R9)(%rdi)
	/* Finds the place of this return address. */
	movq	8(%rsp), %rax
	imull	$HK_CALLERS_HASH, %eax, %r8d
	shrl	$32 - HK_CALLERS_BITS, %r8d
	leaq	hk_callers(%rip), %r9
	cmpq	%rax, (%r9,%r8,8)
	jne	.Lfind_place
.Lplace:
	movl	HK_HOT_INDEX(%r11), %esi
	movq	HK_THREAD_CELLS(%r10,%rsi,8), %rcx
	testq	%rcx, %rcx
	jz	.Lprepare
	prefetchw (%rcx)
	prefetcht0 64(%rcx)
	movq	HK_THREAD_GENERATION(%r10), %rdx
	movl	(%rdx), %edx
	cmpl	HK_THREAD_SEEN(%r10), %edx
	jne	.Lprepare
	movq	HK_THREAD_INNER(%r10), %rdx
	movq	%r10, ENTRY(HK_CALL_THREAD)(%rdi)
	movq	%rcx, ENTRY(HK_CALL_CELL)(%rdi)
	movq	%r11, ENTRY(HK_CALL_SITE)(%rdi)
	movq	%rdx, ENTRY(HK_CALL_OUTER)(%rdi)
	movq	%rsp, HK_THREAD_INNER(%r10)
	movq	HK_THREAD_CHILD(%r10), %rdx
	movq	%rdx, ENTRY(HK_CALL_CHILD)(%rdi)
	movq	$0, HK_THREAD_CHILD(%r10)
	movq	HK_THREAD_DOMAINS(%r10), %rdx
	movq	%rdx, ENTRY(HK_CALL_DOMAINS)(%rdi)
	orq	HK_HOT_DOMAIN(%r11), %rdx
	movq	%rdx, HK_THREAD_DOMAINS(%r10)
	movl	HK_HOT_NUMBER(%r11), %esi
	andl	$HK_NUMBER_MASK, %esi
	movq	%rsp, %rdx
	shlq	$28, %rdx			/* frame address / 16 in the upper half */
	orq	%rdx, %rsi
	movl	HK_THREAD_DEPTH(%r10), %edx
	movl	%edx, ENTRY(HK_CALL_DEPTH)(%rdi)
	movl	%edx, %r9d
	andl	$15, %r9d
	shll	$4, %r9d
	incl	%edx
	movl	%edx, HK_THREAD_DEPTH(%r10)
	movq	HK_THREAD_SLOT(%r10), %rax
	addq	%rax, %r9			/* the open call's slot, HK_SLOT_OPEN further on */
	movq	%rsi, HK_SLOT_OPEN(%r9)
	movl	%edx, HK_SLOT_DEPTH(%rax)
	imull	$HK_PLACE_BYTES, %r8d, %r8d
	movq	HK_HOT_ORIGINAL(%r11), %r10
	testb	$HK_STACK_WORDS_CLOCK, HK_HOT_STACK_WORDS(%r11)
	leaq	hk_places + PLACE_CODE(%rip), %r11
	leaq	(%r11,%r8), %r11
	jnz	.Lask_clock
	rdtsc					/* last, as in hk_call_enter */
	shlq	$32, %rdx
	orq	%rdx, %rax
.Lstarted:
	movq	%rax, ENTRY(HK_CALL_START)(%rdi)
	movq	%rax, HK_SLOT_OPEN + 8(%r9)
	incq	(%rcx)				/* cell.calls */
	reload_arguments
	movq	ENTRY(HK_CALL_RDI)(%rdi), %rdi
	ret
.Lask_clock:
	.irp	register, rdi, rcx, r9, r10, r11, r11	/* an even number, for C */
	pushq	%\register
	.cfi_adjust_cfa_offset 8
	.endr
	call	hk_clock_read
	.irp	register, r11, r11, r10, r9, rcx, rdi
	popq	%\register
	.cfi_adjust_cfa_offset -8
	.endr
	jmp	.Lstarted

/* rax: the return address; r8: its first place; r9: hk_callers. */
.Lfind_place:
	movq	%rax, %rcx
	movl	$HK_CALLERS_TRIES, %edx
1:	cmpq	%rcx, (%r9,%r8,8)
	je	.Lplace
	xorl	%eax, %eax
	cmpq	%rax, (%r9,%r8,8)
	jne	2f
	lock cmpxchgq %rcx, (%r9,%r8,8)
	je	.Lplace
	cmpq	%rcx, %rax
	je	.Lplace				/* a call of another thread assigned this place */
2:	incl	%r8d
	andl	$HK_CALLERS - 1, %r8d
	decl	%edx
	jnz	1b
	/* No place is left. The call is counted if possible. */
	movl	HK_HOT_INDEX(%r11), %esi
	movq	HK_THREAD_CELLS(%r10,%rsi,8), %rcx
	cmpl	$0, HK_THREAD_READY(%r10)
	je	3f
	testq	%rcx, %rcx
	jz	3f
	incq	(%rcx)
	movq	HK_THREAD_SLOT(%r10), %rcx
	incq	HK_SLOT_UNTIMED(%rcx)
3:	call	.Lgive_up
.Lpass:
	movq	HK_HOT_ORIGINAL(%r11), %r11
	ret

/* Frees the entry at rdi of a call that cannot be kept, and restores the registers in it. */
.Lgive_up:
	.cfi_remember_state
	.cfi_adjust_cfa_offset 8
	reload_arguments
	movq	$0, HK_KEPT_FRAME(%rdi)
	movq	ENTRY(HK_CALL_RDI)(%rdi), %rdi
	subq	$HK_KEPT_BYTES, HK_THREAD_KEPT(%r10)
	ret
	.cfi_restore_state

/* All entries are in use. A call below the newest of them on its stack is counted without another check. */
.Lcrowded:
	cmpl	$0, HK_THREAD_READY(%r10)
	je	.Lno_room
	movq	HK_KEPT_FRAME(%rdi), %rdi
	subq	%rsp, %rdi
	shrq	$HK_STACK_SHIFT, %rdi
	jnz	.Lno_room
	movq	HK_THREAD_GENERATION(%r10), %rdi
	movl	(%rdi), %edi
	cmpl	%edi, HK_THREAD_SEEN(%r10)
	jne	.Lno_room
	movl	HK_HOT_INDEX(%r11), %edi
	movq	HK_THREAD_CELLS(%r10,%rdi,8), %rdi
	testq	%rdi, %rdi
	jz	.Lno_room
	decl	HK_THREAD_CROWDED(%r10)
	js	.Lno_room
	incq	(%rdi)
	movq	HK_THREAD_SLOT(%r10), %rdi
	incq	HK_SLOT_UNTIMED(%rdi)
	movq	-8(%rsp), %rdi
	jmp	.Lpass

/* A part of the thread's state is missing. */
.Lno_room:
	movq	-8(%rsp), %rdi
	jmp	1f
.Lprepare:
	call	.Lgive_up
1:	leaq	-HK_CALL_BYTES(%rsp), %rsp	/* struct hk_call, whose caller_frame is the return address of this call */
	.cfi_adjust_cfa_offset HK_CALL_BYTES
	.set	AT, HK_CALL_BYTES
	movq	%rdi, AT + HK_CALL_RDI(%rsp)
	movq	%rsi, AT + HK_CALL_RSI(%rsp)
	movq	%rdx, AT + HK_CALL_RDX(%rsp)
	movq	%rcx, AT + HK_CALL_RCX(%rsp)
	movq	%r8, AT + HK_CALL_R8(%rsp)
	movq	%r9, AT + HK_CALL_R9(%rsp)
	movq	%rax, AT + HK_CALL_RAX(%rsp)
	movq	%r11, AT + HK_CALL_SITE(%rsp)
	call	hk_state_has_room
	movzbl	%al, %r10d
	testl	%r10d, %r10d
	jz	2f
	movq	%rsp, %rdi
	movq	AT + HK_CALL_SITE(%rsp), %rsi
	leaq	hk_call_prepare(%rip), %rax
	call	hk_state_saved_call
	movl	%eax, %r10d
2:	movq	AT + HK_CALL_RDI(%rsp), %rdi
	movq	AT + HK_CALL_RSI(%rsp), %rsi
	movq	AT + HK_CALL_RDX(%rsp), %rdx
	movq	AT + HK_CALL_RCX(%rsp), %rcx
	movq	AT + HK_CALL_R8(%rsp), %r8
	movq	AT + HK_CALL_R9(%rsp), %r9
	movq	AT + HK_CALL_RAX(%rsp), %rax
	movq	AT + HK_CALL_SITE(%rsp), %r11
	leaq	HK_CALL_BYTES(%rsp), %rsp
	.cfi_adjust_cfa_offset -HK_CALL_BYTES
	testl	%r10d, %r10d
	jnz	hk_call_stay
	jmp	.Lpass
	.cfi_endproc
	.size	hk_call_stay, . - hk_call_stay

/* ---- way out ---- */

/* The original has returned to its place, whose number is in r11. Makes the frame of an ordinary call with the kept words, and leaves
 * by hk_call_exit_ordered. */
	.p2align 6
	.type	hk_call_return, @function
hk_call_return:
	.cfi_startproc
	.cfi_def_cfa_offset 0
	.cfi_escape CALLER_EXPRESSION
	leaq	hk_callers(%rip), %r10
	pushq	(%r10,%r11,8)
	.cfi_def_cfa_offset 8
	.cfi_offset rip, -8
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register rbp
	subq	$HK_FRAME_BYTES, %rsp
	movq	%rax, HK_CALL_RAX(%rbp)
	movq	%rdx, HK_CALL_RESULT2(%rbp)
	cmpb	$0, hk_clock_by_call(%rip)
	jne	4f
	rdtscp					/* waits for the call's own instructions */
	shlq	$32, %rdx
	orq	%rdx, %rax
1:	movq	%rax, HK_CALL_SCRATCH(%rbp)
	movq	hk_thread_current@gottpoff(%rip), %r10
	movq	%fs:(%r10), %r10
	cmpl	$0, HK_THREAD_READY(%r10)
	je	3f
	movq	HK_THREAD_KEPT(%r10), %rdi
	cmpq	%rbp, HK_KEPT_FRAME(%rdi)
	jne	3f
	.irp	field, HK_CALL_RDI, HK_CALL_RSI, HK_CALL_RDX, HK_CALL_RCX, HK_CALL_R8, HK_CALL_R9, HK_CALL_THREAD, HK_CALL_CELL, \
		HK_CALL_START, HK_CALL_CHILD, HK_CALL_DOMAINS, HK_CALL_OUTER, HK_CALL_DEPTH
	movq	ENTRY(\field)(%rdi), %rcx
	movq	%rcx, \field(%rbp)
	.endr
	movq	ENTRY(HK_CALL_SITE)(%rdi), %r11
	movq	%r11, HK_CALL_SITE(%rbp)
	movq	$0, HK_KEPT_FRAME(%rdi)
	subq	$HK_KEPT_BYTES, %rdi
	movq	%rdi, HK_THREAD_KEPT(%r10)
2:	jmp	hk_call_exit_ordered_timed
	/* Calls that do not end in the order they began, or not on their thread. */
3:	leaq	-HK_CALL_BYTES(%rbp), %rdi
	call	hk_kept_take
	movq	HK_CALL_SITE(%rbp), %r11
	testb	%al, %al
	movq	HK_CALL_SCRATCH(%rbp), %rax
	jnz	2b
	movq	HK_CALL_RAX(%rbp), %rax
	movq	HK_CALL_RESULT2(%rbp), %rdx
	.cfi_remember_state
	leave
	.cfi_def_cfa	rsp, 8
	ret
	.cfi_restore_state
4:	call	hk_clock_read
	jmp	1b
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
	.quad	hk_callers + 8 * place - .
	popq	%r11				/* the return address */
	call	*%r10
	movl	$place, %r11d
	.byte	0xe9				/* jmp, never a short one */
	.long	hk_call_return - . - 4
	.set	place, place + 1
	.endr
	.if	. - hk_places != HK_CALLERS * HK_PLACE_BYTES
	.error	"HK_PLACE_BYTES"
	.endif
	.size	hk_places, . - hk_places

/* The return address of each place; 0: unused. */
	.local	hk_callers
	.comm	hk_callers, HK_CALLERS * 8, 64

/* The places' unwind table, written by hand: assemblers would write four times as much. A place has no frame; the expression finds its
 * return address while the original runs and after. Until the place's call, the caller's return address is still there, above the stack
 * pointer or just below it. A place takes no room on the stack, so its caller's frame begins at the same address. libgcc's unwinder
 * tells the two apart if a signal frame called one: after such a frame the address is that of an instruction, not of one after a call;
 * hence 1 less. */
	.section .eh_frame, "a", @unwind
.Lcie:
	.long	.Lcie_end - .Lcie_content
.Lcie_content:
	.long	0
	.byte	1				/* version */
	.asciz	"zRS"
	.uleb128 1				/* code alignment */
	.sleb128 -8				/* data alignment */
	.byte	16				/* return address: rip */
	.uleb128 1
	.byte	0x1b				/* addresses are relative to their own, in four bytes */
	.byte	0x0c, 7, 0			/* DW_CFA_def_cfa: rsp */
	.byte	CALLER_EXPRESSION
	.balign	8, 0
.Lcie_end:
	.set	group, 0
	.rept	HK_CALLERS / PLACES_DESCRIBED
	.long	8f - 7f
7:	.long	. - .Lcie
	.long	hk_places + group * PLACES_DESCRIBED * HK_PLACE_BYTES - .
	.long	PLACES_DESCRIBED * HK_PLACE_BYTES
	.uleb128 0
	.set	step, PLACE_CODE
	.rept	PLACES_DESCRIBED
	.byte	0x40 + step, 0x0a		/* at the code; remember_state */
	.byte	0x0e, 8, 0x90, 1		/* the CFA is 8 above rsp, the return address at the CFA - 8 */
	.byte	0x40 + PLACE_CALL - PLACE_CODE, 0x0e, 0	/* at the call: the CFA is rsp */
	.byte	0x41, 0x0b			/* in the call, where the unwinder looks while it runs; restore_state */
	.set	step, HK_PLACE_BYTES - PLACE_CALL - 1 + PLACE_CODE
	.endr
	.balign	8, 0
8:
	.set	group, group + 1
	.endr

#endif

	.section .note.GNU-stack,"",@progbits
