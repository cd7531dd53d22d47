/* steps.h: the values of most MPI calls, as steps that take no more than a few instructions each.
 *
 * A step is one factor that is made of a word of struct hk_call, or of an answer that is kept for
 * it (mpi.h, comms.h). Hooks with other factors have no steps: values.h evaluates theirs.
 */
#ifndef HK_AGENT_FRAME_STEPS_H
#define HK_AGENT_FRAME_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "frame/call.h"
#include "frame/comms.h"
#include "frame/mpi.h"
#include "hooks/hook.h"

enum hk_step_what {
	HK_STEP_ONE_SIGNED, /* the value's only factor */
	HK_STEP_SIGNED,
	HK_STEP_UNSIGNED,
	HK_STEP_WHOLE,
	HK_STEP_TYPE_SIZE,
	HK_STEP_COMM,
	HK_STEP_SENT,
	HK_STEP_SENDER,
	HK_STEP_IS_ROOT,
	HK_STEP_END, /* all values are there */
};

struct hk_step {
	uint8_t what; /* enum hk_step_what: what is made of the word */
	uint8_t word; /* of struct hk_call */
	uint8_t comm; /* HK_STEP_IS_ROOT: the communicator's word */
	uint8_t ends; /* its value has no further factor */
};

/* The steps of all of HOOK's values. Returns NULL if a factor is no step, or there is no memory. */
const struct hk_step *hk_steps_plan(const struct hk_hook *hook);

/* Sets the values of CALL, which did not fail. Returns false where values.h has to look further. */
static inline bool hk_steps_follow(const struct hk_call *call, const struct hk_step *step,
				   uint64_t *values)
{
	const uint64_t *words = (const uint64_t *)(const void *)call;
	uint64_t handle_bits, product = 1;
	if (!hk_mpi_answers(&handle_bits)) {
		return false;
	}
	for (;; step++) {
		uint64_t word = words[step->word];
		const struct hk_comm *comm;
		int32_t root;
		if (step->what == HK_STEP_ONE_SIGNED) {
			*values++ = (uint64_t)(int64_t)(int32_t)word;
			continue;
		}
		if (step->what == HK_STEP_SIGNED) {
			word = (uint64_t)(int64_t)(int32_t)word;
		} else if (step->what == HK_STEP_COMM) {
			comm = hk_comms_known_at_once(word & handle_bits);
			if (!comm) {
				return false;
			}
			word = hk_comms_hash(comm);
		} else if (step->what == HK_STEP_TYPE_SIZE) {
			if (!hk_mpi_type_known(word & handle_bits, &word)) {
				return false;
			}
		} else if (step->what == HK_STEP_SENDER) {
			word = (uint64_t)(int64_t)(int32_t)word;
			if ((int64_t)word < 0) {
				return false;
			}
		} else if (step->what == HK_STEP_SENT) {
			word = hk_mpi_is_sent(word);
		} else if (step->what == HK_STEP_IS_ROOT) {
			comm = hk_comms_known_at_once(words[step->comm] & handle_bits);
			if (!comm || !hk_comms_root(comm, &root)) {
				return false;
			}
			word = (int32_t)word == root;
		} else if (step->what == HK_STEP_UNSIGNED) {
			word = (uint32_t)word;
		} else if (step->what == HK_STEP_END) {
			return true;
		}
		product *= word;
		if (!step->ends) {
			if (product) {
				continue;
			}
			while (!step->ends) { /* what follows a factor of 0 may be invalid */
				step++;
			}
		}
		*values++ = product;
		product = 1;
	}
}

#endif
