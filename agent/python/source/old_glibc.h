/* old_glibc.h: functions of threads by the versions that glibc 2.17 has. Newer glibcs have them
 * under newer versions, which older ones lack. Include it where one of them is called. */
#ifndef HK_PYTHON_OLD_GLIBC_H
#define HK_PYTHON_OLD_GLIBC_H

#include <pthread.h>

#ifdef __x86_64__
#define HK_GLIBC_OLDEST "GLIBC_2.2.5"
#else
#define HK_GLIBC_OLDEST "GLIBC_2.17"
#endif

__asm__(".symver pthread_key_create, pthread_key_create@" HK_GLIBC_OLDEST);
__asm__(".symver pthread_setspecific, pthread_setspecific@" HK_GLIBC_OLDEST);
__asm__(".symver pthread_getattr_np, pthread_getattr_np@" HK_GLIBC_OLDEST);
__asm__(".symver pthread_attr_getstack, pthread_attr_getstack@" HK_GLIBC_OLDEST);

#endif
