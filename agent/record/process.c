#include "agent/record/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/utsname.h>

#include "agent/memory/arena.h"
#include "agent/memory/mapping.h"
#include "agent/record/image.h"
#include "agent/record/self.h"
#include "agent/record/untraced.h"
#include "base/clock.h"
#include "base/identity.h"
#include "base/rundir.h"
#include "ring/kernel.h"

#define DEFAULT_SEGMENT_BYTES (64u << 20)
#define DEFAULT_BUDGET_PPM 20000u /* 2 % */
#define LEAST_SEGMENT_BYTES (1u << 20)
#define LOCK_SPINS 200u
#define SEALED_SPINS 20000u /* tries before giving up, if threads may not sleep */
#define LOCK_TRIES 1000u /* wakes without progress of any thread, after which the lock is stuck */
#define NOT_BLOCKED (~0ULL)  /* no mask of a thread: a mask never contains SIGKILL */
#define CALIBRATE_NS 100000u /* agrees with half a second to 2e-5 */

enum lock_state { LOCK_FREE, LOCK_HELD, LOCK_AWAITED };

/* This page is wiped in a forked child. */
struct fork_page {
	_Atomic uint32_t alive;
	_Atomic uint32_t lock;
	_Atomic uint32_t turns; /* number of times the lock was released */
};

struct hk_process hk_process;
__thread uint32_t hk_in_agent __attribute__((tls_model("initial-exec")));

static struct fork_page *fork_page;
static struct hk_segment_header template;
static char directory[PATH_MAX];
static char *const *environment;
static uint32_t blocks_max;
/* Mapping of a segment that was closed before its process ended. Calls that began before write to
 * it until they return. */
static struct {
	char *start;
	uint64_t bytes;
} closed;

static void copy_text(char *to, size_t room, const char *from)
{
	size_t i = 0;
	for (; from[i] && i + 1 < room; i++) {
		to[i] = from[i];
	}
	to[i] = 0;
}

static void read_command(int argc, char **argv)
{
	size_t at = 0;
	for (int i = 0; i < argc && argv[i]; i++) {
		if (i && at + 1 < sizeof(template.command)) {
			template.command[at++] = ' ';
		}
		copy_text(template.command + at, sizeof(template.command) - at, argv[i]);
		while (template.command[at]) {
			at++;
		}
	}
}

static void read_program(void)
{
	long length = hk_kernel(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", template.program,
				sizeof(template.program) - 1, 0, 0);
	template.program[length > 0 ? length : 0] = 0;
}

static void read_identity(void)
{
	struct hk_identity identity;
	hk_identity_read(environment, &identity);
	template.rank = identity.rank;
	template.world_size = identity.world_size;
	template.local_rank = identity.local_rank;
	copy_text(template.job, sizeof(template.job), identity.job);
	copy_text(template.job_source, sizeof(template.job_source), identity.job_source);
	struct utsname name;
	if (hk_kernel(SYS_uname, &name, 0, 0, 0, 0, 0) == 0) {
		copy_text(template.host, sizeof(template.host), name.nodename);
	}
}

/* The image began with its agent, before the agent read its hooks. */
static void begin_earlier(struct hk_anchor *start)
{
	uint64_t ns = start->monotonic_ns - hk_process.began_ns;
	if (ns <= UINT32_MAX) {
		start->ticks -= (ns << 32) / hk_process.tick_ns_q32;
		start->monotonic_ns -= ns;
		start->realtime_ns -= ns;
	}
}

/* Sets what changes with every image. A forked one finds its parent's uid here. */
static int refresh_template(void)
{
	struct hk_clock_point now = hk_clock_now(hk_process.tsc);
	template.start = (struct hk_anchor){now.ticks, now.monotonic_ns, now.realtime_ns};
	begin_earlier(&template.start);
	hk_process.began_ns = 0; /* forked images begin with their segments */
	template.pid = (uint32_t)hk_kernel(SYS_getpid, 0, 0, 0, 0, 0, 0);
	template.ppid = (uint32_t)hk_kernel(SYS_getppid, 0, 0, 0, 0, 0, 0);
	template.pid_start = hk_self_start_time();
	template.pid_namespace = hk_self_pid_namespace();
	for (size_t i = 0; i < sizeof(template.uid); i++) {
		template.parent[i] = template.uid[i];
	}
	long got = hk_kernel(SYS_getrandom, template.uid, sizeof(template.uid), 0, 0, 0, 0);
	return got == (long)sizeof(template.uid) ? 0 : -EIO;
}

