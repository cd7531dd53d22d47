#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CLOCKSOURCE_FILE "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#if defined(__aarch64__)
#define CLOCKSOURCE "arch_sys_counter\n"
#else
#define CLOCKSOURCE "tsc\n"
#endif
#define BOOT_ID_FILE "/proc/sys/kernel/random/boot_id"
#define BOOT_ID_BYTES 36u
#define CALIBRATION_FILE "clock"
#define CALIBRATION_TEMPORARY "clock.new"
#define LINE_BYTES 80u
#define BRACKETS 7

/* A tick between 1/16 ns and 1 us: anything else is a damaged file. */
#define Q32_ONE (1ull << 32)
#define Q32_LEAST (Q32_ONE / 16u)
#define Q32_MOST (Q32_ONE * 1000u)

/* Reads at most SIZE bytes of a small file. O_NONBLOCK keeps a FIFO in its place from blocking the
 * caller. */
static ssize_t read_small(int dirfd, const char *path, char *buffer, size_t size)
{
	int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		return -errno;
	}
	ssize_t got = read(fd, buffer, size);
	if (got < 0) {
		got = -errno;
	}
	close(fd);
	return got;
}

static int read_boot_id(char boot_id[BOOT_ID_BYTES])
{
	ssize_t got = read_small(AT_FDCWD, BOOT_ID_FILE, boot_id, BOOT_ID_BYTES);
	if (got < 0) {
		return (int)got;
	}
	return got == BOOT_ID_BYTES ? 0 : -EIO;
}

#if defined(__aarch64__)
static void in_order(void)
{
	__asm__ volatile("isb" ::: "memory");
}

/* It counts no cycles: it runs at one frequency, told by firmware, on all processors. */
static bool counter_is_fast(void)
{
	uint64_t hertz;
	__asm__("mrs %0, cntfrq_el0" : "=r"(hertz));
	return hertz > 1000000000u >> HK_CLOCK_TICK_SHIFT;
}
#else
static void in_order(void)
{
	__builtin_ia32_lfence();
}

static bool counter_is_fast(void)
{
	return true;
}
#endif

bool hk_clock_tsc_trusted(void)
{
	char name[sizeof(CLOCKSOURCE)];
	ssize_t got = read_small(AT_FDCWD, CLOCKSOURCE_FILE, name, sizeof(name));
	return got == sizeof(CLOCKSOURCE) - 1 && memcmp(name, CLOCKSOURCE, (size_t)got) == 0 &&
	       counter_is_fast();
}

uint64_t hk_clock_ticks(bool tsc)
{
	return tsc ? hk_clock_counter() : hk_clock_monotonic_ns();
}

/* Ticks in program order: neither earlier loads nor later ones cross the read. */
static uint64_t ticks_ordered(bool tsc)
{
	in_order();
	uint64_t ticks = hk_clock_ticks(tsc);
	in_order();
	return ticks;
}

static uint64_t realtime_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct hk_clock_point hk_clock_now(bool tsc)
{
	struct hk_clock_point best = {0};
	uint64_t best_width = UINT64_MAX;

	for (int i = 0; i < BRACKETS; i++) {
		uint64_t before = ticks_ordered(tsc);
		uint64_t monotonic_ns = hk_clock_monotonic_ns();
		uint64_t real_ns = realtime_ns();
		uint64_t after = ticks_ordered(tsc);
		uint64_t width = after - before;
		if (after >= before && width < best_width) {
			best_width = width;
			best.ticks = tsc ? before + width / 2 : monotonic_ns;
			best.monotonic_ns = monotonic_ns;
			best.realtime_ns = real_ns;
		}
	}
	if (best_width == UINT64_MAX) {
		/* Only ticks that ran backwards seven times come here. */
		best.monotonic_ns = hk_clock_monotonic_ns();
		best.ticks = tsc ? ticks_ordered(tsc) : best.monotonic_ns;
		best.realtime_ns = realtime_ns();
	}
	return best;
}

