/* call.h: the values of a call of an API, taken before and after it. Needs the GIL. */
#ifndef HK_VALUES_CALL_H
#define HK_VALUES_CALL_H

#include "python/source/apis.h"

/* What a hooked function is: hk_api.role. */
enum hk_role {
	HK_ROLE_FUNCTION = 0,
	HK_ROLE_MODULE = 1,   /* calls its first argument, a module */
	HK_ROLE_BACKWARD = 2, /* a backward pass */
	HK_ROLE_NOTICE = 3,   /* a method in Python, whose calls go to `notify` */
	HK_ROLE_STEP = 4,     /* the same of an optimizer's step; at its end, with a closure */
	HK_ROLES
};

extern const struct hk_api_observer hk_call_observer;

/* Forgets what was learned of APIs. */
void hk_call_reset(void);

#endif
