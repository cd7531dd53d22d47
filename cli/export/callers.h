/* callers.h: the frames of the stacks from which functions were called. One thread; texts are valid
 * UTF-8 and live as long as the frames. */
#ifndef HK_CLI_EXPORT_CALLERS_H
#define HK_CLI_EXPORT_CALLERS_H

#include "cli/export/exporter.h"

#define HK_CALLERS_MOST 512u /* of one stack; the agent keeps fewer */
#define HK_CALLERS_TEXT_BYTES 512u

struct hk_callers;

/* Returns the frames of no process yet, with the names of JOB, or NULL without memory. */
struct hk_callers *hk_callers_new(const struct hk_export_job *job);
/* Frees CALLERS. Accepts NULL. */
void hk_callers_free(struct hk_callers *callers);

/* Writes the numbers of the frames of STACK of PROCESS, innermost first. Returns how many there
 * are; 0: the stack is not known. */
size_t hk_callers_of(const struct hk_export_process *process, uint32_t stack,
		     uint32_t numbers[HK_CALLERS_MOST]);

/* Makes the texts of all frames of STACK of PROCESS. Returns 0 or -ENOMEM. */
int hk_callers_name(struct hk_callers *callers, const struct hk_export_process *process,
		    uint32_t stack);

/* Returns the first frame of PROCESS from NUMBER on whose text was made, or 0 if there is none. */
uint32_t hk_callers_named(const struct hk_callers *callers, const struct hk_export_process *process,
			  uint32_t number);

/* Returns the text of frame NUMBER of PROCESS, equal texts at one address, or NULL without
 * memory. */
const char *hk_callers_text(struct hk_callers *callers, const struct hk_export_process *process,
			    uint32_t number);

/* Writes the texts of STACK of PROCESS to TEXT, innermost first, with BETWEEN after each but the
 * last, and cut where no further whole frame fits. Returns 0, -ENOENT if the stack is not known, or
 * -ENOMEM. */
#define HK_CALLERS_STACK_BYTES 16384u
int hk_callers_write(struct hk_callers *callers, const struct hk_export_process *process,
		     uint32_t stack, char between, char text[HK_CALLERS_STACK_BYTES]);

#endif
