/* Calls that are forbidden in this project: each has a bounded or checked sibling. Included before
 * every C file of the project. */
#ifndef HK_BASE_BANNED_H
#define HK_BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The headers above come first so that their own declarations are not poisoned. */
#pragma GCC poison strcpy strcat sprintf vsprintf strncpy strncat strtok gmtime localtime ctime \
    asctime atoi atol atoll gets tmpnam

#endif
