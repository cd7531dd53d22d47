// Calls a function from templates, methods, operators and inlined functions. With the argument "wait" it calls until its
// standard input ends.
#include "symbols.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace shapes
{

template <typename T> struct box {
	T value;

	__attribute__((noinline)) int call(int more) const
	{
		return symbols_called(static_cast<int>(value) + more) + 1;
	}

	inline __attribute__((always_inline)) int operator()(int more) const
	{
		return call(more) + symbols_called(more);
	}
};

struct caller {
	virtual ~caller() = default;
	virtual int call(int value) const = 0;
};

struct user : caller {
	int call(int value) const override
	{
		return box<int>{value}(value) + 1;
	}
};

template <typename Function> __attribute__((noinline)) int apply(Function &&function, int value)
{
	return function(value) + 1;
}

namespace
{

__attribute__((noinline)) int hidden(const std::string &text)
{
	return symbols_called(static_cast<int>(text.size())) + 1;
}

} // namespace

} // namespace shapes

static __attribute__((noinline)) int all(int value)
{
	const shapes::box<unsigned long> box{3};
	const shapes::user user;
	const shapes::caller *const volatile caller = &user;
	std::vector<int> values(3, value);
	int sum = shapes::apply(box, value) + shapes::apply(shapes::box<short>{2}, value);

	for (int one : values) {
		sum += caller->call(one);
	}
	return sum + shapes::hidden(std::string("text")) + steps(value);
}

int main(int argc, char **)
{
	struct pollfd input = {STDIN_FILENO, POLLIN, 0};
	int sum = all(1);

	/* hookcli stacks interrupts it. */
	while (argc > 1 && poll(&input, 1, 10) <= 0) {
		sum += all(2);
	}
	return sum == 0;
}
