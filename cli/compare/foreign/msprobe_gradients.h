/* msprobe_gradients.h: what the "output" of a backward call of msprobe is: the gradients of the
 * call's inputs, or, of a function of several operators, those of its last operator's. Pure. */
#ifndef HK_CLI_COMPARE_FOREIGN_MSPROBE_GRADIENTS_H
#define HK_CLI_COMPARE_FOREIGN_MSPROBE_GRADIENTS_H

#include <jansson.h>
#include <stdbool.h>

/* What the slots of the latter begin with: no other tool has them. */
#define HK_MSPROBE_NODE "node"

/* Whether the gradients of CALL, the backward call NAME of DUMP, are as many and as large as the
 * inputs of its forward call that require one, and the function is not known to have several
 * operators. True without a forward call. */
bool hk_msprobe_gradients_are_of_inputs(const json_t *dump, const char *name, const json_t *call);

#endif
