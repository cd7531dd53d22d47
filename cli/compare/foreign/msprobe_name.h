/* msprobe_name.h: the names of msprobe: "Functional.conv2d.0.forward",
 * "Module.c1.Conv2d.forward.0", "Module.c1.Conv2d.parameters_grad.0". Pure. */
#ifndef HK_CLI_COMPARE_FOREIGN_MSPROBE_NAME_H
#define HK_CLI_COMPARE_FOREIGN_MSPROBE_NAME_H

#include <stdbool.h>

#include "dump/dump.h"

#define HK_MSPROBE_NAME_BYTES 512

struct hk_msprobe_name {
	enum hk_dump_kind kind; /* STATE: gradients of the module's parameters */
	enum hk_dump_phase phase;
	char name[HK_MSPROBE_NAME_BYTES]; /* as a row has it: "torch.nn.functional.conv2d", "c1" */
	char of[HK_MSPROBE_NAME_BYTES];	  /* the module's class, or "" */
	uint32_t number;
};

/* Parses TEXT. Returns false if it is no such name. */
bool hk_msprobe_name_parse(struct hk_msprobe_name *name, const char *text);

/* Writes the API that TYPE ("Functional", "Tensor") and OPERATION stand for, as rows name it. */
void hk_msprobe_api_name(char name[HK_MSPROBE_NAME_BYTES], const char *type, const char *operation);

/* Writes the API of a row, "torch.nn.functional.conv2d", as the tools do: "Functional.conv2d". */
void hk_msprobe_api_text(char text[HK_MSPROBE_NAME_BYTES], const char *name);

/* Writes the frame TEXT, "File /a.py, line 3, in f, \n code", as "/a.py:3 f"; any other text stays.
 */
void hk_msprobe_frame(char frame[HK_MSPROBE_NAME_BYTES], const char *text);

#endif
