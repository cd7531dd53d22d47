/* place.h: where the arguments of a described function lie when it is entered.
 *
 * Integers and pointers take integer registers in order, float and double take vector registers in
 * order, whatever is left takes 8-byte stack words in order. A struct of more than 16 bytes lies on
 * the stack (System V x86-64), or its address is an argument like a pointer (AAPCS64). Pure
 * function.
 * A dim3 takes two integer registers in a row, or two stack words.
 */
#ifndef HK_HOOKS_LANGUAGE_PLACE_H
#define HK_HOOKS_LANGUAGE_PLACE_H

#include "hooks/hook.h"

/* A build for another machine defines HK_PLACE_TARGET_*: places are then those of the target. */
#if defined(__aarch64__) || defined(HK_PLACE_TARGET_aarch64)
#define HK_PLACE_AAPCS64 1
#define HK_PLACE_INTEGER_REGISTERS 8u /* x0 to x7 (AAPCS64) */
#else
#define HK_PLACE_AAPCS64 0
#define HK_PLACE_INTEGER_REGISTERS 6u /* rdi rsi rdx rcx r8 r9 (System V x86-64) */
#endif
#define HK_PLACE_FLOAT_REGISTERS 8u

/* Sets place and index of every argument, and stack_words so that it covers them and `hidden`
 * further integer arguments (the lengths a Fortran compiler passes after the last one). -E2BIG:
 * they take more than HK_HOOK_STACK_MOST, so the function cannot be hooked. */
int hk_locate_arguments(struct hk_hook *hook, unsigned hidden);

#endif
