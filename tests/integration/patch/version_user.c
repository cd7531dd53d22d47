/* Compiled once for each VERSION that it asks for. Without VERSION and without a library it asks
 * for no version. */
#include "target.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

#ifdef VERSION
__asm__(".symver target_version, target_version@" VERSION);
__asm__(".symver target_meet, target_meet@" VERSION);
#endif

long JOIN(KIND, _run)(long a);
long JOIN(KIND, _meet)(int release);

long JOIN(KIND, _run)(long a)
{
	return target_version(a);
}

long JOIN(KIND, _meet)(int release)
{
	return target_meet(release);
}
