/* hang_notes.h: what was found while a job hung, kept in the job's notes: its sentence, and the
 * stack of the first rank that the others waited for. Locked by the caller. */
#ifndef HK_REPORT_FINDINGS_PROGRESS_HANG_NOTES_H
#define HK_REPORT_FINDINGS_PROGRESS_HANG_NOTES_H

#include <stdbool.h>

#include "report/finding/finding.h"

/* Kinds of the two notes. In a note the functions of a stack have HK_HANG_CALLER between them. */
#define HK_HANG_NOTE "hang"
#define HK_HANG_STACK_NOTE "hang-stack"
#define HK_HANG_CALLER " <- "

bool hk_is_hang_note(const struct hk_report_note *note);

/* Gives the hang of FINDINGS the stack that the notes of REPORT have of its first rank. Adds the
 * hang that the notes have if FINDINGS have none: it has passed. */
void hk_hang_notes_add(struct hk_findings *findings, const struct hk_report *report);

#endif
