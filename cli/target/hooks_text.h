/* hooks_text.h: a user's hooks, from a file or from the command line, as text and as hooks.
 */
#ifndef HK_CLI_TARGET_HOOKS_TEXT_H
#define HK_CLI_TARGET_HOOKS_TEXT_H

#include <stddef.h>

#include "hooks/hook.h"
#include "hooks/language/parser.h"

/* Reads the whole hooks file PATH. The caller frees *RET_TEXT. Returns 0, -EISDIR, -EFBIG if it is
 * longer than a hooks file may be, or another -errno. */
int hk_hooks_text_read(const char *path, char **ret_text, size_t *ret_size);

/* Parses SIZE bytes of TEXT as the hooks file NAME. The caller frees *RET_MEMORY, which holds
 * *RET_FILE. Lines that do not parse go to REPORT. Returns 0 or -ENOMEM. */
int hk_hooks_text_parse(const char *name, const char *text, size_t size,
			const struct hk_hooks_report *report, struct hk_hook_file *ret_file,
			void **ret_memory);

#endif
