/* symbols.h: the collector's side of the process that reads symbols (symbol_reader.h).
 *
 * No call waits. The process is started at the first request, and again after it has ended. One
 * request is under way at a time, so it is known which file ended the process. Not thread-safe.
 */
#ifndef HK_COLLECTOR_SYMBOL_SYMBOLS_H
#define HK_COLLECTOR_SYMBOL_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/symbol.pb-c.h"

#define HK_SYMBOLS_LIMIT_NS UINT64_C(60000000000) /* without a reply */

struct hk_symbols;

/* Returns NULL without memory. */
struct hk_symbols *hk_symbols_new(void);
struct hk_symbols *hk_symbols_free(struct hk_symbols *symbols);

/* Returns a descriptor that is readable when there is a reply or the process has ended, or -1
 * without a process. */
int hk_symbols_fd(const struct hk_symbols *symbols);

/* Returns whether a request is under way. */
bool hk_symbols_is_busy(const struct hk_symbols *symbols);

/* Sends REQUEST, whose number it sets, at time NOW_NS. Returns 0, or -errno: the caller tries again
 * later. */
int hk_symbols_ask(struct hk_symbols *symbols, Hk__SymbolRequest *request, uint64_t now_ns);

/* Takes a reply to the request under way. Returns 1, 0 if there is none yet, -ECHILD if the process
 * has ended instead, or -ETIMEDOUT if it did not reply and was ended. After the last reply, and
 * after an error, no request is under way. */
int hk_symbols_take(struct hk_symbols *symbols, uint64_t now_ns, Hk__SymbolReply **ret_reply);

#endif
