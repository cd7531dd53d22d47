/* node_layout.h: how a launcher spreads ranks over nodes, by its variables. Pure function of the
 * environment passed in, like base/identity.h, which gives this process's rank. */
#ifndef HK_CLI_RUN_NODE_LAYOUT_H
#define HK_CLI_RUN_NODE_LAYOUT_H

#include <stdbool.h>

#include "base/identity.h"

struct hk_node_layout {
	int local_size;	 /* ranks on this node; 0: unknown */
	bool many_nodes; /* other nodes have ranks of the job */
};

/* Reads NAME=VALUE strings as environ has them, ended by NULL. IDENTITY is this process's identity
 * from the same strings. */
void hk_node_layout_read(char *const *environment, const struct hk_identity *identity,
			 struct hk_node_layout *ret_world);

#endif
