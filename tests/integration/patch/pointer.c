/* Compiled once for each KIND. Both calls a function and takes its address: the linker then makes
 * one GLOB_DAT slot for both. Of its own target_same it also keeps the address in a table, and
 * believes that there is only one.
 */
#include "target.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

long target_same(long a, long b);

static target_function table[1] = {target_same};

long target_same(long a, long b)
{
	target_function volatile same = target_same;
	return same == table[0] ? a + b : -1;
}

target_function JOIN(KIND, _address)(void)
{
	return target_add;
}

long JOIN(KIND, _run)(long count);

long JOIN(KIND, _run)(long count)
{
	target_function volatile add = target_add;
	target_function volatile same = target_same;
	long sum = target_negate(0);
	for (long i = 0; i < count; i++) {
		sum = i % 2 ? target_add(sum, i) : add(sum, i);
	}
	return same(sum, 0);
}