/* The tmpfs of a container is small and shared: at most a sixteenth of its free space is used. */
static uint32_t choose_blocks(int fd)
{
	uint64_t bytes = DEFAULT_SEGMENT_BYTES;
	const char *wanted = hk_identity_variable(environment, "HOOK_SEGMENT_BYTES");
	if (wanted && hk_self_number(wanted) >= LEAST_SEGMENT_BYTES) {
		bytes = hk_self_number(wanted);
	}
	struct statfs space;
	if (hk_kernel(SYS_fstatfs, fd, &space, 0, 0, 0, 0) == 0) {
		uint64_t share = (uint64_t)space.f_bavail * (uint64_t)space.f_bsize / 16;
		bytes = share < bytes ? share : bytes;
	}
	struct rlimit room = {0};
	if (hk_kernel(SYS_prlimit64, 0, RLIMIT_AS, 0, &room, 0, 0) == 0 &&
	    room.rlim_cur != RLIM_INFINITY && room.rlim_cur / 16 < bytes) {
		bytes = room.rlim_cur / 16; /* the mapping is part of the address space */
	}
	bytes = bytes < LEAST_SEGMENT_BYTES ? LEAST_SEGMENT_BYTES : bytes;
	uint64_t blocks = bytes / HK_BLOCK_BYTES;
	return blocks > HK_SEGMENT_BLOCKS_MAX ? HK_SEGMENT_BLOCKS_MAX : (uint32_t)blocks;
}

static int make_segment(void)
{
	int status = refresh_template();
	uint32_t *pool_room = hk_arena_take(2 * sizeof(uint32_t) * blocks_max);
	if (!pool_room) {
		return -ENOMEM;
	}
	if (status == 0) {
		status = hk_writer_create(&hk_process.writer, directory, &template, blocks_max,
					  pool_room);
	}
	hk_process.on = status == 0;
	hk_process.used = false;
	hk_process.uids = 0;
	return status;
}

static int open_directory(char reason[256])
{
	int fd =
	    hk_rundir_open_chosen(hk_identity_variable(environment, "HOOK_RUN_DIR"), 1, directory);
	if (fd < 0) {
		copy_text(reason, 256,
			  fd == -EINVAL ? "HOOK_RUN_DIR is not an absolute path"
					: "no usable run directory (set HOOK_RUN_DIR)");
		return fd;
	}
	hk_process.tsc = hk_clock_tsc_trusted();
	hk_process.tick_ns_q32 = hk_process.tsc ? hk_clock_load_q32(fd) : 1ULL << 32;
	blocks_max = choose_blocks(fd);
	hk_kernel(SYS_close, fd, 0, 0, 0, 0, 0);
	return 0;
}

/* Parses "drop", or "wait:MS" with at most a minute. */
static uint64_t read_on_full(void)
{
	const char *wanted = hk_identity_variable(environment, "HOOK_ON_FULL");
	static const char wait[] = "wait:";
	for (size_t i = 0; wait[i]; i++) {
		if (!wanted || wanted[i] != wait[i]) {
			return 0;
		}
	}
	uint64_t ms = hk_self_number(wanted + sizeof(wait) - 1);
	return (ms < 60000 ? ms : 60000) * 1000000u;
}

/* Parses "off", or a percentage with up to four decimals. Any other text counts as not given. */
static uint32_t read_budget(void)
{
	const char *wanted = hk_identity_variable(environment, "HOOK_BUDGET");
	if (!wanted || wanted[0] < '0' || wanted[0] > '9') {
		bool off = wanted && wanted[0] == 'o';
		return off ? 0 : DEFAULT_BUDGET_PPM;
	}
	uint64_t ppm = hk_self_number(wanted) * 10000;
	while (*wanted >= '0' && *wanted <= '9') {
		wanted++;
	}
	uint64_t digit = 1000;
	for (wanted += *wanted == '.'; *wanted >= '0' && *wanted <= '9'; wanted++) {
		ppm += (uint64_t)(*wanted - '0') * digit;
		digit /= 10;
	}
	return ppm < 1000000 ? (uint32_t)ppm : 1000000;
}

