#include "agent/patch/constant.h"

	.bss
	.globl	hk_constant_values
	.hidden	hk_constant_values
	.type	hk_constant_values, @object
	.size	hk_constant_values, HK_CONSTANTS * 8
	.p2align 3
hk_constant_values:
	.zero	HK_CONSTANTS * 8

	.text
	.globl	hk_constant_functions
	.hidden	hk_constant_functions
	.type	hk_constant_functions, @function
	.p2align 5
hk_constant_functions:
	.cfi_startproc
	.set	index, 0
	.rept	HK_CONSTANTS
	.p2align 5
#if defined(__x86_64__)
	endbr64
	movq	(hk_constant_values + 8 * index)(%rip), %rax
	movq	%rax, %xmm0
	xorl	%edx, %edx
	ret
#elif defined(__aarch64__)
	hint	#34				/* bti c */
	adrp	x0, hk_constant_values + 8 * index
	ldr	x0, [x0, :lo12:hk_constant_values + 8 * index]
	fmov	d0, x0
	mov	x1, xzr
	ret
#endif
	.set	index, index + 1
	.endr
	.p2align 5
	.cfi_endproc
	.size	hk_constant_functions, . - hk_constant_functions

#if defined(__aarch64__)
	/* Each function begins with `bti c`. */
	.section .note.gnu.property,"a"
	.p2align 3
	.word	4, 16, 5			/* sizes of name and content; NT_GNU_PROPERTY_TYPE_0 */
	.asciz	"GNU"
	.word	0xc0000000, 4, 1, 0		/* GNU_PROPERTY_AARCH64_FEATURE_1_AND: BTI */
#endif

	.section .note.GNU-stack, "", %progbits
