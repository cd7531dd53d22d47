#include "cli/compare/write/label.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/compare/measure/measure.h"
#include "cli/compare/shape.h"

void hk_label_row(const struct hk_rank_pair *pair, const struct hk_match *match,
		  struct hk_dump_row *row)
{
	if (match->a != HK_MATCH_NONE) {
		pair->a->ops->row(pair->a, match->a, row);
	} else {
		pair->b->ops->row(pair->b, match->b, row);
	}
}

/* ---- names ---- */

const char *hk_label_phase(enum hk_dump_phase phase)
{
	static const char *const words[] = {"forward",	"backward",  "parameter",
					    "gradient", "optimizer", "broadcast"};

	return phase < sizeof(words) / sizeof(words[0]) ? words[phase] : "?";
}

const char *hk_label_role(enum hk_dump_role role)
{
	static const char *const words[] = {"input", "keyword", "output"};

	return role < sizeof(words) / sizeof(words[0]) ? words[role] : "?";
}

const char *hk_label_kind(enum hk_dump_kind kind)
{
	static const char *const words[] = {"api", "module", "state"};

	return kind < sizeof(words) / sizeof(words[0]) ? words[kind] : "?";
}

/* "layers.3.attn.Linear", the class behind the path. */
static const char *module_name(char text[HK_LABEL_BYTES], const struct hk_dump_row *row)
{
	snprintf(text, HK_LABEL_BYTES, "%s%s%s", row->name, *row->name && *row->of ? "." : "",
		 row->of);
	return text;
}

const char *hk_label_name(char text[HK_LABEL_BYTES], const struct hk_dump_row *row)
{
	char module[HK_LABEL_BYTES], number[16] = "";

	if (row->kind == HK_DUMP_STATE) {
		bool slot =
		    *row->slot && row->phase != HK_DUMP_GRADIENT && row->phase != HK_DUMP_PARAMETER;
		snprintf(text, HK_LABEL_BYTES, "%s.%s%s%s", row->name, hk_label_phase(row->phase),
			 slot ? "." : "", slot ? row->slot : "");
		return text;
	}
	if (row->kind == HK_DUMP_API || row->number > 0) {
		snprintf(number, sizeof(number), ".%" PRIu32, row->number);
	}
	snprintf(text, HK_LABEL_BYTES, "%.300s%s.%s.%s.%.100s",
		 row->kind == HK_DUMP_MODULE ? module_name(module, row) : row->name, number,
		 hk_label_phase(row->phase), hk_label_role(row->role), row->slot);
	return text;
}

const char *hk_label_call(char text[HK_LABEL_BYTES], const struct hk_dump_row *row)
{
	char module[HK_LABEL_BYTES];
	bool api = row->kind == HK_DUMP_API;

	if (row->kind == HK_DUMP_STATE) {
		snprintf(text, HK_LABEL_BYTES, "%s of %s", hk_label_phase(row->phase), row->name);
	} else {
		snprintf(text, HK_LABEL_BYTES, "%.240s.%s #%" PRIu32 "%s%.200s",
			 api ? row->name : module_name(module, row), hk_label_phase(row->phase),
			 row->number, api && *row->of ? " in " : "", api ? row->of : "");
	}
	return text;
}

const char *hk_label_slot(char text[HK_LABEL_BYTES], const struct hk_dump_row *row)
{
	if (row->kind == HK_DUMP_STATE) {
		snprintf(text, HK_LABEL_BYTES, "%s", hk_label_phase(row->phase));
	} else {
		snprintf(text, HK_LABEL_BYTES, "%s %s", hk_label_role(row->role), row->slot);
	}
	return text;
}

/* ---- dtypes ---- */

static const char *dtype_short(enum hk_dtype dtype)
{
	switch (dtype) {
	case HK_DTYPE_NONE:
		return "-";
	case HK_DTYPE_F16:
		return "fp16";
	case HK_DTYPE_BF16:
		return "bf16";
	case HK_DTYPE_F32:
		return "fp32";
	case HK_DTYPE_F64:
		return "fp64";
	case HK_DTYPE_F8_E4M3:
		return "e4m3";
	case HK_DTYPE_F8_E5M2:
		return "e5m2";
	default:
		return hk_dtype_name(dtype);
	}
}

const char *hk_label_dtypes(char text[HK_LABEL_BYTES], const struct hk_rank_pair *pair,
			    const struct hk_match *match)
{
	struct hk_dump_row a, b;

	if (match->a == HK_MATCH_NONE || match->b == HK_MATCH_NONE) {
		hk_label_row(pair, match, &a);
		b = a;
	} else {
		pair->a->ops->row(pair->a, match->a, &a);
		pair->b->ops->row(pair->b, match->b, &b);
	}
	snprintf(text, HK_LABEL_BYTES, "%s%s%s", dtype_short(a.dtype),
		 a.dtype == b.dtype ? "" : "/", a.dtype == b.dtype ? "" : dtype_short(b.dtype));
	return text;
}

