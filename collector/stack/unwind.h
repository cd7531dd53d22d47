/* unwind.h: `hookcollector unwind PID TID...`: the stacks of threads by ptrace.
 *
 * A program of its own: what it stops runs on when it ends, however it ends, and a file that
 * confuses the unwinder harms the collector no more than by a missing stack. It ends with its
 * parent, and after HK_UNWIND_S seconds at the latest.
 *
 * For each thread one line: its id, then "end N" (enum hk_walk_end, agent/stack/walk.h) and the
 * addresses of the instructions under way in hexadecimal, innermost first; or "not" and the reason.
 */
#ifndef HK_COLLECTOR_STACK_UNWIND_H
#define HK_COLLECTOR_STACK_UNWIND_H

#define HK_UNWIND_WORD "unwind"
#define HK_UNWIND_S 5u
#define HK_UNWIND_FRAMES 250u

/* Returns the exit status. */
int hk_unwind_main(int argc, char **argv);

#endif
