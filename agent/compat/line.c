#include "agent/compat/line.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "ring/kernel.h"

#define TERMINAL_BYTES 64 /* bytes for a struct termios, which is not read */

static const char *const level_words[] = {"INFO", "WARN", "ERROR", "FATAL"};
static const char *const module_words[] = {"PROFILE", "TRACE", "HOOK", "PYTHON",
					   "MEMORY",  "DEBUG", "LAST"};
static const char *const colours[] = {"\033[32m", "\033[33m", "\033[31m", "\033[35m"};
static const char plain[] = "\033[0m";

static const struct hk_compat_settings *settings;
static uint64_t start_ns;
static bool colour;

/* The file of one process. Once visible, it never changes. */
struct log_file {
	uint32_t pid;
	char path[PATH_MAX];
};

static struct log_file *_Atomic file;

static void put(struct hk_compat_line *line, const char *bytes, size_t length)
{
	size_t room = sizeof(line->bytes) - sizeof(plain) - 1 - line->used;

	length = length < room ? length : room;
	memcpy(line->bytes + line->used, bytes, length);
	line->used += length;
}

void hk_compat_line_text(struct hk_compat_line *line, const char *text)
{
	put(line, text, strlen(text));
}

void hk_compat_line_number(struct hk_compat_line *line, uint64_t number, uint32_t base)
{
	char digits[64];
	size_t at = sizeof(digits);

	do {
		digits[--at] = "0123456789abcdef"[number % base];
		number /= base;
	} while (number);
	put(line, digits + at, sizeof(digits) - at);
}

void hk_compat_line_size(struct hk_compat_line *line, uint64_t bytes)
{
	static const char *const units[] = {" B", " KB", " MB", " GB"};
	uint64_t unit = 1, hundredths;
	uint32_t at = 0;

	while (at < 3 && bytes / unit >= 1024) {
		unit *= 1024;
		at++;
	}
	hundredths = bytes % unit * 100 / unit;
	hk_compat_line_number(line, bytes / unit, 10);
	hk_compat_line_text(line, hundredths < 10 ? ".0" : ".");
	hk_compat_line_number(line, hundredths, 10);
	hk_compat_line_text(line, units[at]);
}

/* ---- the file ---- */

static void make_directories(const char *path)
{
	char part[PATH_MAX];
	size_t length = strlen(path);

	if (length >= sizeof(part)) {
		return;
	}
	memcpy(part, path, length + 1);
	for (size_t i = 1; i <= length; i++) {
		if (part[i] == '/' || !part[i]) {
			part[i] = 0;
			hk_kernel(SYS_mkdirat, AT_FDCWD, part, 0777, 0, 0, 0);
			part[i] = i < length ? '/' : 0;
		}
	}
}

static void put_padded(struct hk_compat_line *line, uint64_t number, uint64_t least)
{
	for (; number < least && least > 1; least /= 10) {
		hk_compat_line_text(line, "0");
	}
	hk_compat_line_number(line, number, 10);
}

/* Converts a number of days since 1970 to year, month and day of the Gregorian calendar. */
static void put_date(struct hk_compat_line *line, uint64_t day)
{
	/* Days count from 1 March of year 0, in eras of 400 years. */
	uint64_t days = day + 719468, era = days / 146097, of_era = days % 146097;
	uint64_t year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	uint64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	uint64_t shifted = (5 * of_year + 2) / 153;
	uint64_t month = shifted < 10 ? shifted + 3 : shifted - 9;

	put_padded(line, year_of_era + era * 400 + (month <= 2), 1000);
	hk_compat_line_text(line, "-");
	put_padded(line, month, 10);
	hk_compat_line_text(line, "-");
	put_padded(line, of_year - (153 * shifted + 2) / 5 + 1, 10);
}

/* `hook-<pid>-<tid>-YYYY-MM-DD-HH-MM-SS.log`, in UTC. */
static void name_file(struct log_file *named, uint32_t pid)
{
	struct hk_compat_line name = {.used = 0};
	uint64_t seconds = hk_clock_now(false).realtime_ns / 1000000000u;

	hk_compat_line_text(&name, settings->directory);
	hk_compat_line_text(&name, "/hook-");
	hk_compat_line_number(&name, pid, 10);
	hk_compat_line_text(&name, "-");
	hk_compat_line_number(&name, (uint64_t)hk_kernel(SYS_gettid, 0, 0, 0, 0, 0, 0), 10);
	hk_compat_line_text(&name, "-");
	put_date(&name, seconds / 86400);
	for (uint64_t unit = 3600; unit; unit /= 60) {
		hk_compat_line_text(&name, "-");
		put_padded(&name, seconds % 86400 / unit % (unit == 3600 ? 24 : 60), 10);
	}
	hk_compat_line_text(&name, ".log");
	make_directories(settings->directory);
	memcpy(named->path, name.bytes, name.used);
	named->path[name.used] = 0;
	named->pid = pid;
}

