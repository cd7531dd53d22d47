/* pages: calls getppid at every place of a stack page; a system call that asks whether memory can
 * be read ends the program. Exits 77 where that cannot be arranged. */
#include <alloca.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE_BYTES 4096
#define STEP_BYTES 16

#if defined(__x86_64__)
/* The futex operation by which the agent asks. */
static int forbid(void)
{
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 3),
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FUTEX_CMP_REQUEUE_PRIVATE, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
#else
static int forbid(void)
{
	return -1;
}
#endif

static __attribute__((noinline)) int call_below(size_t bytes)
{
	volatile char *room = alloca(bytes);
	room[0] = 0;
	return getppid() >= 0;
}

int main(void)
{
	if (forbid()) {
		return 77;
	}
	int calls = 0;
	for (size_t bytes = STEP_BYTES; bytes <= PAGE_BYTES; bytes += STEP_BYTES) {
		calls += call_below(bytes);
	}
	printf("%d\n", calls);
	return 0;
}
