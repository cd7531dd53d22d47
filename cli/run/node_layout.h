/* node_layout.h: how the ranks of a launcher are spread over nodes, by its variables. Pure function
 * of the environment passed in, like base/identity.h, which gives this process's rank. */
#ifndef HK_CLI_RUN_NODE_LAYOUT_H
#define HK_CLI_RUN_NODE_LAYOUT_H

#include <stdbool.h>

#include "base/identity.h"

struct hk_node_layout {
	int local_size;	 /* ranks on this node; 0: unknown */
	bool many_nodes; /* there are others, with ranks of the same job */
};

/* Reads ENVIRON-style NAME=VALUE strings ended by NULL; IDENTITY is what they say of this process.
 */
void hk_node_layout_read(char *const *environment, const struct hk_identity *identity,
			 struct hk_node_layout *ret_world);

#endif
