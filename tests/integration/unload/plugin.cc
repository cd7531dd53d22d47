/* A plugin whose functions leave by way of a function that another library defines as well, as
 * templates and inline functions are. */
#include <csetjmp>

template <class T> __attribute__((noinline)) void unload_weak_throw(T number)
{
	if (number >= 0) {
		throw number;
	}
}

template <class T> __attribute__((noinline)) void unload_weak_jump(T *back)
{
	longjmp(*back, 1);
}

extern "C" void plugin_throw(int number);
extern "C" void plugin_jump(jmp_buf *back);
extern "C" void plugin_run(void (*function)(void *), void *data);

extern "C" void plugin_throw(int number)
{
	unload_weak_throw(number);
}

extern "C" void plugin_jump(jmp_buf *back)
{
	unload_weak_jump(back);
}

extern "C" void plugin_run(void (*function)(void *), void *data)
{
	function(data);
}
