/* label.h: names, dtypes, levels and reasons of rows as people read them. Each function fills a
 * caller's buffer and returns it, or returns a constant. Pure, except for reading rows. */
#ifndef HK_CLI_COMPARE_LABEL_H
#define HK_CLI_COMPARE_LABEL_H

#include "cli/compare/comparison.h"

#define HK_LABEL_BYTES 512

/* The row of MATCH that is there: A's, or B's if only B has it. Sets ROW. */
void hk_label_row(const struct hk_rank_pair *pair, const struct hk_match *match,
		  struct hk_dump_row *row);

/* "layers.3.attn.Linear.forward.output.0", "torch.relu.41.forward.input.0",
 * "layers.3.attn.weight.gradient". */
const char *hk_label_name(char text[HK_LABEL_BYTES], const struct hk_dump_row *row);

/* The call of ROW: "layers.3.attn.Linear.forward", "torch.relu.forward #41", "gradient of
 * layers.3.attn.weight". */
const char *hk_label_call(char text[HK_LABEL_BYTES], const struct hk_dump_row *row);

/* "input 0", "keyword weight", "output 0", "gradient". */
const char *hk_label_slot(char text[HK_LABEL_BYTES], const struct hk_dump_row *row);

/* "forward", "gradient", ...; "input", ...; "api", ... */
const char *hk_label_phase(enum hk_dump_phase phase);
const char *hk_label_role(enum hk_dump_role role);
const char *hk_label_kind(enum hk_dump_kind kind);

/* "bf16/fp32", or "fp32" if both sides have it. */
const char *hk_label_dtypes(char text[HK_LABEL_BYTES], const struct hk_rank_pair *pair,
			    const struct hk_match *match);

/* "equal", "yes", "no", "follows", "unmatched", "?"; "elsewhere" is not counted. */
const char *hk_label_level(enum hk_match_level level);

/* Why MATCH has its level: "" if it is equal. */
const char *hk_label_reason(char text[HK_LABEL_BYTES], const struct hk_rank_pair *pair,
			    const struct hk_match *match);

#endif
