/* find.h: the watch of numbers that are not finite. Needs the GIL. */
#ifndef HK_VALUES_FIND_H
#define HK_VALUES_FIND_H

#include "record.h"

/* Looks at what RECORD's call, in PHASE, made, then at what it was given: the first `inputs`
 * values. Returns 1 if it is a find whose rows are to be written, 2 if it is one without, 0 if it
 * is none. */
int hk_find_check(struct hk_record *record, enum hk_dump_phase phase);

/* The rows of the find are written: the user's function may act. Returns 0, or -1 with an exception
 * that the call is to raise. */
int hk_find_react(void);

#endif
