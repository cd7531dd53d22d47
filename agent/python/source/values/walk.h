/* walk.h: from the words of a call to its values. Needs the GIL, leaves no exception. */
#ifndef HK_VALUES_WALK_H
#define HK_VALUES_WALK_H

#include "record.h"

/* Adds the arguments of a call of API to RECORD: positions "0", "1", ... and keywords by name.
 * SKIP: the first argument, a module, is none. */
void hk_walk_arguments(struct hk_record *record, const struct hk_api *api,
		       const struct hk_api_words *words, bool skip);

/* Adds what a call returned: "0", or "0", "1", ... of a tuple or list. Returns whether there was a
 * tensor. */
bool hk_walk_result(struct hk_record *record, PyObject *result);

#endif
