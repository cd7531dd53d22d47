/* mpi.h: what only the MPI library of the process can tell about a call: sizes of datatypes, ranks,
 * which communicator.
 *
 * Asks through PMPI_* entry points found by lookup, C or Fortran by the hook's flag; answers are
 * cached. The hash of a communicator is made of its parent's hash, its ordinal among the parent's
 * children and the lowest world rank in it, so all members agree on it without talking.
 */
#ifndef HK_AGENT_FRAME_MPI_H
#define HK_AGENT_FRAME_MPI_H

#include <stdbool.h>
#include <stdint.h>

#include "frame/call.h"
#include "hooks/hook.h"

/* Value of an MPI factor for CALL; 0 where MPI cannot tell. Under hk_state_saved, general slow
 * path. */
uint64_t hk_mpi_factor(struct hk_call *call, const struct hk_factor *factor);

/* Whether handles in C are addresses (Open MPI) and not 32 bits, as all are in Fortran. Asked like
 * hk_mpi_factor. */
bool hk_mpi_is_wide(void);

#endif
