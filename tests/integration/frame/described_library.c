/* Functions that the shipped hooks describe, and each of them under a name that no hook describes.
 * Beside mpi_reload_library.c, which answers for MPI; here is what answers for CUDA. */
#include <stddef.h>

/* NAME, plain_NAME and bare_NAME: one function. */
#define TWIN(type, name, parameters, result)                                               \
	type name parameters;                                                              \
	__attribute__((visibility("default"))) type name parameters                        \
	{                                                                                  \
		__asm__ volatile("");                                                      \
		return result;                                                             \
	}                                                                                  \
	type plain_##name parameters __attribute__((alias(#name), visibility("default"))); \
	type bare_##name parameters __attribute__((alias(#name), visibility("default")));

TWIN(double, ddot_, (const int *n, const double *x, const int *dx, const double *y, const int *dy),
     *n *x[0] * y[0] + *dx + *dy)
TWIN(int, MPI_Ssend, (const void *data, int count, int type, int to, int tag, int comm),
     !data || count + type + to + tag + comm == 0)
TWIN(int, MPI_Recv, (void *data, int count, int type, int from, int tag, int comm, void *status),
     !data || !status || count + type + from + tag + comm == 0)
TWIN(int, MPI_Allreduce, (const void *in, void *out, int count, int type, int operation, int comm),
     in == out || count + type + operation + comm == 0)
TWIN(int, MPI_Bcast, (void *data, int count, int type, int root, int comm),
     !data || count + type + root + comm == 0)
TWIN(int, cudaLaunchKernel,
     (const void *kernel, unsigned long grid, unsigned grid_z, unsigned long block,
      unsigned block_z, void **arguments, size_t shared, void *stream),
     !kernel || grid + grid_z + block + block_z == 0 || !arguments || shared || stream)
TWIN(long, __read_chk, (int descriptor, void *data, size_t bytes, size_t room),
     descriptor < 0 || !data ? -1 : (long)(bytes < room ? bytes : room))
TWIN(int, cudaMemcpyAsync, (void *to, const void *from, size_t bytes, int kind, void *stream),
     !to || !from || !bytes || kind < 0 || stream)

int cuCtxGetDevice(int *device);
__attribute__((visibility("default"))) int cuCtxGetDevice(int *device)
{
	*device = 0;
	return 0;
}
