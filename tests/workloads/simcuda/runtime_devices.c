/* Devices, errors and entry points of the simulated runtime, and the functions that PyTorch needs
 * to be there without using what they do. */
#include <stdio.h>
#include <string.h>

#include "runtime.h"

#define VERSION 13020
#define SIM_NOT_SUPPORTED 801
#define PROCESSORS 8

/* ---- properties: as a device of compute capability 9.0 would have them */

/* Offsets in cudaDeviceProp of CUDA 13, which has 1,008 bytes. */
enum {
	AT_TOTAL_MEMORY = 288,
	AT_SHARED_OF_BLOCK = 296,
	AT_REGISTERS_OF_BLOCK = 304,
	AT_WARP = 308,
	AT_THREADS_OF_BLOCK = 320,
	AT_BLOCK = 324,
	AT_GRID = 336,
	AT_MAJOR = 360,
	AT_MINOR = 364,
	AT_PROCESSORS = 384,
	AT_L2 = 596,
	AT_THREADS_OF_PROCESSOR = 604,
	AT_SHARED_OF_PROCESSOR = 624,
	AT_REGISTERS_OF_PROCESSOR = 632,
	AT_SHARED_OPTIN = 672,
	PROPERTIES = 1008
};

static void put_int(char *properties, unsigned at, int value)
{
	memcpy(properties + at, &value, sizeof(value));
}

static void put_size(char *properties, unsigned at, size_t value)
{
	memcpy(properties + at, &value, sizeof(value));
}

int cudaGetDeviceProperties(void *to, int device)
{
	char *properties = to;

	if (device < 0 || device >= SIM_DEVICES) {
		return sim_done(SIM_INVALID_DEVICE);
	}
	memset(properties, 0, PROPERTIES);
	snprintf(properties, 256, "Simulated device %d", device);
	properties[256] = (char)(device + 1); /* uuid */
	put_size(properties, AT_TOTAL_MEMORY, SIM_DEVICE_BYTES);
	put_size(properties, AT_SHARED_OF_BLOCK, 49152);
	put_int(properties, AT_REGISTERS_OF_BLOCK, 65536);
	put_int(properties, AT_WARP, 32);
	put_int(properties, AT_THREADS_OF_BLOCK, 1024);
	const int block[3] = {1024, 1024, 64}, grid[3] = {0x7fffffff, 65535, 65535};
	memcpy(properties + AT_BLOCK, block, sizeof(block));
	memcpy(properties + AT_GRID, grid, sizeof(grid));
	put_int(properties, AT_MAJOR, 9);
	put_int(properties, AT_MINOR, 0);
	put_int(properties, AT_PROCESSORS, PROCESSORS);
	put_int(properties, AT_L2, 1 << 20);
	put_int(properties, AT_THREADS_OF_PROCESSOR, 2048);
	put_size(properties, AT_SHARED_OF_PROCESSOR, 233472);
	put_int(properties, AT_REGISTERS_OF_PROCESSOR, 65536);
	put_size(properties, AT_SHARED_OPTIN, 232448);
	return SIM_SUCCESS;
}

/* By the numbers of cudaDeviceAttr. */
int cudaDeviceGetAttribute(int *value, int attribute, int device)
{
	static const struct {
		int attribute, value;
	} known[] = {{1, 1024},	       {2, 1024},  {3, 1024},	 {4, 64},  {5, 0x7fffffff},
		     {6, 65535},       {7, 65535}, {8, 49152},	 {10, 32}, {12, 65536},
		     {16, PROCESSORS}, {39, 2048}, {75, 9},	 {76, 0},  {81, 233472},
		     {83, 1},	       {89, 1},	   {97, 232448}, {115, 1}};

	*value = 0;
	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		*value = known[i].attribute == attribute ? known[i].value : *value;
	}
	return sim_done(device >= 0 && device < SIM_DEVICES ? SIM_SUCCESS : SIM_INVALID_DEVICE);
}

int cudaDriverGetVersion(int *version)
{
	*version = VERSION;
	return SIM_SUCCESS;
}

int cudaRuntimeGetVersion(int *version)
{
	*version = VERSION;
	return SIM_SUCCESS;
}

int cudaDeviceGetPCIBusId(char *text, int size, int device)
{
	snprintf(text, (size_t)size, "0000:%02x:00.0", device + 1);
	return SIM_SUCCESS;
}

int cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	*least = 0;
	*greatest = -5;
	return SIM_SUCCESS;
}

int cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
	(void)device;
	(void)peer;
	*can = 0;
	return SIM_SUCCESS;
}

/* ---- errors */

const char *cudaGetErrorName(int error)
{
	return error == SIM_SUCCESS	     ? "cudaSuccess"
	       : error == SIM_OUT_OF_MEMORY  ? "cudaErrorMemoryAllocation"
	       : error == SIM_NOT_READY	     ? "cudaErrorNotReady"
	       : error == SIM_INVALID_VALUE  ? "cudaErrorInvalidValue"
	       : error == SIM_INVALID_DEVICE ? "cudaErrorInvalidDevice"
	       : error == SIM_NOT_SUPPORTED  ? "cudaErrorNotSupported"
					     : "cudaErrorUnknown";
}

const char *cudaGetErrorString(int error)
{
	return error == SIM_SUCCESS ? "no error" : "simulated error";
}

/* ---- entry points of the driver */

static int not_supported(void)
{
	return SIM_NOT_SUPPORTED;
}

int cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned version,
				     unsigned long long flags, int *status)
{
	static __typeof__(&cuGetProcAddress_v2) get;

	(void)flags;
	SIM_FIND("cuGetProcAddress", get);
	/* A driver has more functions than this one. */
	if (get(symbol, function, (int)version, 0, NULL) != SIM_SUCCESS) {
		*function = (void *)(uintptr_t)not_supported;
	}
	if (status) {
		*status = 0;
	}
	return SIM_SUCCESS;
}

/* ---- functions and how they fit on a processor */

int cudaFuncGetAttributes(void *attributes, const void *function)
{
	int *numbers = attributes;

	memset(attributes, 0, 144);
	numbers[6] = 1024; /* threads of a block */
	numbers[7] = 32;   /* registers */
	numbers[8] = numbers[9] = 90;
	return sim_done(function ? SIM_SUCCESS : SIM_INVALID_DEVICE_FUNCTION);
}

int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int threads,
						  size_t shared)
{
	(void)function;
	(void)shared;
	*blocks = threads > 0 ? 2048 / threads : 0;
	return SIM_SUCCESS;
}

int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function,
							   int threads, size_t shared,
							   unsigned flags)
{
	(void)flags;
	return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared);
}

/* ---- what succeeds and does nothing, and what is not there */

#define DOES_NOTHING(function)      \
	int function(void);         \
	int function(void)          \
	{                           \
		return SIM_SUCCESS; \
	}
#define IS_MISSING(function)                        \
	int function(void);                         \
	int function(void)                          \
	{                                           \
		return sim_done(SIM_NOT_SUPPORTED); \
	}

DOES_NOTHING(cudaDeviceEnablePeerAccess)
DOES_NOTHING(cudaDeviceSetGraphMemAttribute)
DOES_NOTHING(cudaFuncSetAttribute)
DOES_NOTHING(cudaGraphRetainUserObject)
DOES_NOTHING(cudaKernelSetAttributeForDevice)
DOES_NOTHING(cudaMemAdvise)
DOES_NOTHING(cudaMemPoolSetAccess)
DOES_NOTHING(cudaMemPoolSetAttribute)
DOES_NOTHING(cudaProfilerStart)
DOES_NOTHING(cudaProfilerStop)
DOES_NOTHING(cudaThreadExchangeStreamCaptureMode)
DOES_NOTHING(cudaUserObjectRelease)
IS_MISSING(cudaGraphAddNode)
IS_MISSING(cudaGraphConditionalHandleCreate)
IS_MISSING(cudaGraphNodeGetDependencies)
IS_MISSING(cudaIpcCloseMemHandle)
IS_MISSING(cudaIpcGetEventHandle)
IS_MISSING(cudaIpcGetMemHandle)
IS_MISSING(cudaIpcOpenEventHandle)
IS_MISSING(cudaIpcOpenMemHandle)
IS_MISSING(cudaLibraryGetGlobal)
IS_MISSING(cudaLibraryGetKernelCount)
IS_MISSING(cudaLibraryGetManaged)
IS_MISSING(cudaLibraryGetUnifiedFunction)
IS_MISSING(cudaStreamBeginCaptureToGraph)
IS_MISSING(cudaStreamUpdateCaptureDependencies)
IS_MISSING(cudaUserObjectCreate)
