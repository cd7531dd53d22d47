#include "cli/attach/call.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#if defined(__x86_64__)
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define AREA_BYTES (1u << 20)
#define PAGE_BYTES 4096u
#define STATE_BYTES_MOST 65536u
#define RED_ZONE 128u
#define WAIT_MS 5000
#define SYSCALL_BYTES 2u
/* How the kernel marks a system call that it starts again. */
#define ERESTARTSYS 512
#define ERESTARTNOINTR 513
#define ERESTARTNOHAND 514
#define ERESTART_RESTARTBLOCK 516
#define RESTORER_BYTES 9u

/* The area in the process, from its start: a page of code, data, the stack. */
#define CODE_AT 0u
#define RESULT_AT PAGE_BYTES
#define DATA_AT (PAGE_BYTES + 64u)
#define DATA_END (AREA_BYTES / 4)
#define STACK_AT (AREA_BYTES - PAGE_BYTES)

/* Calls the function in rbx, stores its result where r12 points to, and continues at r13 with the
 * stack at r14. */
static const uint8_t code[] = {
    0xff, 0xd3,		    /* call *%rbx */
    0x49, 0x89, 0x04, 0x24, /* mov %rax, (%r12) */
    0x4c, 0x89, 0xf4,	    /* mov %r14, %rsp */
    0x41, 0xff, 0xe5,	    /* jmp *%r13 */
};

struct hk_remote {
	pid_t tid, pid;
	struct hk_remote_functions functions;
	uint64_t area;
	uint64_t data;	/* next free byte of its data */
	uint64_t frame; /* on the thread's own stack: struct frame */
	uint64_t error; /* address of its errno; 0: not known yet */
	int saved_error;
	struct user_regs_struct registers;
	uint64_t mask;
	size_t state_bytes;
	uint8_t state[STATE_BYTES_MOST]; /* vector registers, as xsave writes them */
};

/* What rt_sigreturn reads: the kernel's ucontext. */
struct frame {
	uint64_t flags, link;
	stack_t stack;
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip,
	    eflags;
	uint16_t cs, gs, fs, ss;
	uint64_t error, trap, old_mask, cr2;
	uint64_t state; /* address of the vector registers */
	uint64_t reserved[8];
	uint64_t mask;
};

#define STACK_INVALID 0x7777
#define FRAME_FLAGS 7u /* xstate, ss is valid, ss is restored strictly */
#define STATE_SOFTWARE_AT 464u
#define STATE_MAGIC1 0x46505853u
#define STATE_MAGIC2 0x46505845u

/* What the kernel keeps in bytes of the state that the processor does not use. */
struct state_software {
	uint32_t magic1, extended_bytes;
	uint64_t features;
	uint32_t bytes;
	uint32_t padding[7];
};

/* ---- memory ---- */

int hk_remote_get(const struct hk_remote *remote, uint64_t address, void *data, size_t bytes)
{
	struct iovec here = {data, bytes}, there = {(void *)address, bytes};
	ssize_t got = process_vm_readv(remote->pid, &here, 1, &there, 1, 0);
	return got == (ssize_t)bytes ? 0 : got < 0 ? -errno : -EFAULT;
}

static int set(const struct hk_remote *remote, uint64_t address, const void *data, size_t bytes)
{
	struct iovec here = {(void *)(uintptr_t)data, bytes}, there = {(void *)address, bytes};
	ssize_t got = process_vm_writev(remote->pid, &here, 1, &there, 1, 0);
	return got == (ssize_t)bytes ? 0 : got < 0 ? -errno : -EFAULT;
}

uint64_t hk_remote_put(struct hk_remote *remote, const void *data, size_t bytes)
{
	uint64_t at = remote->data;
	uint64_t end = remote->area + DATA_END;

	if (bytes > end - at || set(remote, at, data, bytes) < 0) {
		return 0;
	}
	remote->data = at + (bytes + 15) / 16 * 16;
	return at;
}

/* ---- registers ---- */

static int get_registers(pid_t tid, struct user_regs_struct *registers)
{
	return ptrace(PTRACE_GETREGS, tid, NULL, registers) < 0 ? -errno : 0;
}

static int set_registers(pid_t tid, const struct user_regs_struct *registers)
{
	return ptrace(PTRACE_SETREGS, tid, NULL, registers) < 0 ? -errno : 0;
}

