/* history_notes.h: what is missing in a history, as sentences. No state. */
#ifndef HK_CLI_DELAY_HISTORY_NOTES_H
#define HK_CLI_DELAY_HISTORY_NOTES_H

#include <stdio.h>

#include "cli/delay/history.h"
#include "text/json_stream.h"

#define HK_HISTORY_NOTES 8u
#define HK_HISTORY_NOTE_BYTES 256

struct hk_history_notes {
	char list[HK_HISTORY_NOTES][HK_HISTORY_NOTE_BYTES];
	size_t count;
};

void hk_history_notes_make(const struct hk_history *history, struct hk_history_notes *ret_notes);

/* Writes the notes as lines that begin with "! ", and as an array "incomplete". */
void hk_history_notes_write_text(const struct hk_history_notes *notes, FILE *output);
void hk_history_notes_write_json(const struct hk_history_notes *notes, struct hk_json *json);

#endif
