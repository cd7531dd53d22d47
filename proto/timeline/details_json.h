/* details_json.h: the values and arguments of a call as JSON. No state. */
#ifndef HK_TIMELINE_DETAILS_JSON_H
#define HK_TIMELINE_DETAILS_JSON_H

#include "text/json_stream.h"
#include "timeline/value.h"

/* Writes the value WORD of KEY (enum hk_key) under its name; writes nothing if it has none. */
void hk_details_json_value(struct hk_json *json, const struct hk_export_site *site, uint8_t key,
			   uint64_t word);

/* Writes ARGUMENT as member NAME, or as a value if NAME is NULL; writes nothing for one without a
 * value. */
void hk_details_json_argument(struct hk_json *json, const char *name,
			      const struct hk_argument *argument);

/* Writes all of ARGUMENTS but the result as one object, member KEY or a value. */
void hk_details_json_arguments(struct hk_json *json, const char *key,
			       const struct hk_arguments *arguments);

#endif