/* Sets REGISTERS to start the system call again in which the thread was stopped, as the kernel does
 * where no handler ran. */
static void restart(struct user_regs_struct *registers)
{
	long result = (long)registers->rax;
	bool again =
	    result == -ERESTARTSYS || result == -ERESTARTNOINTR || result == -ERESTARTNOHAND;

	if ((long)registers->orig_rax >= 0 && (again || result == -ERESTART_RESTARTBLOCK)) {
		registers->rax = again ? registers->orig_rax : SYS_restart_syscall;
		registers->rip -= SYSCALL_BYTES;
	}
	registers->orig_rax = ~0ULL; /* not once more */
}

static int save(struct hk_remote *remote)
{
	struct iovec state = {remote->state, sizeof(remote->state)};
	int r = get_registers(remote->tid, &remote->registers);

	restart(&remote->registers);
	if (r == 0 &&
	    (ptrace(PTRACE_GETREGSET, remote->tid, NT_X86_XSTATE, &state) < 0 ||
	     ptrace(PTRACE_GETSIGMASK, remote->tid, sizeof(remote->mask), &remote->mask) < 0)) {
		r = -errno;
	}
	remote->state_bytes = state.iov_len;
	return r;
}

long hk_remote_system_call(const struct hk_held *held)
{
	struct user_regs_struct registers;
	int r = get_registers(held->tid, &registers);

	return r < 0 ? r - 1 : (long)registers.orig_rax < 0 ? -1 : (long)registers.orig_rax;
}

/* ---- the frame that the thread returns from ---- */

/* The bytes of FRAME but for its state, which only this call fills. */
static struct frame make_frame(const struct hk_remote *remote, uint64_t state)
{
	const struct user_regs_struct *r = &remote->registers;
	const struct frame frame = {.flags = FRAME_FLAGS,
				    .r8 = r->r8,
				    .r9 = r->r9,
				    .r10 = r->r10,
				    .r11 = r->r11,
				    .r12 = r->r12,
				    .r13 = r->r13,
				    .r14 = r->r14,
				    .r15 = r->r15,
				    .rdi = r->rdi,
				    .rsi = r->rsi,
				    .rbp = r->rbp,
				    .rbx = r->rbx,
				    .rdx = r->rdx,
				    .rax = r->rax,
				    .rcx = r->rcx,
				    .rsp = r->rsp,
				    .rip = r->rip,
				    .eflags = r->eflags,
				    .cs = (uint16_t)r->cs,
				    .ss = (uint16_t)r->ss,
				    .mask = remote->mask,
				    .state = state,
				    /* The kernel leaves the alternate stack as it is. */
				    .stack = {.ss_flags = STACK_INVALID}};

	return frame;
}

/* Writes the frame below the thread's stack, as the kernel does for a signal. */
static int write_frame(struct hk_remote *remote)
{
	static uint8_t state[STATE_BYTES_MOST + sizeof(uint32_t)];
	struct state_software software = {.magic1 = STATE_MAGIC1,
					  .extended_bytes =
					      (uint32_t)(remote->state_bytes + sizeof(uint32_t)),
					  .bytes = (uint32_t)remote->state_bytes};
	const uint32_t magic2 = STATE_MAGIC2;

	memcpy(&software.features, remote->state + STATE_SOFTWARE_AT, sizeof(software.features));
	memcpy(state, remote->state, remote->state_bytes);
	memcpy(state + STATE_SOFTWARE_AT, &software, sizeof(software));
	memcpy(state + remote->state_bytes, &magic2, sizeof(magic2));
	size_t bytes = remote->state_bytes + sizeof(magic2);
	uint64_t at = (remote->registers.rsp - RED_ZONE - bytes) & ~63ULL;
	remote->frame = (at - sizeof(struct frame)) & ~15ULL;
	const struct frame frame = make_frame(remote, at);
	int r = set(remote, at, state, bytes);
	r = r < 0 ? r : set(remote, remote->frame, &frame, sizeof(frame));
	/* What is called returns to the code behind a handler. */
	const uint64_t restorer = remote->functions.restorer;
	r = r < 0 ? r : set(remote, remote->frame - sizeof(restorer), &restorer, sizeof(restorer));
	return r < 0 ? -EAGAIN : 0;
}

/* ---- running ---- */

static bool is_crash(int status)
{
	int signal = WSTOPSIG(status);
	return status >> 16 == 0 && (signal == SIGSEGV || signal == SIGBUS || signal == SIGILL ||
				     signal == SIGFPE || signal == SIGTRAP || signal == SIGSYS);
}

