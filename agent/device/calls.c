#include "agent/device/calls.h"

#include <stddef.h>

/* Numbers of calls, both included. */
struct calls {
	uint16_t first, last;
};

/* From cupti_runtime_cbid.h and cupti_driver_cbid.h of CUDA 13.2: launches, copies, sets and
 * prefetches. A number never gets another meaning. Older libraries refuse the newer numbers. */
static const struct calls runtime[] = {
    {13, 13},	/* cudaLaunch */
    {31, 52},	/* cudaMemcpy to cudaMemset2DAsync */
    {142, 145}, /* cudaMemset3D to cudaMemcpy3DAsync */
    {160, 163}, /* cudaMemcpyPeer to cudaMemcpy3DPeerAsync */
    {211, 211}, /* cudaLaunchKernel */
    {213, 236}, /* cudaLaunch_ptsz to cudaMemset2DAsync_ptsz */
    {243, 246}, /* cudaMemset3D_ptds to cudaMemcpy3DAsync_ptsz */
    {249, 250}, /* cudaMemcpy3DPeer_ptds to cudaMemcpy3DPeerAsync_ptsz */
    {252, 253}, /* cudaMemPrefetchAsync to cudaMemPrefetchAsync_ptsz */
    {269, 270}, /* cudaLaunchCooperativeKernel to cudaLaunchCooperativeKernel_ptsz */
    {272, 272}, /* cudaLaunchCooperativeKernelMultiDevice */
    {311, 312}, /* cudaGraphLaunch to cudaGraphLaunch_ptsz */
    {430, 431}, /* cudaLaunchKernelExC to cudaLaunchKernelExC_ptsz */
    {449, 450}, /* cudaMemPrefetchAsync to cudaMemPrefetchAsync_ptsz */
    {482, 485}, /* cudaMemcpyBatchAsync to cudaMemcpy3DBatchAsync_ptsz */
    {487, 488}, /* cudaMemPrefetchBatchAsync to cudaMemPrefetchBatchAsync_ptsz */
    {491,
     492}, /* cudaMemDiscardAndPrefetchBatchAsync to cudaMemDiscardAndPrefetchBatchAsync_ptsz */
    {505, 506}, /* __cudaLaunchKernel to __cudaLaunchKernel_ptsz */
    {509, 512}, /* cudaMemcpyBatchAsync to cudaMemcpy3DBatchAsync_ptsz */
    {554, 557}, /* cudaMemcpyWithAttributesAsync to cudaMemcpy3DWithAttributesAsync_ptsz */
};

static const struct calls driver[] = {
    {216, 216}, /* cuMemsetD8Async */
    {218, 218}, /* cuMemsetD16Async */
    {220, 220}, /* cuMemsetD32Async */
    {222, 222}, /* cuMemsetD2D8Async */
    {224, 224}, /* cuMemsetD2D16Async */
    {226, 226}, /* cuMemsetD2D32Async */
    {248, 254}, /* cuMemcpy_v2 to cuMemsetD2D32_v2 */
    {276, 293}, /* cuMemcpyHtoD_v2 to cuMemcpyHtoAAsync_v2 */
    {305, 307}, /* cuMemcpy to cuLaunchKernel */
    {318, 321}, /* cuMemcpyPeer to cuMemcpy3DPeerAsync */
    {397, 416}, /* cuMemcpyHtoD_v2_ptds to cuMemsetD2D32_v2_ptds */
    {418, 433}, /* cuMemcpyAsync_ptsz to cuMemsetD2D32Async_ptsz */
    {442, 442}, /* cuLaunchKernel_ptsz */
    {467, 468}, /* cuMemPrefetchAsync to cuMemPrefetchAsync_ptsz */
    {477, 478}, /* cuLaunchCooperativeKernel to cuLaunchCooperativeKernel_ptsz */
    {480, 480}, /* cuLaunchCooperativeKernelMultiDevice */
    {514, 515}, /* cuGraphLaunch to cuGraphLaunch_ptsz */
    {652, 653}, /* cuLaunchKernelEx to cuLaunchKernelEx_ptsz */
    {716, 717}, /* cuMemPrefetchAsync_v2 to cuMemPrefetchAsync_v2_ptsz */
    {776, 779}, /* cuMemcpyBatchAsync to cuMemcpy3DBatchAsync_ptsz */
    {784, 785}, /* cuMemPrefetchBatchAsync to cuMemPrefetchBatchAsync_ptsz */
    {791, 792}, /* cuMemDiscardAndPrefetchBatchAsync to cuMemDiscardAndPrefetchBatchAsync_ptsz */
    {796, 799}, /* cuMemcpyBatchAsync_v2 to cuMemcpy3DBatchAsync_v2_ptsz */
    {819, 819}, /* cuGraphLaunchWithArguments */
    {828, 829}, /* cuSubgridScheduleLaunch to cuSubgridScheduleLaunch_ptsz */
    {837, 840}, /* cuMemcpyWithAttributesAsync to cuMemcpy3DWithAttributesAsync_ptsz */
};

static void choose_all(int (*choose)(uint32_t, uint8_t), const struct calls *calls, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		for (uint32_t number = calls[i].first; number <= calls[i].last; number++) {
			choose(number, 1);
		}
	}
}

void hk_device_choose_runtime(int (*choose)(uint32_t call, uint8_t enable))
{
	choose_all(choose, runtime, sizeof(runtime) / sizeof(runtime[0]));
}

void hk_device_choose_driver(int (*choose)(uint32_t call, uint8_t enable))
{
	choose_all(choose, driver, sizeof(driver) / sizeof(driver[0]));
}
