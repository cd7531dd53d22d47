/* judge.h: a call seen as a whole: how far its inputs and its outputs are off. What a backward call
 * reads are the gradients that arrive (role OUTPUT) and the forward call's tensors; what it makes
 * are the gradients that leave (role INPUT). A module also reads its parameters. One owner, no
 * locking. */
#ifndef HK_CLI_COMPARE_JUDGE_H
#define HK_CLI_COMPARE_JUDGE_H

#include "cli/compare/comparison.h"

struct hk_judge {
	const struct hk_rank_pair *pair;
	uint32_t *sources; /* hk_flow_sources of A */
	struct hk_judge_forward *forward;
	size_t forward_count;
	struct hk_judge_parameter *parameters;
	size_t parameter_count;
};

struct hk_judged {
	bool known;	   /* each tensor that the call reads has its row of B */
	bool inputs_equal; /* bit by bit; true without inputs */
	bool outputs_equal;
	bool outputs_broken; /* an output is known not to be equal bit by bit */
	bool alike;	     /* dtypes and devices of the outputs are the same on both sides */
	bool exact;	     /* the worst output has an integer dtype, which nothing rounds */
	bool guessed;	     /* an error is of statistics, so a lower bound */
	double input_error;  /* the largest; INFINITY if an input differs beyond a number */
	double output_error;
	uint32_t worst_input, worst_output; /* matches, or HK_MATCH_NONE */
	double scale; /* root mean square of B's largest floating input; 0 without one. Sums of it
			 that cancel out are as inexact as it, however small they are. */
	double unit;  /* unit roundoff of the narrowest floating dtype of inputs and outputs */
};

/* Returns 0 or -ENOMEM; then JUDGE is empty. PAIR has its matches measured. */
int hk_judge_init(struct hk_judge *judge, const struct hk_rank_pair *pair);
void hk_judge_fini(struct hk_judge *judge);

/* Judges CALL of A, which has a twin. */
void hk_judge_call(const struct hk_judge *judge, const struct hk_call *call,
		   struct hk_judged *judged);

/* The error of MATCH, an output of the call of JUDGED, in units of the output or of the inputs that
 * it sums up, whichever is larger. */
double hk_judge_error(const struct hk_judge *judge, const struct hk_judged *judged,
		      const struct hk_match *match);

/* Whether CALL of A makes the row with this ROLE. */
bool hk_judge_is_output(const struct hk_call *call, enum hk_dump_role role);

/* Unit roundoff of DTYPE; 0 for integers and bool. */
double hk_judge_unit(enum hk_dtype dtype);

#endif
