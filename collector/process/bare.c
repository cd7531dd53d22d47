#include "collector/process/bare.h"

#include <errno.h>
#include <stdlib.h>

#include "collector/model/fields.h"

/* Makes room for HK_BARE_MAX programs at once. */
static Hk__BareProgram *append(Hk__Process *state)
{
	if (!state->bare_programs) {
		state->bare_programs = calloc(HK_BARE_MAX, sizeof(state->bare_programs[0]));
	}
	Hk__BareProgram *program = state->bare_programs ? malloc(sizeof(*program)) : NULL;
	if (program) {
		hk__bare_program__init(program);
		state->bare_programs[state->n_bare_programs++] = program;
	}
	return program;
}

static int set(Hk__Process *state, size_t number, const struct hk_bare_copy *entry)
{
	Hk__BareProgram *program =
	    number < state->n_bare_programs ? state->bare_programs[number] : append(state);
	if (!program) {
		return -ENOMEM;
	}
	program->reason = entry->reason;
	program->times = entry->times;
	return hk_field_set_string(&program->program, entry->program);
}

int hk_bare_refresh(Hk__Process *state, struct hk_reader *reader,
		    const struct hk_segment_status *status, uint64_t *fingerprint)
{
	uint32_t count = status->bare < HK_BARE_MAX ? status->bare : HK_BARE_MAX;
	size_t used = 0;
	int r = 0;
	for (uint32_t i = 0; r == 0 && i < count; i++) {
		struct hk_bare_copy entry;
		if (hk_reader_bare(reader, i, &entry)) {
			r = set(state, used++, &entry);
			*fingerprint += entry.times + entry.reason;
		}
	}
	/* A start that failed was taken back. */
	while (r == 0 && state->n_bare_programs > used) {
		hk__bare_program__free_unpacked(state->bare_programs[--state->n_bare_programs],
						NULL);
	}
	state->bare_more = status->bare - count;
	*fingerprint += used + state->bare_more;
	return r;
}
