/* target.h: the functions that the tests' libraries call, and that the probe counts. */
#ifndef HK_PATCH_TARGET_H
#define HK_PATCH_TARGET_H

long target_add(long a, long b);
long target_negate(long a);
/* Weak and without a definition. */
extern long target_missing(long a) __attribute__((weak));
/* Data whose name looks like a function's to a pattern. */
extern long target_data;

typedef long (*target_function)(long, long);

/* One per way of linking: calls target_add COUNT times and target_negate once, and returns the sum.
 */
long lazy_run(long count);
long now_run(long count);
long noplt_run(long count);
long sysv_run(long count);
long own_run(long count);
/* The address of target_add as two libraries see it; pointer_run calls through it. */
target_function other_address(void);
target_function pointer_address(void);
long pointer_run(long count);

/* opener.c */
long opener_run(const char *name, const char *symbol, long count);
/* next.c: the definition after the library that asks, and the one that RTLD_DEFAULT gives it. */
int next_who_1(void);
int next_who_2(void);

/* versions.c, exported in two versions: adds 1 or 2. */
long target_version(long a);
/* The first call with 0 waits for one with 1, so that both are under way; the old version does not
 * wait. Returns how many were under way together. */
long target_meet(int release);
/* Returns when somebody waits in target_meet. */
void versions_await(void);
/* version_user.c, once for each version: through their slots, and as the loader knows it. */
long v1_run(long a);
long v2_run(long a);
long v1_meet(int release);
long v2_meet(int release);
/* side.c: which of two libraries it is. */
long target_side(void);

#endif
