/* callee.h: functions that count their own calls, and the library that calls them in every way a
 * linker knows. */
#ifndef HK_OBJECTS_CALLEE_H
#define HK_OBJECTS_CALLEE_H

enum counted { COUNTED_ADD, COUNTED_CHOSEN, COUNTED_OWN, COUNTED_KINDS };

/* Counts of this library's own; data, so that reading them is no call. */
extern long counted[COUNTED_KINDS];
/* A program may have a copy of it: then everybody must see that one. */
extern long callee_data;

long callee_add(long a, long b);
/* An indirect function. */
long callee_chosen(long a);

/* Defined by the callers that are built with OWN. */
long callee_own(long a);

/* caller.c: COUNT calls of each. The tables' calls are callee_add's. */
long caller_run(long count);
long caller_table(long count);

/* Where a program keeps a function that libraries built with EARLY call while they are being
 * relocated: an address that needs no relocation itself. */
#define EARLY_PAGE 0x5a0000000000
typedef void (*early_function)(void);

#endif
