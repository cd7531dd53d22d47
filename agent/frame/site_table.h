/* site_table.h: all sites of the process, for site.c and plain.c.
 *
 * Each site has an index and a number. The index says what kind of site it is: sites with thunks
 * have the numbers of their thunks, those with spare thunks follow (spare.h), plain sites follow
 * these (plain.h). The number is the one that the segment, its cells, its open calls and its
 * records have: sites of all kinds are numbered in the order of their creation. All functions need
 * the process lock, except where they say otherwise.
 */
#ifndef HK_AGENT_FRAME_SITE_TABLE_H
#define HK_AGENT_FRAME_SITE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/frame/hot.h"
#include "agent/frame/spare.h"
#include "agent/object/object.h"

#define HK_PLAIN_FIRST (HK_THUNKS + HK_SPARE_THUNKS) /* index of the first plain site */
#define HK_INDEX_BOUND (HK_PLAIN_FIRST + HK_PLAIN_SITES)

#define HK_PLAIN_CHUNK 1024u

struct hk_site;

/* What calls of plain sites read of them; NULL: none yet. */
extern struct hk_site_hot *hk_plain_hot[HK_PLAIN_SITES / HK_PLAIN_CHUNK];

/* Fields of a site that calls do not read. */
struct hk_site_item {
	const char *function, *library, *provider;
	uint8_t level, pinned;	       /* in force */
	uint8_t own_level, own_pinned; /* without rules and ceilings */
	uint32_t own_stack_rate;       /* the same */
	uint8_t ceiling;	       /* ceiling set by the collector; 0: none */
	uint8_t shared;
	bool retired;  /* its object was unloaded; the site matches nothing until it is loaded again
			*/
	uint32_t next; /* next site of the chain + 1; 0: none */
	uint32_t next_live;    /* next site that is not retired */
	struct hk_span caller; /* the calling object */
	struct hk_site *entry; /* entry in the segment; NULL: not published yet */
};

/* Makes room for the site at INDEX. Returns false if out of memory. */
bool hk_site_table_make_room(uint32_t index);

/* Return both halves of the site at INDEX, for which there is room. Without the lock for sites that
 * exist. */
struct hk_site_item *hk_site_table_item(uint32_t index);
struct hk_site_hot *hk_site_table_hot(uint32_t index);

/* Returns site NUMBER of the segment, or NULL if there is none. Without the lock. */
struct hk_site_hot *hk_site_table_find(uint32_t number);

/* Sets what calls of HOOK read of the site at INDEX, with the next number. The caller sets the rest
 * and adds the site. */
struct hk_site_hot *hk_site_table_warm(uint32_t index, const struct hk_hook *hook);

/* Adds the site at INDEX, which is warm: gives it its level and writes it into the segment. Returns
 * false if there is no room. */
bool hk_site_table_add(uint32_t index);

/* Sets the level of the site at INDEX. Running calls read one byte, the old or the new one. A call
 * that began before a site went off is recorded as usual. */
void hk_site_table_relevel(uint32_t index);

/* Returns the control of a site at LEVEL. */
uint8_t hk_site_table_control(const struct hk_site_hot *hot, uint8_t level);

/* Returns how many sites there are. */
uint32_t hk_site_table_count(void);

/* Makes all calls from now on, also open ones, read the time by hk_clock_read. Without
 * the lock. */
void hk_site_table_stop_clocks(void);

/* From now on no call of a site is traced. Without the lock. */
void hk_site_table_pass_all(void);

/* Writes every site bound so far into the segment, when the process makes its first hooked call.
 * Under the process lock. */
void hk_site_table_publish_all(void);

/* Returns the level (enum hk_level) of a plain site, and whether it is pinned. */
typedef uint8_t hk_site_level(const char *function, const char *library, uint8_t *ret_pinned);

/* Forgets the entries and ceilings of the segment that was closed. Plain sites get their LEVEL
 * again. Under the process lock. */
void hk_site_table_renew(hk_site_level *level);

/* Sets the level of every site from its own, the rules and the ceilings (rules.h). Returns true if
 * the loader may have overwritten a slot, because calls passed through its stub. Under the process
 * lock. */
bool hk_site_table_relevel_all(void);

bool hk_site_table_same(const char *a, const char *b);

#endif
