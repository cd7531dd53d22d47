/* float_mode.h: sums do not depend on the caller's floating-point mode. Internal.
 *
 * A training may flush subnormal numbers to zero or trap on NaN. hk_float_mode_enter switches to
 * rounding to nearest without either; hk_float_mode_leave restores the caller's mode and flags.
 */
#ifndef HK_TENSOR_FLOAT_MODE_H
#define HK_TENSOR_FLOAT_MODE_H

#include <stdint.h>

#ifdef __SSE2__
#include <xmmintrin.h>

#define HK_FLOAT_MODE_USUAL 0x1f80u /* all exceptions masked, to nearest, subnormals kept */

static inline uint64_t hk_float_mode_enter(void)
{
	uint32_t mode = _mm_getcsr();

	_mm_setcsr(HK_FLOAT_MODE_USUAL);
	return mode;
}

static inline void hk_float_mode_leave(uint64_t mode)
{
	_mm_setcsr((uint32_t)mode);
}
#elif defined(__aarch64__)
/* FPCR in the lower, FPSR in the upper half. */
static inline uint64_t hk_float_mode_enter(void)
{
	uint64_t control, status;

	__asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(control), "=r"(status));
	__asm__ volatile("msr fpcr, %0" : : "r"(0ul) : "memory");
	return control | status << 32;
}

static inline void hk_float_mode_leave(uint64_t mode)
{
	uint64_t control = mode & UINT32_MAX, status = mode >> 32;

	__asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1" : : "r"(control), "r"(status) : "memory");
}
#else
static inline uint64_t hk_float_mode_enter(void)
{
	return 0;
}

static inline void hk_float_mode_leave(uint64_t mode)
{
	(void)mode;
}
#endif

#endif