static bool wanted_without_collector(void)
{
	const char *keep = hk_identity_variable(environment, "HOOK_KEEP_SEGMENT");
	return keep && keep[0] == '1';
}

/* Returns the run directory if a segment in it gets no reader, else -1. */
static int open_unread_directory(void)
{
	int fd = wanted_without_collector() ? -1 : hk_rundir_open(directory, 0);
	if (fd >= 0 && hk_rundir_has_collector(fd)) {
		hk_kernel(SYS_close, fd, 0, 0, 0, 0, 0);
		fd = -1;
	}
	return fd;
}

bool hk_process_is_read(void)
{
	int fd = open_unread_directory();
	if (fd >= 0) {
		hk_kernel(SYS_close, fd, 0, 0, 0, 0, 0);
	}
	return fd < 0;
}

static void remove_earlier_images(void)
{
	int fd = open_unread_directory();
	if (fd >= 0) {
		hk_image_remove_earlier(fd, hk_process.writer.header);
		hk_kernel(SYS_close, fd, 0, 0, 0, 0, 0);
	}
}

void hk_process_add_note(const char *text)
{
	size_t used = 0;
	while (template.note[used]) {
		used++;
	}
	if (used && text[0]) {
		copy_text(template.note + used, sizeof(template.note) - used, "; ");
		used += template.note[used] ? 2 : 0;
	}
	copy_text(template.note + used, sizeof(template.note) - used, text);
}

/* Sets what all images of this process have in common. */
static void fill_template(int argc, char **argv, const char *hooks, uint8_t level)
{
	template.generation = 1; /* a forked thread has seen no generation: HK_THREAD_WIPED */
	template.clock_kind = hk_process.tsc ? HK_CLOCK_TSC : HK_CLOCK_MONOTONIC;
	template.default_level = level;
	template.budget_ppm = read_budget();
	template.tick_ns_q32 = hk_process.tick_ns_q32;
	copy_text(template.hooks, sizeof(template.hooks), hooks);
	read_command(argc, argv);
	read_program();
	read_identity();
}

/* Frees the memory of the closed segment. Its addresses stay usable. */
static void release_closed(void)
{
	if (closed.start) {
		hk_mapping_clear(closed.start, closed.bytes);
		closed.start = NULL;
	}
}

static int make_first_segment(void)
{
	if (!hk_process_lock()) {
		return -EDEADLK;
	}
	release_closed();
	int status = make_segment();
	hk_process.refused = 0;
	hk_process.untraced = NULL;
	hk_process_unlock();
	return status;
}

int hk_process_start(int argc, char **argv, char *const *variables, const char *hooks,
		     uint8_t level, char reason[256])
{
	struct hk_clock_point began = hk_clock_now(true);
	environment = variables;
	fork_page = fork_page ? fork_page : hk_mapping_private(4096);
	if (!fork_page) {
		copy_text(reason, 256, "kernel without MADV_WIPEONFORK (needs Linux 4.14)");
		return -ENOSYS;
	}
	atomic_store(&fork_page->alive, 1);
	int status = open_directory(reason);
	if (status < 0) {
		return status;
	}
	hk_process.wait_ns = read_on_full();
	if (!hk_process.tick_ns_q32) {
		/* No collector stored its calibration. Most of the window has passed. */
		hk_process.tick_ns_q32 = hk_clock_calibrate_since_q32(&began, CALIBRATE_NS);
	}
	fill_template(argc, argv, hooks, level);
	status = make_first_segment();
	if (status < 0) {
		copy_text(reason, 256, "could not create a segment in the run directory");
		return status;
	}
	remove_earlier_images();
	return 0;
}

void hk_process_cover(const struct hk_coverage *coverage)
{
	template.coverage = *coverage;
	if (hk_process.on && !hk_process_forked()) {
		hk_process.writer.header->coverage = *coverage;
	}
}

bool hk_process_forked(void)
{
	return fork_page && !atomic_load_explicit(&fork_page->alive, memory_order_acquire);
}

