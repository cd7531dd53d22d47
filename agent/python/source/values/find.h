/* find.h: the watch of numbers that are not finite. Needs the GIL. */
#ifndef HK_VALUES_FIND_H
#define HK_VALUES_FIND_H

#include "values/record.h"

/* Looks at the outputs of RECORD's call, then at its inputs. Returns 1 if its rows are to be written, 0
 * if not, or -1 with an exception of the user's function. */
int hk_find_check(const struct hk_record *record);

#endif
