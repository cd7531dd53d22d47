/* msprobe_call_names.h: the names that msprobe gives to the calls of one rank: a backward call has
 * its forward call's number, a parameter its module's class. One owner. */
#ifndef HK_CLI_COMPARE_FOREIGN_CSV_MSPROBE_CALL_NAMES_H
#define HK_CLI_COMPARE_FOREIGN_CSV_MSPROBE_CALL_NAMES_H

#include "cli/compare/source.h"

#define HK_MSPROBE_CALL_BYTES 1200

struct hk_msprobe_call_names;

/* VALUES outlives the names. Returns NULL without memory. */
struct hk_msprobe_call_names *hk_msprobe_call_names_new(const struct hk_values *values);
struct hk_msprobe_call_names *hk_msprobe_call_names_free(struct hk_msprobe_call_names *names);

/* Writes the name of ROW, "Functional.conv2d.0.forward.input.0", to TEXT. Returns how many bytes of
 * it name the call; 0 if msprobe has no place for such a row. */
size_t hk_msprobe_call_name(const struct hk_msprobe_call_names *names,
			    const struct hk_dump_row *row, char text[HK_MSPROBE_CALL_BYTES]);

#endif
