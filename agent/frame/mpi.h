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

/* Sets *RET_VALUE to the factor `sizeof`, `comm`, `sent` or `sender` of ARGUMENT, which is the one
 * of CALL that FACTOR names, where kept answers tell it. General registers only, no foreign code.
 * Returns false if the library has to be asked. */
bool hk_mpi_known(const struct hk_call *call, const struct hk_factor *factor, uint64_t argument,
		  uint64_t *ret_value);

/* The parts of it, for calls in C. Whether kept answers hold, and handles are addresses; the size
 * of a named datatype; whether BUFFER is not MPI_IN_PLACE. */
bool hk_mpi_answers(bool *ret_wide);
bool hk_mpi_type_known(uint64_t type, uint64_t *ret_size);
bool hk_mpi_is_sent(uint64_t buffer);

/* Value of an MPI factor for CALL; 0 where MPI cannot tell. Calls the host's library. */
uint64_t hk_mpi_factor(struct hk_call *call, const struct hk_factor *factor);

/* Whether handles in C are addresses (Open MPI) and not 32 bits, as all are in Fortran. Calls
 * the host's library. */
bool hk_mpi_is_wide(void);

#endif
