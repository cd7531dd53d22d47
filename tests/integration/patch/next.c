#include <dlfcn.h>
#include <stddef.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

int next_who(void);
int JOIN(next_who_, WHO)(void);

int next_who(void)
{
	return WHO;
}

/* Tens: the definition after this library; ones: the first definition. */
int JOIN(next_who_, WHO)(void)
{
	int (*after)(void) = (int (*)(void))dlsym(RTLD_NEXT, "next_who");
	int (*first)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "next_who");
	return (after ? after() : 0) * 10 + (first ? first() : 0);
}
