/* rights: says as whom it runs and calls libc a little. Its caller may lack the rights it has.
 * rights_linked is the same with the agent linked in: what a loader does that preloads it into
 * everything, setuid programs too. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	char *block = malloc(100);
	printf("secure %d, user %d for %d, group %d for %d, %s\n", getauxval(AT_SECURE) != 0,
	       (int)geteuid(), (int)getuid(), (int)getegid(), (int)getgid(),
	       block ? "memory" : "none");
	free(block);
	fflush(stdout);
	syscall(SYS_exit_group, 4); /* an agent that is not told leaves its file behind */
	return 1;
}
