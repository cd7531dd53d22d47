#include "tensor/widen.h"

#define PLACE(member) (offsetof(struct hk_widening, member) / sizeof(hk_widen *))

static const unsigned places[HK_DTYPES] = {
    [HK_DTYPE_BOOL] = PLACE(boolean), [HK_DTYPE_U8] = PLACE(u8),
    [HK_DTYPE_I8] = PLACE(i8),	      [HK_DTYPE_U16] = PLACE(u16),
    [HK_DTYPE_I16] = PLACE(i16),      [HK_DTYPE_U32] = PLACE(u32),
    [HK_DTYPE_I32] = PLACE(i32),      [HK_DTYPE_U64] = PLACE(u64),
    [HK_DTYPE_I64] = PLACE(i64),      [HK_DTYPE_F16] = PLACE(f16),
    [HK_DTYPE_BF16] = PLACE(bf16),    [HK_DTYPE_F32] = PLACE(f32),
    [HK_DTYPE_F64] = PLACE(f64),      [HK_DTYPE_F8_E4M3] = PLACE(e4m3),
    [HK_DTYPE_F8_E5M2] = PLACE(e5m2),
};

hk_widen *hk_widen_function(const struct hk_kernels *kernels, enum hk_dtype dtype)
{
	return ((hk_widen *const *)kernels->widening)[places[dtype]];
}

void hk_widen_elements(enum hk_dtype dtype, const void *from, size_t count, double *to)
{
	hk_widen_function(hk_kernels_best(), dtype)(from, count, to);
}
