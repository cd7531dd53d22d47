#include "cli/compare/match/match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare/match/align.h"

/* Calls of one kind, phase and pass keep their order within a step, in every run. Calls of
 * different streams may change places, since threads make them. */
struct stream {
	uint32_t *a, *b; /* calls */
	size_t a_count, b_count;
	uint32_t *twins; /* for each of A: the place in B, or HK_ALIGN_NONE */
};

struct matcher {
	struct hk_rank_pair *pair;
	struct stream stream;
	uint64_t *a_tokens, *b_tokens;
	struct leftover *a_left, *b_left;
};

/* A call that no sequence matched. */
struct leftover {
	uint64_t key;
	uint32_t place;
};

/* What has to be the same for calls to be aligned, from strict to loose. */
enum token { TOKEN_DIGESTS, TOKEN_SHAPES, TOKEN_NAME, TOKENS };

static uint64_t token_of(const struct hk_call *call, enum token token)
{
	uint64_t name = (call->name + 1) * 0x9e3779b97f4a7c15u;

	switch (token) {
	case TOKEN_DIGESTS:
		return name ^ call->shapes ^ call->digests * 0xff51afd7ed558ccdu;
	case TOKEN_SHAPES:
		return name ^ call->shapes;
	default:
		return name;
	}
}

/* ---- calls of a stream ---- */

static void tokens_fill(uint64_t *tokens, const struct hk_calls *calls, const uint32_t *list,
			size_t count, enum token token)
{
	for (size_t i = 0; i < count; i++) {
		tokens[i] = token_of(&calls->list[list[i]], token);
	}
}

static bool stream_is_same(const struct matcher *matcher)
{
	const struct stream *stream = &matcher->stream;

	tokens_fill(matcher->a_tokens, &matcher->pair->a_calls, stream->a, stream->a_count,
		    TOKEN_SHAPES);
	tokens_fill(matcher->b_tokens, &matcher->pair->b_calls, stream->b, stream->b_count,
		    TOKEN_SHAPES);
	return stream->a_count == stream->b_count &&
	       memcmp(matcher->a_tokens, matcher->b_tokens,
		      stream->a_count * sizeof(*matcher->a_tokens)) == 0;
}

/* Aligns the unpaired calls A..A_END with those B..B_END. */
static int gap_align(struct matcher *matcher, size_t a, size_t a_end, size_t b, size_t b_end)
{
	uint32_t *twins = matcher->stream.twins + a;
	int r = a == a_end || b == b_end ? 0
					 : hk_align(matcher->a_tokens + a, a_end - a,
						    matcher->b_tokens + b, b_end - b, twins);

	for (size_t i = a; r == 0 && b < b_end && i < a_end; i++, twins++) {
		*twins += *twins == HK_ALIGN_NONE ? 0 : (uint32_t)b;
	}
	return r;
}

/* Aligns what is unpaired between calls that are paired already. */
static int gaps_align(struct matcher *matcher, enum token token)
{
	struct stream *stream = &matcher->stream;
	size_t a = 0, b = 0;
	int r = 0;

	tokens_fill(matcher->a_tokens, &matcher->pair->a_calls, stream->a, stream->a_count, token);
	tokens_fill(matcher->b_tokens, &matcher->pair->b_calls, stream->b, stream->b_count, token);
	for (size_t i = 0; r == 0 && i <= stream->a_count; i++) {
		bool end = i == stream->a_count;
		if (!end && stream->twins[i] == HK_ALIGN_NONE) {
			continue;
		}
		size_t b_end = end ? stream->b_count : stream->twins[i];
		size_t next = b_end + 1;
		r = gap_align(matcher, a, i, b, b_end);
		a = i + 1;
		b = next;
	}
	return r;
}

static int by_key(const void *left, const void *right)
{
	const struct leftover *a = left, *b = right;

	if (a->key != b->key) {
		return a->key < b->key ? -1 : 1;
	}
	return (a->place > b->place) - (a->place < b->place);
}

static size_t leftovers_find(const struct hk_calls *calls, const uint32_t *list, size_t count,
			     const bool *paired, struct leftover *leftovers)
{
	size_t many = 0;

	for (size_t i = 0; i < count; i++) {
		const struct hk_call *call = &calls->list[list[i]];
		if (!paired[i]) {
			leftovers[many++] = (struct leftover){
			    token_of(call, TOKEN_SHAPES) + call->number, (uint32_t)i};
		}
	}
	qsort(leftovers, many, sizeof(*leftovers), by_key);
	return many;
}

