#include "calls.h"

#include <stdexcept>

void shape_throw(int value)
{
	if (value % 2) {
		throw value;
	}
	throw std::runtime_error("even");
}
