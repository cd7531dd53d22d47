/* A plugin that calls five functions, each through a slot of its own. */
#include <unistd.h>

int unload_sum(void);

int unload_sum(void)
{
	return (getpid() > 0) + (getppid() >= 0) + (getuid() == geteuid()) + (getgid() != 77777);
}
