/* Of sites.c: a function of a library, which is hooked. */
#ifndef HK_TESTS_SITES_LIBRARY_H
#define HK_TESTS_SITES_LIBRARY_H

/* Calls BACK, unless it is NULL. */
void sites_around(void (*back)(void));

#endif