void hk_process_wipe(void)
{
	if (!hk_process_forked()) {
		atomic_store_explicit(&fork_page->lock, 0, memory_order_relaxed);
		atomic_store_explicit(&fork_page->alive, 0, memory_order_release);
	}
}

static bool may_not_ask(void)
{
	return hk_process.sealed || hk_process.timeless;
}

/* Only the kernel knows the identity of this process. */
static void forget_identity(void)
{
	template.pid = template.ppid = 0;
	template.pid_start = 0;
	template.start = (struct hk_anchor){0};
}

int hk_process_renew(void)
{
	/* The parent's mapping stays up to the end of the file: calls that began before the fork
	 * still point into it, but no call writes there. */
	hk_process.on = false;
	bool refused = may_not_ask();
	if (!refused) {
		hk_writer_cut(&hk_process.writer, 0);
	}
	struct hk_segment_header *ancestor = hk_process.writer.header;
	int status = refused ? -EPERM : make_segment();
	if (refused) {
		forget_identity();
	}
	hk_process.refused = status;
	hk_process.untraced = status < 0 ? hk_untraced_enter(ancestor, &template, status) : NULL;
	atomic_store_explicit(&fork_page->alive, 1, memory_order_release);
	return status;
}

bool hk_process_try_lock(uint32_t tries)
{
	for (; tries; tries--) {
		uint32_t free = LOCK_FREE;
		if (atomic_compare_exchange_weak_explicit(&fork_page->lock, &free, LOCK_HELD,
							  memory_order_acquire,
							  memory_order_relaxed)) {
			return true;
		}
	}
	return false;
}

/* Takes the lock. Thousands of threads may begin at one barrier. Each sleeps until it is woken:
 * spinning would leave no processor to the holder. Signals wake a thread too, and a filter may
 * forbid sleeping. A process that was sealed meanwhile wakes no thread. */
static bool await_lock(void)
{
	const struct timespec second = {.tv_sec = 1};
	uint32_t seen = atomic_load_explicit(&fork_page->turns, memory_order_relaxed);
	long status = 0;
	for (uint32_t tries = 0; tries < LOCK_TRIES && !hk_process.sealed; tries++) {
		if (atomic_exchange_explicit(&fork_page->lock, LOCK_AWAITED,
					     memory_order_acquire) == LOCK_FREE) {
			return true;
		}
		if (status == -ETIMEDOUT) {
			return false;
		}
		status = hk_kernel(SYS_futex, &fork_page->lock, FUTEX_WAIT_PRIVATE, LOCK_AWAITED,
				   &second, 0, 0);
		uint32_t turns = atomic_load_explicit(&fork_page->turns, memory_order_relaxed);
		if (turns != seen) {
			seen = turns;
			tries = 0;
			status = 0;
		}
	}
	return hk_process.sealed && hk_process_try_lock(SEALED_SPINS);
}

bool hk_process_lock(void)
{
	return hk_process_try_lock(LOCK_SPINS) || await_lock();
}

