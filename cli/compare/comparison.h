/* comparison.h: the result of comparing two dumps: pairs of ranks with their matched rows, and the
 * first divergence. A is the side under test, B the reference. Plain values, read by the formats;
 * the dumps stay open as long as the comparison. Main thread only. */
#ifndef HK_CLI_COMPARE_COMPARISON_H
#define HK_CLI_COMPARE_COMPARISON_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/compare/calls.h"
#include "cli/compare/source.h"
#include "tensor/difference.h"

#define HK_MATCH_NONE UINT32_MAX /* no row on this side */

/* Of a row, from best to worst. */
enum hk_match_level {
	HK_MATCH_ELSEWHERE, /* not counted: another pair of ranks has this row, which is replicated
			     */
	HK_MATCH_EQUAL,	    /* the same elements, bit by bit */
	HK_MATCH_AGREES,    /* as close as the narrower dtype allows */
	HK_MATCH_UNMATCHED, /* only one side has the row */
	HK_MATCH_UNKNOWN,   /* neither elements nor statistics, or they could not be read */
	HK_MATCH_FOLLOWS,   /* differs, and so did what it was made from */
	HK_MATCH_DIFFERS,
	HK_MATCH_LEVELS
};

/* What the level of a row rests on. */
enum hk_match_why {
	HK_WHY_NUMBERS,	 /* the verdict about its elements or statistics */
	HK_WHY_SCALAR,	 /* values that are no tensors */
	HK_WHY_COUNT,	 /* the numbers of elements differ */
	HK_WHY_INPUTS,	 /* FOLLOWS: inputs of the call differ, or the row that made the tensor */
	HK_WHY_ROUNDING, /* FOLLOWS: the errors of the inputs explain the row's */
	HK_WHY_LATER,	 /* FOLLOWS: comes from outside, after the first divergence */
	HK_WHY_BITS,	 /* DIFFERS: the runs were the same bit by bit until here */
	HK_WHY_SHARDS,	 /* a shard is missing, or the shapes of shards do not fit together */
	HK_WHY_DTYPE,	 /* a dtype is unknown, or there are no statistics */
	HK_WHY_STEP,	 /* UNMATCHED: the other side lacks the step */
	HK_WHY_CALL,	 /* UNMATCHED: the other side's step lacks the call */
	HK_WHY_SLOT,	 /* UNMATCHED: the other side's call lacks the slot */
};

/* How the shapes of a matched pair relate, if they are not the same. */
enum hk_match_shape {
	HK_SHAPE_SAME,
	HK_SHAPE_SQUEEZED,   /* the same without dimensions of 1 */
	HK_SHAPE_TRANSPOSED, /* dimensions `swapped` exchanged, and so compared */
	HK_SHAPE_RESHAPED,   /* as many elements, compared in logical order */
	HK_SHAPE_JOINED,     /* one side was put together of shards */
	HK_SHAPE_COUNT,	     /* different numbers of elements: not compared */
};

/* One row of each side, or of one side alone. */
struct hk_match {
	uint32_t a, b; /* index of the row, or HK_MATCH_NONE */
	enum hk_match_level level;
	enum hk_match_shape shape;
	uint8_t swapped[2]; /* TRANSPOSED: dimensions of B */
	bool other_bits;    /* the elements are known not to be the same bit by bit */
	bool transposed;    /* differs as it stands, and agrees with B transposed in `swapped` */
	enum hk_match_why why;
	/* With the elements of both sides: all numbers. NULL: equal, statistics only, or unmatched.
	 */
	struct hk_difference *difference;
	double error; /* |a - b| / |b| as L2 norms; of statistics a lower bound; NaN if unknown */
};

/* A rank of each side and their matched rows, in the order of A, then rows of B alone. */
struct hk_rank_pair {
	struct hk_values *a, *b;
	struct hk_calls a_calls, b_calls;
	struct hk_match *matches; /* match i is row i of A as long as i < a->count */
	size_t count;
	enum hk_dtype least; /* of tolerance.h */
	double factor;
};

enum hk_first_kind {
	HK_FIRST_NONE,
	HK_FIRST_OPERATOR, /* inputs agree, an output does not */
	HK_FIRST_MEMORY,   /* a tensor agreed when `before` saw it and not when `match` read it */
	HK_FIRST_OUTSIDE,  /* an input that no call of the dump made: data, parameter, collective */
};

/* The first operator that went wrong. */
struct hk_first {
	enum hk_first_kind kind;
	size_t pair;   /* of ranks */
	size_t call;   /* of a_calls */
	size_t match;  /* the row that shows it: an output, or the input read */
	size_t input;  /* OPERATOR: the input that is furthest off, SIZE_MAX without inputs */
	size_t before; /* MEMORY, OUTSIDE: the row that saw the memory last, or SIZE_MAX */
	bool bitwise;  /* the runs were bit-equal until here; any difference counts */
};

struct hk_comparison {
	struct hk_dump_set a, b;
	struct hk_rank_pair *pairs;
	size_t pair_count;
	struct hk_first first;
	size_t levels[HK_MATCH_LEVELS]; /* rows of each level, over all ranks */
	/* What the output shows. */
	size_t rows; /* most rows of text; 0: all */
	bool all;    /* rows that agree too */
	bool colour;
};

#endif
