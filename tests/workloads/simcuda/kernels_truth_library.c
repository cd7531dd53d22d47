/* A library with two kernels of nvcc's, which a constructor registers and a destructor takes back.
 * Built three times, with other names for its kernels. */
#include "kernels_truth.h"

#define VISIBLE __attribute__((visibility("default")))

VISIBLE KERNEL_STUB(kernels_library_first, 1);
VISIBLE KERNEL_STUB(kernels_library_second, 2);

static void **handle;

__attribute__((constructor)) static void register_all(void)
{
	static const int image = 1;

	handle = __cudaRegisterFatBinary(&image);
	register_kernel(handle, kernels_library_first, KERNEL_NAME "_first");
	register_kernel(handle, kernels_library_second, KERNEL_NAME "_second");
	__cudaRegisterFatBinaryEnd(handle);
}

__attribute__((destructor)) static void unregister(void)
{
	__cudaUnregisterFatBinary(handle);
}
