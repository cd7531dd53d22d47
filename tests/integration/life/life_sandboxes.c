/* Programs that let the kernel refuse them things. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "life.h"

/* From here on the system calls in NUMBERS, ended by -1, give ACTION. */
static int refuse(const int *numbers, uint32_t action)
{
	struct sock_filter filter[64] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	unsigned short used = 1;
	for (; *numbers >= 0; numbers++) {
		filter[used++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							      (uint32_t)*numbers, 0, 1);
		filter[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
	}
	filter[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	const struct sock_fprog program = {used, filter};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
		return -errno;
	}
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 ? -errno : 0;
}

/* What a tracer might want and a sandboxed program has no use for. */
static const int unusual[] = {SYS_openat,    SYS_open,	     SYS_fallocate,  SYS_ftruncate,
			      SYS_madvise,   SYS_readlinkat, SYS_readlink,   SYS_prlimit64,
			      SYS_getrandom, SYS_fstatfs,    SYS_membarrier, SYS_getrusage,
			      SYS_unlinkat,  SYS_gettid,     SYS_fcntl,	     -1};

/* life refused errno|kill BEFORE: BEFORE calls, then the filter, then calls. */
static int run_refused(char **arguments)
{
	int kill = strcmp(arguments[0], "kill") == 0;
	life_touch_often(atoi(arguments[1]));
	int r = refuse(unusual, kill ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM);
	if (r < 0) {
		printf("no filter: %s\n", strerror(-r));
		return 77;
	}
	life_touch_often(7);
	static const char done[] = "refused and done\n";
	(void)!write(STDOUT_FILENO, done, sizeof(done) - 1); /* stdio would ask the kernel more */
	return 0;
}

/* Four system calls are left: to read, to write, to end, to return from a handler. */
static int run_strict(char **arguments)
{
	static const char done[] = "strict and done\n";
	life_touch_often(atoi(arguments[0]));
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	life_touch_often(7);
	(void)!write(STDOUT_FILENO, done, sizeof(done) - 1);
	syscall(SYS_exit, 4);
	return 0;
}

/* The time stamp counter ends whoever reads it. */
static int run_no_counter(char **arguments)
{
	life_touch_often(atoi(arguments[0]));
	prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
	life_touch_often(2);
	return 0;
}

const struct life_case life_sandboxes[] = {
    {"refused", run_refused},
    {"strict", run_strict},
    {"no-counter", run_no_counter},
    {NULL, NULL},
};
