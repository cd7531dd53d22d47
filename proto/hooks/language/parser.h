/* parser.h: reads a hooks file into hooks. Runs in the build (shipped files), in the agent before
 * main (a user's file, text and arena in mmap'd pages) and in the tools. It allocates nothing,
 * prints nothing, uses no locale and only the memory functions of libc. Work is linear in the text;
 * memory is the arena's. A line that does not parse is left out, counted and reported; the others
 * stay in force. hooks/LANGUAGE.md describes the language. */
#ifndef HK_HOOKS_LANGUAGE_PARSER_H
#define HK_HOOKS_LANGUAGE_PARSER_H

#include <stddef.h>
#include <stdint.h>

#include "hooks/hook.h"
#include "hooks/language/arena.h"

/* Receives the lines left out: `message` is one line of printable text such as "unknown type
 * 'sizet' (line ignored)", valid during the call. */
struct hk_hooks_report {
	void (*bad_line)(void *context, const char *file, uint32_t line, const char *message);
	void *context;
};

/* Parses `size` bytes of `text` as the hooks file `name` and returns the number of bad lines. The
 * result and its texts, a copy of `name` included, live in `arena`; `text` is not needed
 * afterwards. A full arena ends the file early and counts as one bad line. `report` may be NULL.
 * Always sets `*ret_file`. */
uint32_t hk_hooks_parse(struct hk_hook_arena *arena, const char *name, const char *text,
			size_t size, const struct hk_hooks_report *report,
			struct hk_hook_file *ret_file);

#endif
