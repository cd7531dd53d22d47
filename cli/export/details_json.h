/* details_json.h: the values and arguments of a call as JSON. No state. */
#ifndef HK_CLI_EXPORT_DETAILS_JSON_H
#define HK_CLI_EXPORT_DETAILS_JSON_H

#include "cli/export/exporter.h"
#include "text/json_stream.h"

/* The named value WORD of KEY (enum hk_key) under its own name; nothing if it has none. */
void hk_details_json_value(struct hk_json *json, uint8_t key, uint64_t word);

/* ARGUMENT as member NAME, or as a value where NAME is NULL; nothing for one without a value. */
void hk_details_json_argument(struct hk_json *json, const char *name,
			      const struct hk_argument *argument);

/* All of ARGUMENTS but the result as one object, member KEY or a value. */
void hk_details_json_arguments(struct hk_json *json, const char *key,
			       const struct hk_arguments *arguments);

#endif
