/* Opened unseen: no start files, whose first act the agent sees. */
#include <unistd.h>

int other_call(void);

int other_call(void)
{
	return getppid() >= 0;
}