uint64_t hk_clock_calibrate_since_q32(const struct hk_clock_point *start, uint64_t window_ns)
{
	uint64_t now_ns = hk_clock_monotonic_ns();
	while (now_ns - start->monotonic_ns < window_ns) {
		uint64_t left_ns = window_ns - (now_ns - start->monotonic_ns);
		struct timespec rest = {.tv_sec = (time_t)(left_ns / 1000000000u),
					.tv_nsec = (long)(left_ns % 1000000000u)};
		/* The raw call: in a traced process the library's name may be hooked. */
		syscall(SYS_nanosleep, &rest, NULL);
		now_ns = hk_clock_monotonic_ns();
	}
	struct hk_clock_point end = hk_clock_now(true);
	uint64_t ticks = end.ticks - start->ticks;
	uint64_t elapsed_ns = end.monotonic_ns - start->monotonic_ns;
	if (end.ticks <= start->ticks || elapsed_ns == 0) {
		return Q32_ONE;
	}
	/* Nanoseconds below 2^32 leave room for the 32 fraction bits. */
	while (elapsed_ns >> 32 != 0) {
		elapsed_ns >>= 1;
		ticks >>= 1;
	}
	return ticks ? (elapsed_ns << 32) / ticks : Q32_ONE;
}

uint64_t hk_clock_calibrate_q32(bool tsc, uint64_t window_ns)
{
	if (!tsc) {
		return Q32_ONE;
	}
	struct hk_clock_point start = hk_clock_now(tsc);
	return hk_clock_calibrate_since_q32(&start, window_ns);
}

/* "<boot id> <decimal>\n" and nothing else; 0 if the line is anything else. */
static uint64_t parse_line(const char *line, size_t size, const char boot_id[BOOT_ID_BYTES])
{
	if (size < BOOT_ID_BYTES + 3 || memcmp(line, boot_id, BOOT_ID_BYTES) != 0 ||
	    line[BOOT_ID_BYTES] != ' ' || line[size - 1] != '\n') {
		return 0;
	}
	uint64_t value = 0;
	for (size_t i = BOOT_ID_BYTES + 1; i < size - 1; i++) {
		if (line[i] < '0' || line[i] > '9' || value > Q32_MOST) {
			return 0;
		}
		value = value * 10u + (uint64_t)(line[i] - '0');
	}
	return value >= Q32_LEAST && value <= Q32_MOST ? value : 0;
}

uint64_t hk_clock_load_q32(int dirfd)
{
	char boot_id[BOOT_ID_BYTES];
	char line[LINE_BYTES];

	if (read_boot_id(boot_id) < 0) {
		return 0;
	}
	ssize_t got = read_small(dirfd, CALIBRATION_FILE, line, sizeof(line));
	return got > 0 ? parse_line(line, (size_t)got, boot_id) : 0;
}

static int write_temporary(int dirfd, const char *line, size_t size)
{
	/* A leftover of a killed collector goes first, so that O_EXCL can refuse links. */
	unlinkat(dirfd, CALIBRATION_TEMPORARY, 0);
	int fd = openat(dirfd, CALIBRATION_TEMPORARY,
			O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0) {
		return -errno;
	}
	ssize_t put = write(fd, line, size);
	int error = put < 0 ? -errno : put == (ssize_t)size ? 0 : -EIO;
	close(fd);
	return error;
}

int hk_clock_store_q32(int dirfd, uint64_t tick_ns_q32)
{
	char line[LINE_BYTES];
	char digits[20];
	size_t count = 0;

	int error = read_boot_id(line);
	if (error < 0) {
		return error;
	}
	do {
		digits[count++] = (char)('0' + tick_ns_q32 % 10u);
		tick_ns_q32 /= 10u;
	} while (tick_ns_q32 > 0);

	size_t size = BOOT_ID_BYTES;
	line[size++] = ' ';
	while (count > 0) {
		line[size++] = digits[--count];
	}
	line[size++] = '\n';

	error = write_temporary(dirfd, line, size);
	if (error == 0 && renameat(dirfd, CALIBRATION_TEMPORARY, dirfd, CALIBRATION_FILE) < 0) {
		error = -errno;
	}
	if (error < 0) {
		unlinkat(dirfd, CALIBRATION_TEMPORARY, 0);
	}
	return error;
}
