/* mpi.h: asks the MPI library of the process about a call: sizes of datatypes, ranks,
 * communicators.
 *
 * It calls PMPI_* functions found by name, for C or Fortran by the hook's flag, and caches answers.
 * The hash of a communicator is made of its parent's hash, its ordinal among the parent's children
 * and its lowest world rank, so all members agree on it without messages.
 */
#ifndef HK_AGENT_RUNTIME_MPI_H
#define HK_AGENT_RUNTIME_MPI_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/frame/call.h"
#include "agent/object/loader.h"
#include "agent/runtime/comms.h"
#include "hooks/hook.h"

/* Makes scans look for the library's functions. Before the first scan. */
void hk_mpi_setup(void);

/* Sets *RET_VALUE to the factor `sizeof`, `comm`, `isroot`, `sent` or `sender` of ARGUMENT, which
 * is FACTOR's argument of CALL, from kept answers. General registers only, no foreign code. Returns
 * false if the library must be asked. */
bool hk_mpi_known(const struct hk_call *call, const struct hk_factor *factor, uint64_t argument,
		  uint64_t *ret_value);

#define HK_MPI_TYPES 512u /* named datatypes remembered */

/* The answers kept for hk_mpi_known, and for calls in C (message_values.h). */
struct hk_mpi_kept {
	uint64_t found; /* hk_loader_unloads() when the library was found, plus 1; 0: unusable */
	uint64_t handle_bits; /* of a word, that are a handle's */
	uint64_t in_place;    /* MPI_IN_PLACE */
	/* Written under the process lock and read without it: `handle` is 0 while `size` changes.
	 */
	struct {
		_Atomic uint64_t handle, size;
	} types[HK_MPI_TYPES];
};

extern struct hk_mpi_kept hk_mpi_kept;

/* Whether kept answers hold. */
static inline bool hk_mpi_cache_holds(void)
{
	return hk_mpi_kept.found == hk_loader_unloads() + 1;
}

static inline uint32_t hk_mpi_type_location(uint64_t type)
{
	return (uint32_t)(type * HK_COMMS_SPREAD >> 32) % HK_MPI_TYPES;
}

/* Sets *RET_SIZE to the bytes of a named datatype. Returns false if it is not kept. */
static inline bool hk_mpi_type_known(uint64_t type, uint64_t *ret_size)
{
	uint32_t at = hk_mpi_type_location(type);
	const _Atomic uint64_t *handle = &hk_mpi_kept.types[at].handle;
	if (!type || atomic_load_explicit(handle, memory_order_acquire) != type) {
		return false;
	}
	*ret_size = atomic_load_explicit(&hk_mpi_kept.types[at].size, memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(handle, memory_order_relaxed) == type;
}

/* Whether BUFFER of a call in C is not MPI_IN_PLACE. */
static inline bool hk_mpi_is_sent(uint64_t buffer)
{
	return buffer != hk_mpi_kept.in_place;
}

/* Returns the value of an MPI factor for CALL, or 0 if MPI has no answer. Calls the host's library.
 */
uint64_t hk_mpi_factor(struct hk_call *call, const struct hk_factor *factor);

/* Returns whether handles in C are addresses (Open MPI) and not 32 bits. In Fortran all have 32
 * bits. Calls the host's library. */
bool hk_mpi_is_wide(void);

#endif
