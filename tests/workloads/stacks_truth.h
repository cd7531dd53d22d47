/* stacks_truth.h: functions that know from where they are called. See stacks_truth_library.c. */
#ifndef HK_WORKLOADS_STACKS_TRUTH_H
#define HK_WORKLOADS_STACKS_TRUTH_H

#pragma GCC visibility push(default)

int stacks_plain(int value);
int stacks_described(int value);
int stacks_failed(int value); /* -1 */

/* Appends what was noted in this process to the file PATH, and forgets it. */
void stacks_write(const char *path);

#pragma GCC visibility pop

#endif