/* Returns this process's file, or NULL without memory. The first thread or signal handler to come
 * names it. */
static const struct log_file *own_file(uint32_t pid)
{
	struct log_file *known = atomic_load(&file);
	if (known && known->pid == pid) {
		return known;
	}
	long memory = hk_kernel(SYS_mmap, 0, sizeof(struct log_file), PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory < 0) {
		return NULL;
	}
	struct log_file *named = (struct log_file *)memory;
	name_file(named, pid);
	if (!atomic_compare_exchange_strong(&file, &known, named)) {
		hk_kernel(SYS_munmap, named, sizeof(*named), 0, 0, 0, 0);
		return known;
	}
	return named; /* the parent's entry stays, because a handler of the child may be using it */
}

/* Opens the file for each line: the host could close a permanent descriptor and reuse its number.
 */
static void write_file(const char *bytes, size_t length)
{
	uint32_t pid = (uint32_t)hk_kernel(SYS_getpid, 0, 0, 0, 0, 0, 0);

	const struct log_file *own = own_file(pid);
	long fd = own ? hk_kernel(SYS_openat, AT_FDCWD, own->path,
				  O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666, 0, 0)
		      : -ENOMEM;
	if (fd >= 0) {
		hk_kernel(SYS_write, fd, bytes, length, 0, 0, 0);
		hk_kernel(SYS_close, fd, 0, 0, 0, 0, 0);
	}
}

/* ---- lines ---- */

void hk_compat_line_start(const struct hk_compat_settings *given)
{
	char terminal[TERMINAL_BYTES];

	settings = given;
	start_ns = hk_clock_monotonic_ns();
	colour = hk_kernel(SYS_ioctl, 1, TCGETS, terminal, 0, 0, 0) == 0;
}

void hk_compat_line_begin(struct hk_compat_line *line, enum hk_compat_level level,
			  enum hk_compat_module module, const char *from, uint32_t number)
{
	const char *base = strrchr(from, '/');

	line->used = line->shown = 0;
	if (colour) {
		hk_compat_line_text(line, colours[level]);
		line->shown = line->used;
	}
	hk_compat_line_text(line, "[");
	hk_compat_line_text(line, level_words[level]);
	hk_compat_line_text(line, "][");
	hk_compat_line_text(line, module_words[module]);
	hk_compat_line_text(line, "][");
	hk_compat_line_text(line, base ? base + 1 : from);
	hk_compat_line_text(line, ":");
	hk_compat_line_number(line, number, 10);
	hk_compat_line_text(line, "][PID:");
	hk_compat_line_number(line, (uint64_t)hk_kernel(SYS_getpid, 0, 0, 0, 0, 0, 0), 10);
	hk_compat_line_text(line, "][TID:");
	hk_compat_line_number(line, (uint64_t)hk_kernel(SYS_gettid, 0, 0, 0, 0, 0, 0), 10);
	hk_compat_line_text(line, "][TS:");
	hk_compat_line_number(line, (hk_clock_monotonic_ns() - start_ns) / 1000, 10);
	hk_compat_line_text(line, "us]");
}

/* A closed pipe must not end the host, so its signal is removed. */
static void write_output(const char *bytes, size_t length)
{
	uint64_t pipe = 1u << (SIGPIPE - 1), old = 0, pending = 0;
	struct timespec now = {0, 0};

	hk_kernel(SYS_rt_sigprocmask, SIG_BLOCK, &pipe, &old, sizeof(pipe), 0, 0);
	hk_kernel(SYS_rt_sigpending, &pending, sizeof(pending), 0, 0, 0, 0);
	if (hk_kernel(SYS_write, 1, bytes, length, 0, 0, 0) == -EPIPE && !(pending & pipe)) {
		hk_kernel(SYS_rt_sigtimedwait, &pipe, 0, &now, sizeof(pipe), 0, 0);
	}
	hk_kernel(SYS_rt_sigprocmask, SIG_SETMASK, &old, 0, sizeof(old), 0, 0);
}

void hk_compat_line_end(struct hk_compat_line *line)
{
	/* Room for the line's end was reserved. */
	size_t text = line->used;

	line->bytes[text] = '\n';
	if (settings->directory) {
		write_file(line->bytes + line->shown, text + 1 - line->shown);
	}
	if (settings->directory && !settings->sync) {
		return;
	}
	if (line->shown) {
		memcpy(line->bytes + text, plain, sizeof(plain) - 1);
		text += sizeof(plain) - 1;
		line->bytes[text] = '\n';
	}
	write_output(line->bytes, text + 1);
}
