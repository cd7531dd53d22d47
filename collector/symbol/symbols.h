/* symbols.h: names the frames of processes' stacks, by the files that their objects were loaded
 * from.
 *
 * Tables of files that were read are kept for all processes, the least recently used one is
 * dropped first. A file of another build than the process loaded names nothing. Not thread-safe.
 */
#ifndef HK_COLLECTOR_SYMBOL_SYMBOLS_H
#define HK_COLLECTOR_SYMBOL_SYMBOLS_H

#include "schema/wire.pb-c.h"

struct hk_symbols;

/* Returns NULL without memory. */
struct hk_symbols *hk_symbols_new(void);
struct hk_symbols *hk_symbols_free(struct hk_symbols *symbols);

/* Gives each frame of STATE, whose columns are valid (report/model/stacks.h), that has none its
 * name. Files are looked for below ROOT, the root directory of the process, then below "/". Returns
 * 0 or -ENOMEM. */
int hk_symbols_name(struct hk_symbols *symbols, const char *root, Hk__Process *state);

/* Gives each kernel of STATE that has no name the name of the host's function that launches it,
 * which has the same name as the kernel. Returns 0 or -ENOMEM. */
int hk_symbols_name_kernels(struct hk_symbols *symbols, const char *root, Hk__Process *state);

#endif
