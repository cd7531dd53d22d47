// Exceptions that pass through hooked frames, with a destructor on the way.
#include "calls.h"

#include <stdexcept>

namespace {

int destroyed;

struct guard {
	~guard()
	{
		destroyed++;
	}
};

int throw_within(int value)
{
	guard here;
	shape_throw(value);
	return 0;
}

} // namespace

int catch_all(void)
{
	int caught = 0;
	for (int i = 0; i < 100; i++) {
		try {
			shape_callback(throw_within, i);
		} catch (int value) {
			caught += value;
		} catch (const std::runtime_error &) {
			caught += 1000;
		}
	}
	return caught + destroyed;
}