/* Lets the thread run to the next start or end of a system call. */
static int run_on(struct hk_remote *remote, void (*waiting)(void), struct user_regs_struct *ret_now)
{
	for (;;) {
		if (ptrace(PTRACE_SYSCALL, remote->tid, NULL, NULL) < 0) {
			return -errno;
		}
		int status;
		while ((status = hk_thread_await(remote->tid, WAIT_MS)) == -ETIMEDOUT) {
			if (waiting) {
				waiting();
			}
		}
		int r = status < 0 ? status : get_registers(remote->tid, ret_now);
		if (r < 0) {
			return r;
		}
		if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
			return 0;
		}
		if (is_crash(status)) {
			return -EFAULT;
		}
	}
}

/* Returns whether the thread is about to return from the frame. */
static bool is_returning(const struct hk_remote *remote, const struct user_regs_struct *now)
{
	return now->rip == remote->functions.restorer + RESTORER_BYTES &&
	       now->orig_rax == SYS_rt_sigreturn;
}

/* Lets the thread run until then. A function that crashed is left at once. */
static int run(struct hk_remote *remote, void (*waiting)(void), long wanted, uint64_t *ret_wanted)
{
	struct user_regs_struct now;
	int r = 0, crashed = 0;

	while ((r = run_on(remote, waiting, &now)) == 0 || (r == -EFAULT && !crashed)) {
		if (r == -EFAULT) {
			crashed = r;
			now.rip = remote->functions.restorer;
			now.rsp = remote->frame;
			now.orig_rax = ~0ULL;
			set_registers(remote->tid, &now);
		} else if (is_returning(remote, &now)) {
			return crashed;
		} else if ((long)now.orig_rax == wanted) {
			*ret_wanted = now.rax; /* the last one is that of the call's end */
		}
	}
	return r;
}

/* Starts FUNCTION on the thread, with the stack at STACK, where its return address is. */
static int enter(struct hk_remote *remote, uint64_t function, uint64_t stack,
		 const uint64_t arguments[6])
{
	const uint64_t all = ~0ULL;
	struct user_regs_struct now = remote->registers;

	now.rip = function;
	now.rsp = stack;
	now.rdi = arguments[0];
	now.rsi = arguments[1];
	now.rdx = arguments[2];
	now.rcx = arguments[3];
	now.r8 = arguments[4];
	now.r9 = arguments[5];
	now.rax = 0; /* vector registers with arguments */
	now.rbp = 0;
	now.orig_rax = ~0ULL;	 /* no system call to be started again */
	now.eflags &= ~0x400ULL; /* the direction flag */
	int r = set_registers(remote->tid, &now);
	if (r == 0 && ptrace(PTRACE_SETSIGMASK, remote->tid, sizeof(all), &all) < 0) {
		r = -errno;
	}
	return r;
}

/* Calls FUNCTION of libc, which makes system call NUMBER, on the thread's own stack. */
static long call_plain(struct hk_remote *remote, uint64_t function, long number,
		       const uint64_t arguments[6])
{
	uint64_t result = 0;
	int r = enter(remote, function, remote->frame - sizeof(uint64_t), arguments);

	r = r < 0 ? r : run(remote, NULL, number, &result);
	return r < 0 ? r : (long)result;
}

int hk_remote_call(struct hk_remote *remote, uint64_t address, const uint64_t arguments[3],
		   void (*waiting)(void), uint64_t *ret_result)
{
	const uint64_t six[6] = {arguments[0], arguments[1], arguments[2]};
	struct user_regs_struct now;
	uint64_t unused;
	int r = enter(remote, remote->area + CODE_AT, remote->area + STACK_AT, six);

	r = r < 0 ? r : get_registers(remote->tid, &now);
	if (r == 0) {
		now.rbx = address;
		now.r12 = remote->area + RESULT_AT;
		now.r13 = remote->functions.restorer;
		now.r14 = remote->frame;
		r = set_registers(remote->tid, &now);
	}
	r = r < 0 ? r : run(remote, waiting, -1, &unused);
	return r < 0 ? r
		     : hk_remote_get(remote, remote->area + RESULT_AT, ret_result,
				     sizeof(*ret_result));
}

/* ---- begin and end ---- */

