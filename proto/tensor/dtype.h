/* dtype.h: the types of tensors' elements. Pure. */
#ifndef HK_TENSOR_DTYPE_H
#define HK_TENSOR_DTYPE_H

#include <stddef.h>

/* The numbers are part of the dump's format (proto/dump/FORMAT.md) and never change. */
enum hk_dtype {
	HK_DTYPE_NONE = 0, /* unknown, or no numbers */
	HK_DTYPE_BOOL = 1, /* one byte, 0 or not */
	HK_DTYPE_U8 = 2,
	HK_DTYPE_I8 = 3,
	HK_DTYPE_U16 = 4,
	HK_DTYPE_I16 = 5,
	HK_DTYPE_U32 = 6,
	HK_DTYPE_I32 = 7,
	HK_DTYPE_U64 = 8,
	HK_DTYPE_I64 = 9,
	HK_DTYPE_F16 = 10,
	HK_DTYPE_BF16 = 11,
	HK_DTYPE_F32 = 12,
	HK_DTYPE_F64 = 13,
	HK_DTYPE_F8_E4M3 = 14, /* torch.float8_e4m3fn: no Inf, NaN is 0x7f and 0xff */
	HK_DTYPE_F8_E5M2 = 15,
	HK_DTYPES
};

/* Bytes of an element, 0 for HK_DTYPE_NONE and numbers beyond. */
size_t hk_dtype_bytes(enum hk_dtype dtype);

/* "float32", "bfloat16", "float8_e4m3fn", ...: torch's name without "torch."; "?" if unknown. */
const char *hk_dtype_name(enum hk_dtype dtype);

/* The dtype that torch, NumPy, Paddle or MindSpore call NAME: "torch.float32", "float32",
 * "Float32", "paddle.bfloat16", "<f4", "half", ... HK_DTYPE_NONE if unknown. */
enum hk_dtype hk_dtype_parse(const char *name);

#endif
