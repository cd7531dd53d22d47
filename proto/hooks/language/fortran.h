/* fortran.h: the Fortran form of a C function, as MPI's bindings define it.
 *
 * Same arguments in the same order, all by address, handles as ints, no result but a last `ierror`,
 * and after that one length per character argument. `ierror` is optional in the mpi_f08 module: its
 * address can be 0.
 */
#ifndef HK_HOOKS_LANGUAGE_FORTRAN_H
#define HK_HOOKS_LANGUAGE_FORTRAN_H

#include "hooks/language/draft.h"

/* Derives the Fortran form of a C line; the symbol stays as it is. Returns 0, or -EINVAL if there
 * is none: the scan holds the reason. */
int hk_fortran_derive(struct hk_scan *scan, const struct hk_draft *line,
		      struct hk_draft *ret_fortran);

#endif