/* Pairs calls of the same name, number and shapes that changed their place in the sequence. */
static int leftovers_pair(struct matcher *matcher)
{
	struct stream *stream = &matcher->stream;
	bool *paired = calloc(stream->a_count + stream->b_count + 1, sizeof(*paired));
	bool *b_paired = paired + stream->a_count;

	if (!paired) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < stream->a_count; i++) {
		paired[i] = stream->twins[i] != HK_ALIGN_NONE;
		if (paired[i]) {
			b_paired[stream->twins[i]] = true;
		}
	}
	size_t a_many = leftovers_find(&matcher->pair->a_calls, stream->a, stream->a_count, paired,
				       matcher->a_left);
	size_t b_many = leftovers_find(&matcher->pair->b_calls, stream->b, stream->b_count,
				       b_paired, matcher->b_left);
	for (size_t i = 0, j = 0; i < a_many && j < b_many;) {
		const struct leftover *a = &matcher->a_left[i], *b = &matcher->b_left[j];
		if (a->key == b->key) {
			stream->twins[a->place] = b->place;
		}
		i += a->key <= b->key;
		j += b->key <= a->key;
	}
	free(paired);
	return 0;
}

static int stream_align(struct matcher *matcher)
{
	struct stream *stream = &matcher->stream;
	int r = 0;

	if (stream_is_same(matcher)) {
		for (size_t i = 0; i < stream->a_count; i++) {
			stream->twins[i] = (uint32_t)i;
		}
		return 0;
	}
	for (size_t i = 0; i < stream->a_count; i++) {
		stream->twins[i] = HK_ALIGN_NONE;
	}
	for (enum token token = TOKEN_DIGESTS; r == 0 && token < TOKENS; token++) {
		r = gaps_align(matcher, token);
	}
	return r ? r : leftovers_pair(matcher);
}

/* ---- rows of a call ---- */

static bool is_slot(const struct hk_dump_row *a, const struct hk_dump_row *b)
{
	return a->role == b->role && strcmp(a->slot, b->slot) == 0;
}

/* Tools list the gradients of a call's arguments in orders of their own. */
static bool is_slot_of_size(const struct hk_dump_row *a, const struct hk_dump_row *b)
{
	return is_slot(a, b) && a->statistics.count == b->statistics.count;
}

/* A tool's gradients of something inside of the call, not of its arguments. */
static bool is_of_node(const struct hk_dump_row *row)
{
	return row->phase == HK_DUMP_BACKWARD && strncmp(row->slot, "node.", 5) == 0;
}

/* An argument may be passed by its place on one side and by keyword on the other. */
static bool is_like(const struct hk_dump_row *a, const struct hk_dump_row *b)
{
	return !is_of_node(a) && !is_of_node(b) &&
	       (a->role == HK_DUMP_OUTPUT) == (b->role == HK_DUMP_OUTPUT) &&
	       (a->dtype == HK_DTYPE_NONE) == (b->dtype == HK_DTYPE_NONE) &&
	       a->statistics.count == b->statistics.count;
}

/* Pairs row A_ROW with the first row of B's call from place FROM that is ALIKE and free. */
static bool row_pair(struct hk_rank_pair *pair, bool *taken, uint32_t a_row,
		     const struct hk_call *b_call, uint32_t from,
		     bool (*alike)(const struct hk_dump_row *, const struct hk_dump_row *))
{
	struct hk_dump_row a, b;

	pair->a->ops->row(pair->a, a_row, &a);
	for (uint32_t i = 0; i < b_call->count; i++) {
		uint32_t place = (from + i) % b_call->count;
		uint32_t b_row = pair->b_calls.rows[b_call->first + place];
		pair->b->ops->row(pair->b, b_row, &b);
		if (!taken[b_row] && alike(&a, &b)) {
			pair->matches[a_row].b = b_row;
			taken[b_row] = true;
			return true;
		}
	}
	return false;
}

