/* Compiled once for each KIND of slots. With OWN_TARGET it defines the function that it calls
 * through its PLT. */
#include "target.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

#ifdef OWN_TARGET
#define CALLED target_own
long target_own(long a, long b);
long target_own(long a, long b)
{
	return a + b;
}
#else
#define CALLED target_add
#endif

long JOIN(KIND, _run)(long count);

long JOIN(KIND, _run)(long count)
{
	long sum = 0;
	for (long i = 0; i < count; i++) {
		sum = CALLED(sum, i);
	}
	if (target_missing) {
		sum = target_missing(sum);
	}
	return sum + target_negate(target_data) + target_data;
}
