/* Both calls the function and takes its address: the linker then makes one GLOB_DAT slot for both.
 */
#include "target.h"

target_function pointer_address(void)
{
	return target_add;
}

long pointer_run(long count)
{
	target_function volatile add = target_add;
	long sum = 0;
	for (long i = 0; i < count; i++) {
		sum = i % 2 ? target_add(sum, i) : add(sum, i);
	}
	return sum;
}
