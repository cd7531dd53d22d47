/* ptdbg_name.h: the names of ptdbg_ascend's records: "21_Torch_norm_forward_input.0" of its first
 * version, "Torch_norm_3_forward_input.0" of later ones. Pure. */
#ifndef HK_CLI_COMPARE_FOREIGN_PTDBG_NAME_H
#define HK_CLI_COMPARE_FOREIGN_PTDBG_NAME_H

#include <stdbool.h>

#include "dump/dump.h"

#define HK_PTDBG_NAME_BYTES 512

struct hk_ptdbg_name {
	char api[HK_PTDBG_NAME_BYTES]; /* "torch.norm" */
	char slot[HK_PTDBG_NAME_BYTES];
	enum hk_dump_phase phase;
	enum hk_dump_role role; /* as written: input or output */
	bool is_stack;		/* "..._stack_info" */
	bool has_firing, has_number;
	uint64_t firing; /* of all hooks, forward and backward: the leading number */
	uint32_t number; /* of calls of this API: the number behind it */
};

/* Parses TEXT. Returns false if it is no such name. */
bool hk_ptdbg_name_parse(struct hk_ptdbg_name *name, const char *text);

#endif
