#include "throws.h"

#include <stdexcept>

#pragma GCC visibility push(default)

/* Has to be destroyed when its function is left. */
struct guard {
	int *count;
	~guard()
	{
		++*count;
	}
};

static thread_local int destroyed;

extern "C" int throws_plain(int value)
{
	return value + destroyed;
}

extern "C" int throws_value(int value)
{
	guard left{&destroyed};
	throw value;
}

extern "C" int throws_object(const char *text)
{
	guard left{&destroyed};
	throw std::runtime_error(text);
}

extern "C" int throws_call(int (*function)(int), int value)
{
	guard left{&destroyed};
	return function(value) + 1;
}

extern "C" int throws_inside(int value)
{
	try {
		return throws_value(value);
	} catch (int thrown) {
		return thrown + throws_plain(1);
	}
}

extern "C" int throws_never(int (*function)(int), int value) noexcept
{
	return function(value) + 1;
}

#pragma GCC visibility pop
