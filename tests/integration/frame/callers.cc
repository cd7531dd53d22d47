/* Calls a function from templates, lambdas, a recursion, functions that are not exported, a thread and a signal handler. */
#include "callers.h"

#include <csignal>
#include <functional>
#include <pthread.h>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline, noclone))

namespace shop
{
template <typename T> struct till {
	NOINLINE int open(const std::vector<T> &values, const std::string &name)
	{
		return callers_note(-1, 1) + static_cast<int>(values.size() + name.size());
	}
};

NOINLINE int enter(const std::function<int(int)> &work, int value)
{
	return work(value) + 1;
}
} // namespace shop

NOINLINE int recurse(int depth)
{
	return depth ? recurse(depth - 1) + 1 : callers_note(-1, 1) + 1;
}

/* Not exported: no tool that asks the loader knows its name. */
static NOINLINE int hidden(int value)
{
	return recurse(value) + 1;
}

void *run(void *unused)
{
	callers_note(-1, 1);
	return unused;
}

/* In a handler no name is demangled. The third frame is the one that was interrupted: behind the handler and its return. */
void handle(int)
{
	callers_note(2, 0);
}

int main()
{
	shop::till<double> till;
	pthread_t thread;
	int sum = till.open({1, 2, 3}, "north");

	sum += shop::enter([&](int value) { return till.open({1}, "south") + value; }, 5);
	sum += hidden(3);
	if (pthread_create(&thread, nullptr, run, nullptr) == 0) {
		pthread_join(thread, nullptr);
	}
	std::signal(SIGUSR1, handle);
	std::raise(SIGUSR1);
	return sum == 0;
}