/* Pairs the rows of A's call that have no partner yet. */
static void rows_pair_alike(struct hk_rank_pair *pair, bool *taken, const struct hk_call *a_call,
			    const struct hk_call *b_call,
			    bool (*alike)(const struct hk_dump_row *, const struct hk_dump_row *))
{
	for (uint32_t i = 0; i < a_call->count; i++) {
		uint32_t row = pair->a_calls.rows[a_call->first + i];
		if (pair->matches[row].b == HK_MATCH_NONE) {
			row_pair(pair, taken, row, b_call, i, alike);
		}
	}
}

static void rows_pair(struct hk_rank_pair *pair, bool *taken, const struct hk_call *a_call,
		      const struct hk_call *b_call)
{
	bool gradients = a_call->phase == HK_DUMP_BACKWARD;
	bool (*const alike[])(const struct hk_dump_row *, const struct hk_dump_row *) = {
	    gradients ? is_slot_of_size : is_slot, is_like, is_slot};

	for (uint32_t i = 0; i < a_call->count; i++) {
		pair->matches[pair->a_calls.rows[a_call->first + i]].why = HK_WHY_SLOT;
	}
	for (size_t round = 0; round < sizeof(alike) / sizeof(*alike); round++) {
		rows_pair_alike(pair, taken, a_call, b_call, alike[round]);
	}
}

/* ---- steps ---- */

static bool is_in_stream(const struct hk_call *call, enum hk_dump_kind kind,
			 enum hk_dump_phase phase, bool recomputed)
{
	return call->kind == kind && call->phase == phase && call->recomputed == recomputed;
}

static size_t stream_fill(uint32_t *list, const struct hk_calls *calls,
			  const struct hk_call_step *step, const struct hk_call *like)
{
	size_t count = 0;

	for (size_t i = step->first; i < step->first + step->count; i++) {
		if (is_in_stream(&calls->list[i], like->kind, like->phase, like->recomputed)) {
			list[count++] = (uint32_t)i;
		}
	}
	return count;
}

static int stream_match(struct matcher *matcher, const struct hk_call_step *a,
			const struct hk_call_step *b, const struct hk_call *like)
{
	struct stream *stream = &matcher->stream;
	struct hk_rank_pair *pair = matcher->pair;

	stream->a_count = stream_fill(stream->a, &pair->a_calls, a, like);
	stream->b_count = stream_fill(stream->b, &pair->b_calls, b, like);
	if (stream->a_count == 0 || stream->b_count == 0) {
		return 0;
	}
	int r = stream_align(matcher);
	for (size_t i = 0; r == 0 && i < stream->a_count; i++) {
		if (stream->twins[i] != HK_ALIGN_NONE) {
			uint32_t b_call = stream->b[stream->twins[i]];
			pair->a_calls.list[stream->a[i]].twin = b_call;
			pair->b_calls.list[b_call].twin = stream->a[i];
		}
	}
	return r;
}

static int step_match(struct matcher *matcher, const struct hk_call_step *a,
		      const struct hk_call_step *b)
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i < 3 * 6 * 2; i++) {
		const struct hk_call like = {.kind = (enum hk_dump_kind)(i % 3),
					     .phase = (enum hk_dump_phase)(i / 3 % 6),
					     .recomputed = i / 18 != 0};
		r = stream_match(matcher, a, b, &like);
	}
	return r;
}

/* Marks calls of STEP as having a step on the other side: what they lack is a twin. */
static void step_mark(struct hk_rank_pair *pair, const struct hk_call_step *step)
{
	for (size_t i = step->first; i < step->first + step->count; i++) {
		const struct hk_call *call = &pair->a_calls.list[i];
		for (uint32_t j = 0; j < call->count; j++) {
			pair->matches[pair->a_calls.rows[call->first + j]].why = HK_WHY_CALL;
		}
	}
}

static bool steps_meet(const struct hk_rank_pair *pair)
{
	for (size_t i = 0, j = 0; i < pair->a_calls.step_count && j < pair->b_calls.step_count;) {
		uint64_t a = pair->a_calls.steps[i].step, b = pair->b_calls.steps[j].step;
		if (a == b) {
			return true;
		}
		i += a < b;
		j += b < a;
	}
	return false;
}

