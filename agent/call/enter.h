/* enter.h: the slow ways into a hooked call, for the assembly, if a part of the state is missing.
 *
 * All are called with all registers saved.
 */
#ifndef HK_AGENT_CALL_ENTER_H
#define HK_AGENT_CALL_ENTER_H

#include "agent/frame/call.h"
#include "agent/frame/hot.h"
#include "agent/frame/site_table.h"
#include "agent/record/thread.h"

/* Returns the cell that THREAD, which is ready, has for plain site INDEX, or NULL if it has none.
 */
static inline struct hk_cell *hk_call_plain_cell(const struct hk_thread *thread, uint32_t index)
{
	uint32_t plain = index - HK_PLAIN_FIRST;
	struct hk_cell **page = thread->plain_cells[plain / HK_PLAIN_CELLS];
	return page ? page[plain % HK_PLAIN_CELLS] : NULL;
}

/* The same for SITE, which is plain or has a thunk that is not a spare one. */
static inline struct hk_cell *hk_call_cell(const struct hk_thread *thread,
					   const struct hk_site_hot *site)
{
	return site->index < HK_THUNKS ? thread->cells[site->index]
				       : hk_call_plain_cell(thread, site->index);
}

/* Returns that cell, which is made if necessary, or NULL if there is no room. Inside the agent. */
struct hk_cell *hk_call_make_cell(struct hk_thread *thread, const struct hk_site_hot *site);

/* Prepares a call if the thread has no state yet, if the site has no cell for it, if the generation
 * changed, or if calls were abandoned. Returns 1 to try again, or 0 to pass the call through
 * unmeasured. */
int hk_call_prepare(struct hk_call *call, struct hk_site_hot *site);

/* Makes the missing state for a call of spare thunk NUMBER, and counts the call. */
int hk_spare_count(void *number, void *unused);

/* Handles a call of a site that is off, in a new generation. The arguments are unused. */
int hk_control_poll(void *unused, void *none);

#endif
