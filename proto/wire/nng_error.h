/* nng_error.h: the one place where errors of NNG become errno values. Pure function. */
#ifndef HK_WIRE_NNG_ERROR_H
#define HK_WIRE_NNG_ERROR_H

/* Returns 0 for 0, else the negative errno value that is closest to NNG_ERROR. */
int hk_nng_errno(int nng_error);

#endif
