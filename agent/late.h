/* late.h: what the constructor leaves for a start that comes later (hooktrace.h: hk_start_late). */
#ifndef HK_AGENT_LATE_H
#define HK_AGENT_LATE_H

/* 1 while this copy of the agent traces the process or the one that it was forked from. Exported:
 * another copy of the agent finds it there, and does not take it for its own. */
extern int hk_agent_on __attribute__((visibility("protected")));

/* Keeps the arguments of the program, for a later start. */
void hk_late_prepare(int argc, char **argv);

#endif
