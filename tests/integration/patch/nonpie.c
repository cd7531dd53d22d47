/* Takes target_add's address without a GOT: its own PLT entry becomes the function's address for
 * everybody. */
#include <stdio.h>

#include "target.h"

int main(void)
{
	target_function volatile add = &target_add;
	long sum = 0;
	for (long i = 0; i < 3; i++) {
		sum = target_add(sum, i);
	}
	for (long i = 0; i < 2; i++) {
		sum = add(sum, i);
	}
	printf("%ld %ld %ld %ld\n", sum, lazy_run(5), noplt_run(7), now_run(6));
	return 0;
}
