#include "target.h"

long plug_run(long count);

long plug_run(long count)
{
	long sum = 0;
	for (long i = 0; i < count; i++) {
		sum = target_add(sum, i);
	}
	return sum;
}
