#include "collector/lifecycle/untraced.h"

#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "collector/lifecycle/process_list.h"
#include "collector/model/attachment.h"
#include "collector/model/fields.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "collector/proc/procfs.h"
#include "collector/process/ancestry.h"
#include "collector/process/process_state.h"

#define NOTE_BYTES 256

/* Makes the uid of the process of entry NUMBER. It is always the same, and no random uid but
 * ANCESTOR's has the same first bytes. */
static void uid_of(const struct hk_process *ancestor, uint32_t number, uint8_t uid[HK_UID_BYTES])
{
	memcpy(uid, ancestor->uid, HK_UID_BYTES);
	uid[HK_UID_BYTES - 1] ^= (uint8_t)(number + 1);
}

static Hk__Role role_below(const struct hk_process *ancestor)
{
	Hk__Role role = ancestor->state->role;
	return role == HK__ROLE__ROLE_MAIN ? HK__ROLE__ROLE_HELPER : role;
}

/* Makes the state of an untraced process from ENTRY. Fields that ENTRY lacks come from the
 * ancestor. */
static int new_state(const struct hk_collector *collector, const struct hk_process *ancestor,
		     uint32_t number, const struct hk_untraced_copy *entry, Hk__Process **ret_state)
{
	struct hk_segment_identity identity = *hk_reader_identity(ancestor->segment->reader);
	uid_of(ancestor, number, identity.uid);
	identity.pid = entry->pid;
	identity.ppid = entry->ppid;
	identity.pid_start = entry->pid_start;
	identity.start = entry->start;
	snprintf(identity.note, sizeof(identity.note),
		 "its calls were not seen: it could not make a segment (%s)",
		 strerror(-entry->error));
	Hk__Process *state;
	int r = hk_state_new(&identity, &state);
	if (r < 0) {
		return r;
	}
	r = hk_field_set_string(&state->job, ancestor->job->state->id);
	if (r == 0 && entry->start.monotonic_ns == 0) {
		r = hk_state_stamp(collector, state, &state->start);
	}
	if (r < 0) {
		hk__process__free_unpacked(state, NULL);
		return r;
	}
	state->role = role_below(ancestor);
	state->rank = ancestor->state->rank;
	state->rank_known = false;
	state->agent = HK__AGENT_STATE__AGENT_OFF;
	*ret_state = state;
	return 0;
}

static int file(struct hk_collector *collector, struct hk_process *ancestor, uint32_t number,
		const struct hk_untraced_copy *entry, struct hk_process **ret_process)
{
	Hk__Process *state;
	int r = new_state(collector, ancestor, number, entry, &state);
	if (r < 0) {
		return r;
	}
	r = hk_process_restore(collector, ancestor->job, state);
	if (r < 0) {
		hk__process__free_unpacked(state, NULL);
		return r;
	}
	*ret_process = hk_ancestry_by_uid(collector, state->uid.data);
	(*ret_process)->changed = true;
	(*ret_process)->upload.unsent = true;
	hk_warning("process without a segment pid=%" PRIu32 " job=%s error=%s", entry->pid,
		   ancestor->job->state->id, strerror(-entry->error));
	return 0;
}

static bool lives(const struct hk_process *process)
{
	struct hk_procfs_stat stat;
	return !process->foreign && process->state->pid != 0 &&
	       hk_procfs_stat(process->state->pid, &stat) == 0 && stat.state != 'Z' &&
	       stat.start_ticks == process->state->pid_start;
}

static void note_end(const struct hk_collector *collector, struct hk_process *process,
		     const struct hk_untraced_copy *entry, bool last)
{
	Hk__Process *state = process->state;
	bool ended = entry->state == HK_STATE_EXITED;
	if (state->exit_kind != HK__EXIT_KIND__EXIT_RUNNING ||
	    (!ended && (!last || lives(process)))) {
		return;
	}
	if (hk_state_stamp(collector, state, &state->end) == 0) {
		state->exit_kind =
		    ended ? HK__EXIT_KIND__EXIT_EXITED : HK__EXIT_KIND__EXIT_VANISHED;
		state->exit_code = ended ? entry->exit_code : 0;
		process->changed = true;
		process->upload.unsent = true;
	}
}

/* The table of untraced processes is short. Notes on ANCESTOR how many processes did not fit. */
static int note_more(struct hk_process *ancestor)
{
	char note[NOTE_BYTES + 96];
	uint32_t more = ancestor->segment->status.untraced;
	if (more <= HK_UNTRACED_MAX) {
		return 0;
	}
	const char *own = hk_reader_identity(ancestor->segment->reader)->note;
	snprintf(note, sizeof(note),
		 "%s%s%" PRIu32 " more processes forked from it could not make a segment", own,
		 *own ? "; " : "", more - HK_UNTRACED_MAX);
	return hk_field_set_string(&ancestor->state->note, note);
}

int hk_untraced_follow(struct hk_collector *collector, struct hk_process *ancestor, bool last)
{
	uint32_t count = ancestor->segment->status.untraced;
	int r = note_more(ancestor);
	for (uint32_t i = 0; r == 0 && i < count && i < HK_UNTRACED_MAX; i++) {
		struct hk_untraced_copy entry;
		uint8_t uid[HK_UID_BYTES];
		uid_of(ancestor, i, uid);
		struct hk_process *process = hk_ancestry_by_uid(collector, uid);
		/* A segment of the same uid can only be a forgery. */
		if (!hk_reader_untraced(ancestor->segment->reader, i, &entry) ||
		    (process && process->segment)) {
			continue;
		}
		r = process ? 0 : file(collector, ancestor, i, &entry, &process);
		if (r == 0) {
			process->foreign = ancestor->foreign;
			note_end(collector, process, &entry, last);
		}
	}
	return r;
}
