#include "tensor/dtype.h"

#include <string.h>
#include <strings.h>

struct dtype_row {
	const char *name;
	size_t bytes;
};

static const struct dtype_row rows[HK_DTYPES] = {
    [HK_DTYPE_NONE] = {"?", 0},
    [HK_DTYPE_BOOL] = {"bool", 1},
    [HK_DTYPE_U8] = {"uint8", 1},
    [HK_DTYPE_I8] = {"int8", 1},
    [HK_DTYPE_U16] = {"uint16", 2},
    [HK_DTYPE_I16] = {"int16", 2},
    [HK_DTYPE_U32] = {"uint32", 4},
    [HK_DTYPE_I32] = {"int32", 4},
    [HK_DTYPE_U64] = {"uint64", 8},
    [HK_DTYPE_I64] = {"int64", 8},
    [HK_DTYPE_F16] = {"float16", 2},
    [HK_DTYPE_BF16] = {"bfloat16", 2},
    [HK_DTYPE_F32] = {"float32", 4},
    [HK_DTYPE_F64] = {"float64", 8},
    [HK_DTYPE_F8_E4M3] = {"float8_e4m3fn", 1},
    [HK_DTYPE_F8_E5M2] = {"float8_e5m2", 1},
};

static const struct {
	const char *name;
	enum hk_dtype dtype;
} aliases[] = {
    {"bool_", HK_DTYPE_BOOL},
    {"byte", HK_DTYPE_U8},
    {"char", HK_DTYPE_I8},
    {"short", HK_DTYPE_I16},
    {"int", HK_DTYPE_I32},
    {"long", HK_DTYPE_I64},
    {"half", HK_DTYPE_F16},
    {"fp16", HK_DTYPE_F16},
    {"bf16", HK_DTYPE_BF16},
    {"float", HK_DTYPE_F32},
    {"fp32", HK_DTYPE_F32},
    {"single", HK_DTYPE_F32},
    {"double", HK_DTYPE_F64},
    {"fp64", HK_DTYPE_F64},
    {"float8_e4m3", HK_DTYPE_F8_E4M3},
    {"fp8_e4m3", HK_DTYPE_F8_E4M3},
    {"fp8_e5m2", HK_DTYPE_F8_E5M2},
    {"|b1", HK_DTYPE_BOOL},
    {"|u1", HK_DTYPE_U8},
    {"|i1", HK_DTYPE_I8},
    {"<u2", HK_DTYPE_U16},
    {"<i2", HK_DTYPE_I16},
    {"<u4", HK_DTYPE_U32},
    {"<i4", HK_DTYPE_I32},
    {"<u8", HK_DTYPE_U64},
    {"<i8", HK_DTYPE_I64},
    {"<f2", HK_DTYPE_F16},
    {"<f4", HK_DTYPE_F32},
    {"<f8", HK_DTYPE_F64},
};

static const char *const prefixes[] = {"torch.", "paddle.", "mindspore.",
				       "numpy.", "np.",	    "VarType."};

static const char *skip_prefix(const char *name)
{
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		size_t length = strlen(prefixes[i]);
		if (!strncasecmp(name, prefixes[i], length)) {
			return name + length;
		}
	}
	return name;
}

size_t hk_dtype_bytes(enum hk_dtype dtype)
{
	return (unsigned)dtype < HK_DTYPES ? rows[dtype].bytes : 0;
}

const char *hk_dtype_name(enum hk_dtype dtype)
{
	return rows[(unsigned)dtype < HK_DTYPES ? dtype : HK_DTYPE_NONE].name;
}

enum hk_dtype hk_dtype_parse(const char *name)
{
	name = skip_prefix(name);
	for (int i = HK_DTYPE_BOOL; i < HK_DTYPES; i++) {
		if (!strcasecmp(name, rows[i].name)) {
			return (enum hk_dtype)i;
		}
	}
	for (size_t i = 0; i < sizeof(aliases) / sizeof(*aliases); i++) {
		if (!strcasecmp(name, aliases[i].name)) {
			return aliases[i].dtype;
		}
	}
	return HK_DTYPE_NONE;
}
