/* The function whose callers are looked at. */
#include "symbols.h"

int symbols_called(int value)
{
	return value + 1;
}