static int make_area(struct hk_remote *remote)
{
	long area = call_plain(remote, remote->functions.map, SYS_mmap,
			       (const uint64_t[6]){0, AREA_BYTES, PROT_READ | PROT_WRITE,
						   MAP_PRIVATE | MAP_ANONYMOUS, ~0ULL, 0});
	if (area <= 0) {
		return area < 0 && area > -4096 ? (int)area : -ENOMEM;
	}
	remote->area = (uint64_t)area;
	remote->data = remote->area + DATA_AT;
	int r = set(remote, remote->area + CODE_AT, code, sizeof(code));
	return r < 0 ? r
		     : (int)call_plain(remote, remote->functions.protect, SYS_mprotect,
				       (const uint64_t[6]){remote->area, PAGE_BYTES,
							   PROT_READ | PROT_EXEC, 0, 0, 0});
}

/* The program may be about to read errno. */
static int save_error(struct hk_remote *remote)
{
	uint64_t address = 0;
	int r =
	    hk_remote_call(remote, remote->functions.error, (const uint64_t[3]){0}, NULL, &address);

	r = r < 0 ? r : hk_remote_get(remote, address, &remote->saved_error, sizeof(int));
	remote->error = r < 0 ? 0 : address;
	return r;
}

int hk_remote_begin(const struct hk_held *held, pid_t pid,
		    const struct hk_remote_functions *functions, struct hk_remote **ret_remote)
{
	struct hk_remote *remote = calloc(1, sizeof(*remote));
	int r = remote ? 0 : -ENOMEM;

	if (remote) {
		*remote = (struct hk_remote){.tid = held->tid, .pid = pid, .functions = *functions};
		r = save(remote);
	}
	if (r == 0 && ptrace(PTRACE_SETOPTIONS, held->tid, NULL, PTRACE_O_TRACESYSGOOD) < 0) {
		r = -errno;
	}
	r = r < 0 ? r : write_frame(remote);
	if (r < 0) {
		free(remote);
		return r;
	}
	r = make_area(remote);
	r = r < 0 ? r : save_error(remote);
	if (r < 0) {
		hk_remote_end(remote);
		return r;
	}
	*ret_remote = remote;
	return 0;
}

/* The return from the frame is left out: it would end a sleep, as a handler does. Until the last of
 * these calls the kernel would still restore the thread from the frame. */
static void restore(struct hk_remote *remote)
{
	struct iovec state = {remote->state, remote->state_bytes};

	ptrace(PTRACE_SETREGSET, remote->tid, NT_X86_XSTATE, &state);
	ptrace(PTRACE_SETSIGMASK, remote->tid, sizeof(remote->mask), &remote->mask);
	set_registers(remote->tid, &remote->registers);
}

void hk_remote_end(struct hk_remote *remote)
{
	struct user_regs_struct now;

	if (remote->error) {
		set(remote, remote->error, &remote->saved_error, sizeof(int));
	}
	if (remote->area) {
		call_plain(remote, remote->functions.unmap, SYS_munmap,
			   (const uint64_t[6]){remote->area, AREA_BYTES, 0, 0, 0, 0});
	}
	if (get_registers(remote->tid, &now) == 0 && is_returning(remote, &now)) {
		restore(remote);
	}
	free(remote);
}
#else
long hk_remote_system_call(const struct hk_held *held)
{
	(void)held;
	return -ENOTSUP;
}

int hk_remote_begin(const struct hk_held *held, pid_t pid,
		    const struct hk_remote_functions *functions, struct hk_remote **ret_remote)
{
	(void)held;
	(void)pid;
	(void)functions;
	(void)ret_remote;
	return -ENOTSUP;
}

uint64_t hk_remote_put(struct hk_remote *remote, const void *data, size_t bytes)
{
	(void)remote;
	(void)data;
	(void)bytes;
	return 0;
}

int hk_remote_get(const struct hk_remote *remote, uint64_t address, void *data, size_t bytes)
{
	(void)remote;
	(void)address;
	(void)data;
	(void)bytes;
	return -ENOTSUP;
}

int hk_remote_call(struct hk_remote *remote, uint64_t address, const uint64_t arguments[3],
		   void (*waiting)(void), uint64_t *ret_result)
{
	(void)remote;
	(void)address;
	(void)arguments;
	(void)waiting;
	(void)ret_result;
	return -ENOTSUP;
}

void hk_remote_end(struct hk_remote *remote)
{
	(void)remote;
}
#endif
