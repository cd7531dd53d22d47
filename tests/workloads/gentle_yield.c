/* gentle_yield.c: preloaded into ranks of MPI, sleeps where they give their processor up. A rank
 * that waits in MPI then leaves its processor to others, as on a machine with a processor for each.
 * The system is called without the C library, so no traced function is called.
 */
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_NS 100000

__attribute__((visibility("default"))) int sched_yield(void)
{
	struct timespec pause = {.tv_nsec = PAUSE_NS};
	syscall(SYS_nanosleep, &pause, NULL);
	return 0;
}
