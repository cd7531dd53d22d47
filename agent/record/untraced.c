#include "agent/record/untraced.h"

struct hk_untraced *hk_untraced_enter(struct hk_segment_header *ancestor,
				      const struct hk_segment_header *process, int error)
{
	uint32_t number = atomic_fetch_add_explicit(&ancestor->untraced, 1, memory_order_relaxed);
	if (number >= HK_UNTRACED_MAX) {
		return NULL;
	}
	struct hk_untraced *entry =
	    (struct hk_untraced *)(void *)((char *)ancestor + HK_UNTRACED_OFFSET) + number;
	entry->error = error;
	entry->pid = process->pid;
	entry->ppid = process->ppid;
	entry->pid_start = process->pid_start;
	entry->start = process->start;
	atomic_store_explicit(&entry->state, HK_STATE_OPEN, memory_order_release);
	return entry;
}

void hk_untraced_end(struct hk_untraced *entry, int code)
{
	if (entry) {
		entry->exit_code = code;
		atomic_store_explicit(&entry->state, HK_STATE_EXITED, memory_order_release);
	}
}
