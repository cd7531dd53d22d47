/* step_name.h: which names of ranges say that the range is a step. Pure functions, any thread. */
#ifndef HK_TEXT_STEP_NAME_H
#define HK_TEXT_STEP_NAME_H

#include <stdbool.h>

/* Returns whether NAME is "step" or "ProfilerStep#", alone or with a number: "step 3", "Step-3". */
bool hk_is_step_name(const char *name);

#endif
