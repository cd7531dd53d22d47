/* loaded.h: the objects of a process that a CUDA runtime is linked into, and whether it loaded the
 * driver.
 *
 * The kernel's list of mappings is read when the agent has scanned new objects, at most once a
 * second. Files are looked into one a second, and the rest when the process has ended. So what is
 * loaded in the last second before the end is not known, except for the program and objects with
 * call sites. One thread.
 */
#ifndef HK_COLLECTOR_PROCESS_LOADED_H
#define HK_COLLECTOR_PROCESS_LOADED_H

#include <stdbool.h>

#include "collector/model/collector.h"
#include "collector/model/process.h"

struct hk_loaded;

/* Brings `cuda_inside` and `cuda_driver` of PROCESS's state up to date. Called once a second, and
 * with LAST when it has ended. Returns 0 or -ENOMEM. */
int hk_loaded_refresh(struct hk_collector *collector, struct hk_process *process, bool last);

/* Frees LOADED. Accepts NULL, returns NULL. */
struct hk_loaded *hk_loaded_free(struct hk_loaded *loaded);

#endif
