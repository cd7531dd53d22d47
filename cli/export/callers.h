/* callers.h: the functions on the stacks from which calls were made. One thread; texts are valid
 * UTF-8, equal ones at one address, and live as long as the callers. */
#ifndef HK_CLI_EXPORT_CALLERS_H
#define HK_CLI_EXPORT_CALLERS_H

#include "cli/export/exporter.h"

#define HK_CALLERS_MOST 512u /* frames of one stack; the agent keeps fewer */

/* A function at a frame, as of struct hk_export_function. */
struct hk_caller {
	const char *text, *name, *library, *file;
	uint32_t line;
};

/* The functions at a frame: inlined ones, innermost first, and then the frame's own. */
struct hk_callers_frame {
	uint32_t count;
	struct hk_caller functions[];
};

struct hk_callers;

/* Returns the callers of no process yet, of JOB, or NULL without memory. */
struct hk_callers *hk_callers_new(const struct hk_export_job *job);
/* Frees CALLERS. Accepts NULL. */
void hk_callers_free(struct hk_callers *callers);

/* Writes the numbers of the frames of STACK of PROCESS, innermost first. Returns how many there
 * are; 0: the stack is not known. */
size_t hk_callers_of(const struct hk_export_process *process, uint32_t stack,
		     uint32_t numbers[HK_CALLERS_MOST]);

/* Returns frame NUMBER of PROCESS, which exists, or NULL without memory. */
const struct hk_callers_frame *hk_callers_get(struct hk_callers *callers,
					      const struct hk_export_process *process,
					      uint32_t number);

/* Gets all frames of STACK of PROCESS. Returns 0 or -ENOMEM. */
int hk_callers_get_stack(struct hk_callers *callers, const struct hk_export_process *process,
			 uint32_t stack);

/* Returns the first frame of PROCESS from NUMBER on that was got before, or 0 if there is none. */
uint32_t hk_callers_next(const struct hk_callers *callers, const struct hk_export_process *process,
			 uint32_t number);

/* Writes the texts of STACK of PROCESS to TEXT, innermost first, with BETWEEN after each but the
 * last, and cut where no further whole text fits. Returns 0, -ENOENT if the stack is not known, or
 * -ENOMEM. */
#define HK_CALLERS_STACK_BYTES 16384u
int hk_callers_write(struct hk_callers *callers, const struct hk_export_process *process,
		     uint32_t stack, char between, char text[HK_CALLERS_STACK_BYTES]);

#endif
