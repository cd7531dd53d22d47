/* compat.h: prints as cuda_mock does, under HOOK_COMPAT=1: a line per call, its arguments, a line
 * per allocation (hooks/compat_settings.h has the variables).
 *
 * The lines are written when a call returns, in its thread; nothing is buffered.
 */
#ifndef HK_AGENT_COMPAT_COMPAT_H
#define HK_AGENT_COMPAT_COMPAT_H

#include "agent/hooks/compat_settings.h"

/* Keeps a reference to SETTINGS, and observes calls if one of them may print. Once, before the
 * first site. */
void hk_compat_start(const struct hk_compat_settings *settings);

#endif
