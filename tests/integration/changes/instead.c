/* Replacements. The agent tells what they replace. */
#include <stddef.h>

int (*__origin_changes_number)(int x);

int changes_number(int x)
{
	return __origin_changes_number ? 100 + __origin_changes_number(x) : -1;
}

double twice(double x)
{
	return x * 2;
}
