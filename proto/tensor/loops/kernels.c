#include "tensor/loops/kernels.h"

#include <stdatomic.h>

const struct hk_kernels *const hk_kernels_all[] = {
#ifdef __x86_64__
    &hk_kernels_avx512,
    &hk_kernels_avx2,
#endif
    &hk_kernels_plain,
    NULL,
};

const struct hk_kernels *hk_kernels_best(void)
{
	static const struct hk_kernels *_Atomic chosen;
	const struct hk_kernels *best = atomic_load_explicit(&chosen, memory_order_relaxed);

	if (!best) {
		size_t i = 0;
		while (!hk_kernels_all[i]->usable()) {
			i++;
		}
		best = hk_kernels_all[i];
		atomic_store_explicit(&chosen, best, memory_order_relaxed);
	}
	return best;
}
