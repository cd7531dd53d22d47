#include "target.h"

long target_side(void)
{
	return SIDE;
}
