/* node.h: how this machine is named among the nodes of a job. No state. */
#ifndef HK_COLLECTOR_LINK_NODE_H
#define HK_COLLECTOR_LINK_NODE_H

#include <stdint.h>

#include "collector/model/job.h"

/* Reads the id of run directory DIRFD, or makes one if there is none. Returns 0 or -errno. */
int hk_node_id(int dirfd, uint8_t id[HK_NODE_ID_BYTES]);

/* Writes the id into run directory DIRFD, whose lock the caller holds. Returns 0 or -errno. */
int hk_node_save_id(int dirfd, const uint8_t id[HK_NODE_ID_BYTES]);

/* The kernel's boot id; zeros where it does not say. */
void hk_node_boot(uint8_t boot[HK_NODE_ID_BYTES]);

#endif
