/* details.h: the arguments and the result of a call as Perfetto's debug annotations. Pure
 * functions.
 */
#ifndef HK_CLI_EXPORT_DETAILS_H
#define HK_CLI_EXPORT_DETAILS_H

#include "cli/export/exporter.h"
#include "schema/perfetto.pb-c.h"

#define HK_DETAILS_ANNOTATIONS 2 /* most annotations of one call */

/* The arguments of a call as one dictionary, with the memory that the annotations point into. */
struct hk_details {
	struct hk_arguments arguments;
	Hk__Perfetto__DebugAnnotation entries[HK_HOOK_ARGS], *list[HK_HOOK_ARGS];
	char names[HK_HOOK_ARGS][HK_ARGUMENT_NAME_BYTES];
	char texts[HK_HOOK_ARGS + 1][HK_ARGUMENT_VALUE_BYTES];
	char values[HK_SLICE_WORDS][HK_VALUE_TEXT_BYTES];
};

/* Sets up to HK_DETAILS_ANNOTATIONS of ANNOTATIONS: the arguments of SLICE in a dictionary of their
 * own, because one may have the name of a value, and the result. They point into DETAILS. Returns
 * their number. */
size_t hk_details_annotate(const struct hk_slice *slice, struct hk_details *details,
			   Hk__Perfetto__DebugAnnotation *annotations);

#endif