static int steps_match(struct matcher *matcher, bool in_order)
{
	struct hk_rank_pair *pair = matcher->pair;
	int r = 0;

	in_order = in_order || !steps_meet(pair);
	for (size_t i = 0, j = 0;
	     r == 0 && i < pair->a_calls.step_count && j < pair->b_calls.step_count;) {
		struct hk_call_step *a = &pair->a_calls.steps[i], *b = &pair->b_calls.steps[j];
		if (in_order || a->step == b->step) {
			a->twin = (uint32_t)j;
			b->twin = (uint32_t)i;
			step_mark(pair, a);
			r = step_match(matcher, a, b);
		}
		bool next_a = in_order || a->step <= b->step;
		j += in_order || b->step <= a->step;
		i += next_a;
	}
	return r;
}

/* ---- a rank ---- */

static enum hk_match_why why_alone(const struct hk_call_step *step, const struct hk_call *call)
{
	return step->twin == HK_CALL_NONE   ? HK_WHY_STEP
	       : call->twin == HK_CALL_NONE ? HK_WHY_CALL
					    : HK_WHY_SLOT;
}

/* Adds the rows that only B has. */
static void b_rows_add(struct hk_rank_pair *pair, const bool *taken)
{
	const struct hk_calls *calls = &pair->b_calls;

	for (size_t s = 0; s < calls->step_count; s++) {
		const struct hk_call_step *step = &calls->steps[s];
		for (size_t i = step->first; i < step->first + step->count; i++) {
			const struct hk_call *call = &calls->list[i];
			for (uint32_t j = 0; j < call->count; j++) {
				uint32_t row = calls->rows[call->first + j];
				if (!taken[row]) {
					pair->matches[pair->count++] =
					    (struct hk_match){.a = HK_MATCH_NONE,
							      .b = row,
							      .level = HK_MATCH_UNMATCHED,
							      .why = why_alone(step, call)};
				}
			}
		}
	}
}

static void a_rows_add(struct hk_rank_pair *pair)
{
	for (size_t i = 0; i < pair->a->count; i++) {
		pair->matches[i] = (struct hk_match){.a = (uint32_t)i,
						     .b = HK_MATCH_NONE,
						     .level = HK_MATCH_UNMATCHED,
						     .why = HK_WHY_STEP};
	}
	pair->count = pair->a->count;
}

static void calls_pair(struct hk_rank_pair *pair, bool *taken)
{
	for (size_t i = 0; i < pair->a_calls.count; i++) {
		const struct hk_call *call = &pair->a_calls.list[i];
		if (call->twin != HK_CALL_NONE) {
			rows_pair(pair, taken, call, &pair->b_calls.list[call->twin]);
		}
	}
}

static void matcher_fini(struct matcher *matcher)
{
	free(matcher->stream.a);
	free(matcher->stream.b);
	free(matcher->stream.twins);
	free(matcher->a_tokens);
	free(matcher->b_tokens);
	free(matcher->a_left);
	free(matcher->b_left);
}

static int matcher_init(struct matcher *matcher, struct hk_rank_pair *pair)
{
	size_t a = pair->a_calls.count + 1, b = pair->b_calls.count + 1;

	*matcher = (struct matcher){.pair = pair};
	matcher->stream.a = calloc(a, sizeof(uint32_t));
	matcher->stream.b = calloc(b, sizeof(uint32_t));
	matcher->stream.twins = calloc(a, sizeof(uint32_t));
	matcher->a_tokens = calloc(a, sizeof(uint64_t));
	matcher->b_tokens = calloc(b, sizeof(uint64_t));
	matcher->a_left = calloc(a, sizeof(struct leftover));
	matcher->b_left = calloc(b, sizeof(struct leftover));
	return matcher->stream.a && matcher->stream.b && matcher->stream.twins &&
		       matcher->a_tokens && matcher->b_tokens && matcher->a_left && matcher->b_left
		   ? 0
		   : -ENOMEM;
}

int hk_match_rank(struct hk_rank_pair *pair, bool steps_in_order)
{
	struct matcher matcher;
	bool *taken = calloc(pair->b->count + 1, sizeof(*taken));
	int r = matcher_init(&matcher, pair);

	pair->matches = calloc(pair->a->count + pair->b->count + 1, sizeof(*pair->matches));
	if (r < 0 || !taken || !pair->matches) {
		matcher_fini(&matcher);
		free(taken);
		return -ENOMEM;
	}
	a_rows_add(pair);
	r = steps_match(&matcher, steps_in_order);
	if (r == 0) {
		calls_pair(pair, taken);
		b_rows_add(pair, taken);
	}
	matcher_fini(&matcher);
	free(taken);
	return r;
}
