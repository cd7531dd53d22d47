#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#define LINE_BYTES 1024

static const char *program_name = "hooktrace";
static enum hk_log_level highest_level = HK_LOG_INFO;

void hk_log_setup(const char *program, enum hk_log_level level)
{
	program_name = program;
	highest_level = level;
}

void hk_log(enum hk_log_level level, const char *format, ...)
{
	static const char *const prefixes[] = {"error: ", "warning: ", "", "debug: "};
	char line[LINE_BYTES];
	int saved_errno = errno;
	va_list arguments;

	if (level > highest_level) {
		return;
	}
	int start = snprintf(line, sizeof(line), "%s: %s", program_name, prefixes[level]);
	if (start < 0 || start >= LINE_BYTES - 1) {
		start = 0;
	}
	errno = saved_errno;
	va_start(arguments, format);
	int length = vsnprintf(line + start, sizeof(line) - (size_t)start, format, arguments);
	va_end(arguments);
	length = length < 0 ? start : start + length;
	if (length > LINE_BYTES - 1) {
		length = LINE_BYTES - 1;
	}
	/* Text from traced processes must not forge a second line or drive a terminal. */
	for (int i = 0; i < length; i++) {
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f) {
			line[i] = '?';
		}
	}
	line[length] = '\n';
	(void)!write(STDERR_FILENO, line, (size_t)length + 1);
	errno = saved_errno;
}
