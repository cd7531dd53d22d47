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
#define WAIT_MS 5000
#define STEPS_MAX 8
#define SYSCALL_BYTES 2u

/* The area in the process, from its start: a page of code, data, the stack, the frame. */
#define CODE_AT 0u
#define RESULT_AT PAGE_BYTES
#define OLD_STACK_AT (PAGE_BYTES + 64u)
#define DATA_AT (PAGE_BYTES + 256u)
#define DATA_END (AREA_BYTES / 4)
#define FRAME_AT (AREA_BYTES - 2 * STATE_BYTES_MOST)

/* Calls the function in rbx, stores its result where r12 points to, and returns from the frame of a
 * signal at rsp. */
static const uint8_t code[] = {
    0xff, 0xd3,			  /* call *%rbx */
    0x49, 0x89, 0x04, 0x24,	  /* mov %rax, (%r12) */
    0xb8, 0x0f, 0x00, 0x00, 0x00, /* mov $SYS_rt_sigreturn, %eax */
    0x0f, 0x05,			  /* syscall */
    0x0f, 0x0b,			  /* ud2 */
};
#define CODE_RETURNED (sizeof(code) - 2) /* behind the system call */

struct hk_remote {
	pid_t tid, pid;
	uint64_t system_call; /* a `syscall` instruction of the process */
	uint64_t area;
	uint64_t data; /* next free byte of its data */
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

#define FRAME_FLAGS 7u /* xstate, ss is valid, ss is restored strictly */
#define STATE_SOFTWARE_AT 464u
#define STATE_MAGIC1 0x46505853u
#define STATE_MAGIC2 0x46505845u
#define STATE_AT_FRAME 1024u /* from the frame on; its address is a multiple of 64 */

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

static int save(struct hk_remote *remote)
{
	struct iovec state = {remote->state, sizeof(remote->state)};
	int r = get_registers(remote->tid, &remote->registers);

	if (r == 0 &&
	    (ptrace(PTRACE_GETREGSET, remote->tid, NT_X86_XSTATE, &state) < 0 ||
	     ptrace(PTRACE_GETSIGMASK, remote->tid, sizeof(remote->mask), &remote->mask) < 0)) {
		r = -errno;
	}
	remote->state_bytes = state.iov_len;
	return r;
}

static int restore(struct hk_remote *remote)
{
	struct iovec state = {remote->state, remote->state_bytes};
	int r = set_registers(remote->tid, &remote->registers);

	if (ptrace(PTRACE_SETREGSET, remote->tid, NT_X86_XSTATE, &state) < 0 ||
	    ptrace(PTRACE_SETSIGMASK, remote->tid, sizeof(remote->mask), &remote->mask) < 0) {
		r = -errno;
	}
	return r;
}

long hk_remote_system_call(const struct hk_held *held)
{
	struct user_regs_struct registers;
	int r = get_registers(held->tid, &registers);

	return r < 0 ? r - 1 : (long)registers.orig_rax < 0 ? -1 : (long)registers.orig_rax;
}

/* ---- one system call ---- */

/* Makes the thread execute system call NUMBER. Returns its result, or -errno. */
static long make_call(struct hk_remote *remote, long number, const uint64_t arguments[6])
{
	struct user_regs_struct now = remote->registers;

	now.rip = remote->system_call;
	now.rax = (uint64_t)number;
	now.orig_rax = ~0ULL; /* no system call to be started again */
	now.rdi = arguments[0];
	now.rsi = arguments[1];
	now.rdx = arguments[2];
	now.r10 = arguments[3];
	now.r8 = arguments[4];
	now.r9 = arguments[5];
	int r = set_registers(remote->tid, &now);
	for (int i = 0; r == 0 && i < STEPS_MAX; i++) {
		if (ptrace(PTRACE_SINGLESTEP, remote->tid, NULL, NULL) < 0) {
			return -errno;
		}
		int status = hk_thread_await(remote->tid, WAIT_MS);
		r = status < 0 ? status : get_registers(remote->tid, &now);
		if (r == 0 && now.rip == remote->system_call + SYSCALL_BYTES) {
			return (long)now.rax;
		}
	}
	return r < 0 ? r : -EFAULT;
}

/* ---- the frame that the thread returns from ---- */

/* Returns the system call's number and address in FRAME as the kernel does where no handler ran. */
static void restart(struct frame *frame, const struct user_regs_struct *registers)
{
	long result = (long)registers->rax;

	if ((long)registers->orig_rax < 0) {
		return;
	}
	if (result == -512 || result == -513 || result == -514) {
		frame->rax = registers->orig_rax;
		frame->rip = registers->rip - SYSCALL_BYTES;
	} else if (result == -516) {
		frame->rax = SYS_restart_syscall;
		frame->rip = registers->rip - SYSCALL_BYTES;
	}
}

static int write_frame(struct hk_remote *remote)
{
	const struct user_regs_struct *r = &remote->registers;
	static uint8_t state[STATE_BYTES_MOST + sizeof(uint32_t)];
	struct state_software software = {.magic1 = STATE_MAGIC1,
					  .extended_bytes =
					      (uint32_t)(remote->state_bytes + sizeof(uint32_t)),
					  .bytes = (uint32_t)remote->state_bytes};
	struct frame frame = {.flags = FRAME_FLAGS,
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
			      .state = remote->area + FRAME_AT + STATE_AT_FRAME};
	const uint32_t magic2 = STATE_MAGIC2;

	restart(&frame, r);
	memcpy(&software.features, remote->state + STATE_SOFTWARE_AT, sizeof(software.features));
	memcpy(state, remote->state, remote->state_bytes);
	memcpy(state + STATE_SOFTWARE_AT, &software, sizeof(software));
	memcpy(state + remote->state_bytes, &magic2, sizeof(magic2));
	int error =
	    hk_remote_get(remote, remote->area + OLD_STACK_AT, &frame.stack, sizeof(frame.stack));
	error = error ? error : set(remote, remote->area + FRAME_AT, &frame, sizeof(frame));
	return error ? error
		     : set(remote, frame.state, state, remote->state_bytes + sizeof(magic2));
}

/* Makes the area: code, the thread's alternate stack as it is, and the frame. */
static int make_area(struct hk_remote *remote)
{
	const uint64_t all = ~0ULL;
	if (ptrace(PTRACE_SETSIGMASK, remote->tid, sizeof(all), &all) < 0) {
		return -errno;
	}
	long area = make_call(remote, SYS_mmap,
			      (const uint64_t[6]){0, AREA_BYTES, PROT_READ | PROT_WRITE,
						  MAP_PRIVATE | MAP_ANONYMOUS, ~0ULL, 0});
	if (area < 0 && area > -4096) {
		return (int)area;
	}
	remote->area = (uint64_t)area;
	remote->data = remote->area + DATA_AT;
	int r = set(remote, remote->area + CODE_AT, code, sizeof(code));
	long done = r < 0 ? r
			  : make_call(remote, SYS_mprotect,
				      (const uint64_t[6]){remote->area, PAGE_BYTES,
							  PROT_READ | PROT_EXEC, 0, 0, 0});
	done = done < 0
		   ? done
		   : make_call(remote, SYS_sigaltstack,
			       (const uint64_t[6]){0, remote->area + OLD_STACK_AT, 0, 0, 0, 0});
	return done < 0 ? (int)done : write_frame(remote);
}

int hk_remote_begin(const struct hk_held *held, pid_t pid, uint64_t system_call,
		    struct hk_remote **ret_remote)
{
	struct hk_remote *remote = calloc(1, sizeof(*remote));
	int r = remote ? 0 : -ENOMEM;

