/* delay_table.h: writes what made ranks late, and the critical path, of a job. Main thread only. */
#ifndef HK_CLI_DELAY_DELAY_TABLE_H
#define HK_CLI_DELAY_DELAY_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/delay/delay.h"
#include "cli/delay/path.h"
#include "text/json_stream.h"

/* Write what is missing first, then the largest rows as text; all rows otherwise. Return 0, -EIO or
 * -ENOMEM. */
int hk_delay_table_write_text(const struct hk_history *history, const struct hk_delays *delays,
			      FILE *output, bool colour);
int hk_delay_table_write_json(const struct hk_history *history, const struct hk_delays *delays,
			      FILE *output);
int hk_delay_table_write_csv(const struct hk_history *history, const struct hk_delays *delays,
			     FILE *output);
int hk_path_table_write_text(const struct hk_history *history, const struct hk_path *path,
			     FILE *output, bool colour);
int hk_path_table_write_json(const struct hk_history *history, const struct hk_path *path,
			     FILE *output);
int hk_path_table_write_csv(const struct hk_history *history, const struct hk_path *path,
			    FILE *output);

/* Write members of an object: both results with at most MOST rows each. */
void hk_delay_table_write_members(const struct hk_history *history, const struct hk_delays *delays,
				  size_t most, struct hk_json *json);
void hk_path_table_write_members(const struct hk_history *history, const struct hk_path *path,
				 size_t most, struct hk_json *json);

#endif
