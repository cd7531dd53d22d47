/* nng_error.h: converts errors of NNG to errno values; all callers use this. Pure function. */
#ifndef HK_WIRE_NNG_ERROR_H
#define HK_WIRE_NNG_ERROR_H

/* Returns 0 for 0, else the negative errno value that is closest to NNG_ERROR. */
int hk_nng_errno(int nng_error);

#endif