	if (remote) {
		remote->tid = held->tid;
		remote->pid = pid;
		remote->system_call = system_call;
		r = save(remote);
	}
	if (r == 0 && ptrace(PTRACE_SETOPTIONS, held->tid, NULL, PTRACE_O_TRACESYSGOOD) < 0) {
		r = -errno;
	}
	if (r < 0) {
		free(remote);
		return r;
	}
	r = make_area(remote);
	if (r < 0) {
		hk_remote_end(remote);
		return r;
	}
	*ret_remote = remote;
	return 0;
}

void hk_remote_end(struct hk_remote *remote)
{
	if (remote->area) {
		make_call(remote, SYS_munmap,
			  (const uint64_t[6]){remote->area, AREA_BYTES, 0, 0, 0, 0});
	}
	restore(remote);
	free(remote);
}

/* ---- calls ---- */

static bool is_crash(int status)
{
	int signal = WSTOPSIG(status);
	return status >> 16 == 0 && (signal == SIGSEGV || signal == SIGBUS || signal == SIGILL ||
				     signal == SIGFPE || signal == SIGTRAP || signal == SIGSYS);
}

/* Lets the thread run until it is about to return from the frame. */
static int run(struct hk_remote *remote, void (*waiting)(void))
{
	struct user_regs_struct now;

	for (;;) {
		if (ptrace(PTRACE_SYSCALL, remote->tid, NULL, NULL) < 0) {
			return -errno;
		}
		int status;
		while ((status = hk_thread_await(remote->tid, WAIT_MS)) == -ETIMEDOUT) {
			waiting();
		}
		if (status < 0) {
			return status;
		}
		int r = get_registers(remote->tid, &now);
		if (r < 0) {
			return r;
		}
		if (WSTOPSIG(status) == (SIGTRAP | 0x80) &&
		    now.rip == remote->area + CODE_AT + CODE_RETURNED) {
			return 0;
		}
		if (is_crash(status)) {
			return -EFAULT;
		}
	}
}

int hk_remote_call(struct hk_remote *remote, uint64_t address, const uint64_t arguments[3],
		   void (*waiting)(void), uint64_t *ret_result)
{
	struct user_regs_struct now = remote->registers;

	now.rip = remote->area + CODE_AT;
	now.rsp = remote->area + FRAME_AT; /* the frame, as after the pop of its return address */
	now.rbx = address;
	now.r12 = remote->area + RESULT_AT;
	now.rdi = arguments[0];
	now.rsi = arguments[1];
	now.rdx = arguments[2];
	now.rax = 0; /* vector registers with arguments */
	now.rbp = 0;
	now.orig_rax = ~0ULL;
	now.eflags &= ~0x400ULL; /* the direction flag */
	int r = set_registers(remote->tid, &now);
	r = r < 0 ? r : run(remote, waiting);
	return r < 0 ? r
		     : hk_remote_get(remote, remote->area + RESULT_AT, ret_result,
				     sizeof(*ret_result));
}
#else
long hk_remote_system_call(const struct hk_held *held)
{
	(void)held;
	return -ENOTSUP;
}

int hk_remote_begin(const struct hk_held *held, pid_t pid, uint64_t system_call,
		    struct hk_remote **ret_remote)
{
	(void)held;
	(void)pid;
	(void)system_call;
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