void hk_process_unlock(void)
{
	atomic_fetch_add_explicit(&fork_page->turns, 1, memory_order_relaxed);
	uint32_t was = atomic_exchange_explicit(&fork_page->lock, LOCK_FREE, memory_order_release);
	if (was == LOCK_AWAITED && !hk_process.sealed) {
		hk_kernel(SYS_futex, &fork_page->lock, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
	}
}

void hk_process_seal(void)
{
	hk_process.sealed = true;
	if (fork_page) {
		hk_kernel(SYS_futex, &fork_page->lock, FUTEX_WAKE_PRIVATE, INT_MAX, 0, 0, 0);
	}
}

uint64_t hk_process_block_signals(void)
{
	const uint64_t all = ~hk_process.unblocked;
	uint64_t mask = NOT_BLOCKED;
	if (!hk_process.sealed) {
		hk_kernel(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, sizeof(mask), 0, 0);
	}
	return mask;
}

void hk_process_restore_signals(uint64_t mask)
{
	/* Another thread may have sealed the process meanwhile. The signals of this one are
	 * unblocked all the same. */
	if (mask != NOT_BLOCKED) {
		hk_kernel(SYS_rt_sigprocmask, SIG_SETMASK, &mask, 0, sizeof(mask), 0, 0);
	}
}

uint64_t hk_process_ticks(void)
{
	return hk_process.timeless ? 0 : hk_clock_ticks(hk_process.tsc);
}

void hk_process_untracked(void)
{
	if (hk_process.on) {
		atomic_fetch_add_explicit(&hk_process.writer.header->calls_untracked, 1,
					  memory_order_relaxed);
	}
}

static uint64_t nanoseconds(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_usec * 1000u;
}

static void read_usage(struct hk_segment_header *header)
{
	struct rusage usage;
	/* getrusage's maximum is not used: it includes the time before exec. */
	header->end_rss_peak_bytes = hk_self_status("VmHWM:") * 1024;
	if (hk_kernel(SYS_getrusage, RUSAGE_SELF, &usage, 0, 0, 0, 0) == 0) {
		header->end_cpu_ns = nanoseconds(&usage.ru_utime) + nanoseconds(&usage.ru_stime);
	}
}

void hk_process_may_end(int code, const void *by)
{
	hk_process.ended_by = hk_process.sealed ? by : NULL;
	hk_process_end(code);
}

void hk_process_go_on(const void *by)
{
	if (hk_process.ended_by != by) {
		return;
	}
	hk_process.ended_by = NULL;
	if (hk_process.on && !hk_process_forked()) {
		atomic_store_explicit(&hk_process.writer.header->state, HK_STATE_OPEN,
				      memory_order_release);
	}
}

/* Ends a process forked from one without a segment. No call led here. */
static void end_descendant(int code)
{
	if (may_not_ask() || refresh_template() < 0) {
		forget_identity();
	}
	hk_process.untraced =
	    hk_untraced_enter(hk_process.writer.header, &template, hk_process.refused);
	hk_untraced_end(hk_process.untraced, code);
	atomic_store_explicit(&fork_page->alive, 1, memory_order_release);
}

static void close_segment(struct hk_segment_header *header, int code)
{
	header->exit_code = code;
	if (!hk_process.timeless) {
		struct hk_clock_point now = hk_clock_now(hk_process.tsc);
		header->end = (struct hk_anchor){now.ticks, now.monotonic_ns, now.realtime_ns};
	}
	read_usage(header);
	atomic_store_explicit(&header->state, HK_STATE_EXITED, memory_order_release);
	if (atomic_load_explicit(&header->attached, memory_order_relaxed)) {
		return; /* the next collector reads the rest */
	}
	int fd = open_unread_directory();
	if (fd >= 0) {
		hk_kernel(SYS_unlinkat, AT_FDCWD, hk_process.writer.path, 0, 0, 0, 0);
		hk_kernel(SYS_close, fd, 0, 0, 0, 0, 0);
	}
}

void hk_process_end(int code)
{
	if (hk_process_forked()) {
		if (hk_process.refused) {
			end_descendant(code);
		}
		return;
	}
	if (!hk_process.on) {
		hk_untraced_end(hk_process.untraced, code);
		return;
	}
	struct hk_segment_header *header = hk_process.writer.header;
	if (hk_process.sealed) {
		header->exit_code = code;
		atomic_store_explicit(&header->state, HK_STATE_EXITED, memory_order_release);
		return;
	}
	if (header->pid != (uint32_t)hk_kernel(SYS_getpid, 0, 0, 0, 0, 0, 0)) {
		return; /* a vfork child runs in its parent's memory */
	}
	close_segment(header, code);
}

void hk_process_detach(void)
{
	struct hk_segment_header *header = hk_process.writer.header;
	hk_process.on = false;
	template.note[0] = 0;
	template.coverage = (struct hk_coverage){0};
	for (size_t i = 0; i < sizeof(template.uid); i++) {
		template.uid[i] = 0; /* the next segment is no child's */
	}
	if (hk_process_forked()) {
		atomic_store_explicit(&fork_page->alive, 1, memory_order_release);
		return; /* the segment is the parent's */
	}
	header->detached = 1;
	close_segment(header, 0);
	hk_writer_cut(&hk_process.writer, 0);
	closed.start = (char *)header;
	closed.bytes = (uint64_t)hk_process.writer.mapped_blocks * HK_BLOCK_BYTES;
}
