/* slot_toggle.h: takes the hooks out of a traced process and puts them back, any number of times.
 *
 * A program can so be measured traced and bare in one process, with the same addresses. In a bare
 * slice, the slots that lead to the agent lead to the functions themselves. Addresses of hooked
 * functions that the program has kept itself, as those from cuGetProcAddress, stay traced.
 */
#ifndef HK_TESTS_BENCH_SLOT_TOGGLE_H
#define HK_TESTS_BENCH_SLOT_TOGGLE_H

/* Finds the slots of the program, and of the libraries whose paths contain TEXT; all with "".
 * Returns their number. Once, when the agent has hooked all of them. */
unsigned slot_toggle_find(const char *text);

/* Traced if TRACED is not 0, else bare. The agent may hook a slot again when it loads a library. */
void slot_toggle(int traced);

#endif
