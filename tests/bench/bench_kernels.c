/* bench_kernels: what the names of kernels cost when they are registered: as many as PyTorch has,
 * on the simulated runtime, beside the same registrations in a process without an agent.
 *
 * Run under `hookcli run`. Exits with 1 if the limit is missed.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KERNELS 24114u
#define NAME_BYTES 495u /* the mean of PyTorch's */
#define ROUNDS 21
#define CHILDREN 9   /* processes with an agent, and as many without */
#define LIMIT_MS 7.0 /* that the first registrations may add */

void **__cudaRegisterFatBinary(const void *image);
void __cudaRegisterFunction(void **handle, const char *function, char *device_function,
			    const char *name, int threads, void *tid, void *bid, void *block,
			    void *grid, int *warp);

static char names[KERNELS][NAME_BYTES + 1];

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* The names' addresses stand for functions of the host as well. */
static double register_all(void **handle)
{
	double start = now_ms();

	for (uint32_t i = 0; i < KERNELS; i++) {
		__cudaRegisterFunction(handle, names[i], names[i], names[i], -1, NULL, NULL, NULL,
				       NULL, NULL);
	}
	return now_ms() - start;
}

/* Sets the time of the first registrations, and the shortest of later ones. */
static void measure(double *ret_first, double *ret_again)
{
	static const int image = 1;
	void **handle = __cudaRegisterFatBinary(&image);

	for (uint32_t i = 0; i < KERNELS; i++) {
		memset(names[i], 'k', NAME_BYTES);
	}
	*ret_first = register_all(handle);
	*ret_again = register_all(handle);
	for (int i = 0; i < ROUNDS; i++) {
		double ms = register_all(handle);
		*ret_again = ms < *ret_again ? ms : *ret_again;
	}
}

/* Runs this program again, as COMMAND starts it. The shortest times count. */
static int measure_child(const char *start, const char *program, double *first, double *again)
{
	char command[4096];
	double one, later;

	snprintf(command, sizeof(command), "%s '%s' child", start, program);
	FILE *child = popen(command, "re");
	int read = child ? fscanf(child, "%lf %lf", &one, &later) : 0;
	if (!child || pclose(child) != 0 || read != 2) {
		return -1;
	}
	*first = one < *first ? one : *first;
	*again = later < *again ? later : *again;
	return 0;
}

int main(int argc, char **argv)
{
	double first = 1e9, again = 1e9, bare_first = 1e9, bare_again = 1e9;

	if (argc > 1) {
		measure(&first, &again);
		printf("%f %f\n", first, again);
		return 0;
	}
	for (int i = 0; i < CHILDREN; i++) {
		if (measure_child("", argv[0], &first, &again) < 0 ||
		    measure_child("env -u LD_PRELOAD", argv[0], &bare_first, &bare_again) < 0) {
			fprintf(stderr, "bench_kernels: a run failed\n");
			return 1;
		}
	}
	double added = first - bare_first;
	printf("%u registrations: %.2f ms, bare %.2f ms, added %.2f ms, limit %.0f ms  %s\n"
	       "  again: %.2f ms, bare %.2f ms, added %.0f ns each\n",
	       KERNELS, first, bare_first, added, LIMIT_MS, added <= LIMIT_MS ? "ok" : "MISSED",
	       again, bare_again, (again - bare_again) * 1e6 / KERNELS);
	return added <= LIMIT_MS ? 0 : 1;
}
