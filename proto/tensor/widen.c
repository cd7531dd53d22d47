#include "tensor/widen.h"

#include <string.h>

#include "tensor/half.h"

#define WIDEN(name, type, value)                                                \
	static void widen_##name(const uint8_t *from, size_t count, double *to) \
	{                                                                       \
		for (size_t i = 0; i < count; i++) {                            \
			type x;                                                 \
			memcpy(&x, from + i * sizeof(x), sizeof(x));            \
			to[i] = (double)(value);                                \
		}                                                               \
	}

WIDEN(bool, uint8_t, x != 0)
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

typedef void widen_function(const uint8_t *from, size_t count, double *to);

static widen_function *const functions[HK_DTYPES] = {
    [HK_DTYPE_BOOL] = widen_bool, [HK_DTYPE_U8] = widen_u8,	   [HK_DTYPE_I8] = widen_i8,
    [HK_DTYPE_U16] = widen_u16,	  [HK_DTYPE_I16] = widen_i16,	   [HK_DTYPE_U32] = widen_u32,
    [HK_DTYPE_I32] = widen_i32,	  [HK_DTYPE_U64] = widen_u64,	   [HK_DTYPE_I64] = widen_i64,
    [HK_DTYPE_F16] = widen_f16,	  [HK_DTYPE_BF16] = widen_bf16,	   [HK_DTYPE_F32] = widen_f32,
    [HK_DTYPE_F64] = widen_f64,	  [HK_DTYPE_F8_E4M3] = widen_e4m3, [HK_DTYPE_F8_E5M2] = widen_e5m2,
};

void hk_widen(enum hk_dtype dtype, const void *from, size_t count, double *to)
{
	functions[dtype](from, count, to);
}
