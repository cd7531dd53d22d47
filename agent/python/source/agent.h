/* agent.h: the agent's functions, as the extension calls them.
 *
 * The extension does not look for the agent, because dlsym would bind it to a new glibc: Python
 * code loads the agent and passes its addresses to bind(). All are NULL until then.
 */
#ifndef HK_PYTHON_AGENT_H
#define HK_PYTHON_AGENT_H

#define HOOKTRACE_AGENT
#include "hooktrace.h"

#define HK_AGENT_FUNCTIONS(X)                                           \
	X(int, hk_start_late, (const char *const *, char *, size_t))    \
	X(uint32_t, hk_site_define, (const struct hk_site_text *))      \
	X(int, hk_is_on, (uint32_t))                                    \
	X(void, hk_enter, (struct hk_open *, uint32_t))                 \
	X(void, hk_leave, (struct hk_open *, int))                      \
	X(int, hk_hook_pointer, (void **, const struct hk_site_text *)) \
	X(void, hk_range_push, (const char *))                          \
	X(void, hk_range_pop, (void))                                   \
	X(void, hk_mark, (const char *))                                \
	X(void, hk_step, (uint64_t))                                    \
	X(void, hk_counter, (const char *, double))                     \
	X(void, hk_agree, (const char *, uint64_t, const struct hk_agreed *, size_t))

struct hk_agent {
#define X(type, name, arguments) type(*name) arguments;
	HK_AGENT_FUNCTIONS(X)
#undef X
};

extern struct hk_agent hk_agent;

#endif