/* ---- levels and reasons ---- */

const char *hk_label_level(enum hk_match_level level)
{
	static const char *const words[HK_MATCH_LEVELS] = {
	    "elsewhere", "equal", "yes", "unmatched", "?", "follows", "no"};

	return words[level];
}

static const char *alone_text(const struct hk_match *match)
{
	bool of_a = match->a != HK_MATCH_NONE;

	switch (match->why) {
	case HK_WHY_STEP:
		return of_a ? "only in A: B has no such step" : "only in B: A has no such step";
	case HK_WHY_CALL:
		return of_a ? "only in A: B has no such call" : "only in B: A has no such call";
	default:
		return of_a ? "only in A: the call of B has no such value"
			    : "only in B: the call of A has no such value";
	}
}

/* What is to be said about the shapes, or "". */
static void shape_text(char *text, size_t size, const struct hk_match *match,
		       const struct hk_dump_row *a, const struct hk_dump_row *b)
{
	static const char *const words[] = {[HK_SHAPE_SQUEEZED] = "squeezed",
					    [HK_SHAPE_TRANSPOSED] = "transposed",
					    [HK_SHAPE_RESHAPED] = "as many elements",
					    [HK_SHAPE_JOINED] = "shards put together"};
	char a_shape[HK_SHAPE_TEXT_BYTES], b_shape[HK_SHAPE_TEXT_BYTES];

	text[0] = '\0';
	if (match->transposed) {
		snprintf(text, size, "; agrees with dimensions %u and %u of B exchanged",
			 match->swapped[0], match->swapped[1]);
	} else if (match->shape != HK_SHAPE_SAME && match->shape != HK_SHAPE_COUNT) {
		snprintf(text, size, "; shapes %s and %s (%s)",
			 hk_shape_text(a_shape, a->shape, a->dimensions),
			 hk_shape_text(b_shape, b->shape, b->dimensions), words[match->shape]);
	}
}

static void why_text(char *text, const struct hk_rank_pair *pair, const struct hk_match *match,
		     const struct hk_dump_row *a, const struct hk_dump_row *b)
{
	char a_shape[HK_SHAPE_TEXT_BYTES], b_shape[HK_SHAPE_TEXT_BYTES];

	if (match->level == HK_MATCH_EQUAL) {
		text[0] = '\0';
		return;
	}
	switch (match->why) {
	case HK_WHY_SCALAR:
		snprintf(text, HK_LABEL_BYTES, "%.80s and %.80s", a->scalar, b->scalar);
		return;
	case HK_WHY_COUNT:
		snprintf(text, HK_LABEL_BYTES, "shapes %s and %s cannot be compared",
			 hk_shape_text(a_shape, a->shape, a->dimensions),
			 hk_shape_text(b_shape, b->shape, b->dimensions));
		return;
	case HK_WHY_INPUTS:
		snprintf(text, HK_LABEL_BYTES, "was made from values that differ");
		return;
	case HK_WHY_ROUNDING:
		snprintf(text, HK_LABEL_BYTES,
			 "error %.1e: rounding of what it was made from explains it", match->error);
		return;
	case HK_WHY_LATER:
		snprintf(text, HK_LABEL_BYTES, "after the first divergence");
		return;
	case HK_WHY_BITS:
		snprintf(text, HK_LABEL_BYTES, "the runs were equal bit by bit until here");
		return;
	case HK_WHY_SHARDS:
		snprintf(text, HK_LABEL_BYTES, "a shard is missing, or shards do not fit together");
		return;
	case HK_WHY_DTYPE:
		snprintf(text, HK_LABEL_BYTES, "no elements and no statistics");
		return;
	default:
		if (match->shape == HK_SHAPE_JOINED) {
			snprintf(text, HK_LABEL_BYTES, "relative difference %.3g", match->error);
			return;
		}
		hk_measure_verdict(pair, match, a, b, match->difference, text);
	}
}

const char *hk_label_reason(char text[HK_LABEL_BYTES], const struct hk_rank_pair *pair,
			    const struct hk_match *match)
{
	struct hk_dump_row a, b;
	char shape[HK_LABEL_BYTES];

	if (match->a == HK_MATCH_NONE || match->b == HK_MATCH_NONE) {
		snprintf(text, HK_LABEL_BYTES, "%s", alone_text(match));
		return text;
	}
	pair->a->ops->row(pair->a, match->a, &a);
	pair->b->ops->row(pair->b, match->b, &b);
	why_text(text, pair, match, &a, &b);
	shape_text(shape, sizeof(shape), match, &a, &b);
	size_t length = strlen(text), skip = length == 0 && *shape ? 2 : 0;
	snprintf(text + length, HK_LABEL_BYTES - length, "%s", shape + skip);
	return text;
}
