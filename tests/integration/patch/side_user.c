#include "target.h"

long side_run(long count);

long side_run(long count)
{
	long sum = 0;
	for (long i = 0; i < count; i++) {
		sum += target_side();
	}
	return sum;
}
