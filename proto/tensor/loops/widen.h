/* widen.h: elements of each dtype to double, for the file that includes it to compile for its
 * processor: LOOPS_TARGET is the functions' attribute. Internal. */
#ifndef HK_TENSOR_LOOPS_WIDEN_H
#define HK_TENSOR_LOOPS_WIDEN_H

#include "tensor/loops/half.h"
#include "tensor/loops/kernels.h"

#define WIDEN(name, type, value)                                                          \
	LOOPS_TARGET static void widen_##name(const void *from, size_t count, double *to) \
	{                                                                                 \
		const char *at = from;                                                    \
                                                                                          \
		for (size_t i = 0; i < count; i++) {                                      \
			type x;                                                           \
			memcpy(&x, at + i * sizeof(x), sizeof(x));                        \
			to[i] = (double)(value);                                          \
		}                                                                         \
	}

WIDEN(boolean, uint8_t, x != 0)
WIDEN(u8, uint8_t, x)
WIDEN(i8, int8_t, x)
WIDEN(u16, uint16_t, x)
WIDEN(i16, int16_t, x)
WIDEN(u32, uint32_t, x)
WIDEN(i32, int32_t, x)
WIDEN(u64, uint64_t, x)
WIDEN(i64, int64_t, x)
WIDEN(f16, uint16_t, hk_float_of_f16(x))
WIDEN(bf16, uint16_t, hk_float_of_bf16(x))
WIDEN(f32, float, x)
WIDEN(f64, double, x)
WIDEN(e4m3, uint8_t, hk_float_of_e4m3(x))
WIDEN(e5m2, uint8_t, hk_float_of_e5m2(x))

static const struct hk_widening widening = {
    .boolean = widen_boolean,
    .u8 = widen_u8,
    .i8 = widen_i8,
    .u16 = widen_u16,
    .i16 = widen_i16,
    .u32 = widen_u32,
    .i32 = widen_i32,
    .u64 = widen_u64,
    .i64 = widen_i64,
    .f16 = widen_f16,
    .bf16 = widen_bf16,
    .f32 = widen_f32,
    .f64 = widen_f64,
    .e4m3 = widen_e4m3,
    .e5m2 = widen_e5m2,
};

#endif
