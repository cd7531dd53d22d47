/* line.h: a line of the agent's own log, made on the stack and written by one write(2). So it is in
 * order with the program's output, and safe in signal handlers. A long line is cut. */
#ifndef HK_AGENT_COMPAT_LINE_H
#define HK_AGENT_COMPAT_LINE_H

#include <stddef.h>
#include <stdint.h>

#include "agent/hooks/compat_settings.h"

#define HK_COMPAT_LINE_BYTES 1024

struct hk_compat_line {
	char bytes[HK_COMPAT_LINE_BYTES];
	size_t used;
	size_t shown; /* bytes of the colour at its start, which is left out in files */
};

/* Sets where lines go. Keeps a reference to SETTINGS. Once, at start. */
void hk_compat_line_start(const struct hk_compat_settings *settings);

/* Begins a line with `[LEVEL][MODULE][FILE:NUMBER][PID:..][TID:..][TS:..us]`. */
void hk_compat_line_begin(struct hk_compat_line *line, enum hk_compat_level level,
			  enum hk_compat_module module, const char *file, uint32_t number);

void hk_compat_line_text(struct hk_compat_line *line, const char *text);
void hk_compat_line_number(struct hk_compat_line *line, uint64_t number, uint32_t base);

/* Adds bytes as "128.00 MB": B, KB, MB or GB with two decimals. */
void hk_compat_line_size(struct hk_compat_line *line, uint64_t bytes);

/* Ends the line and writes it. */
void hk_compat_line_end(struct hk_compat_line *line);

#endif
