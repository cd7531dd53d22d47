/* life CASE [ARGUMENT]...: one thing that processes and threads do. test_life.py has the numbers.
 */
#include "life.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

void life_touch_often(int count)
{
	for (int i = 0; i < count; i++) {
		life_touch(i);
	}
}

void life_wait(pid_t pid)
{
	int status = 0;
	if (waitpid(pid, &status, __WALL) != pid) {
		perror("waitpid");
	} else if (WIFSIGNALED(status)) {
		printf("child ended by signal %d\n", WTERMSIG(status));
	} else {
		printf("child ended with %d\n", WEXITSTATUS(status));
	}
}

int main(int argc, char **argv)
{
	const struct life_case *const tables[] = {life_processes, life_images, life_threads,
						  life_sandboxes};
	for (unsigned i = 0; argc > 1 && i < sizeof(tables) / sizeof(tables[0]); i++) {
		for (const struct life_case *at = tables[i]; at->name; at++) {
			if (strcmp(at->name, argv[1]) == 0) {
				return at->run(argv + 2);
			}
		}
	}
	fprintf(stderr, "no such case\n");
	return 2;
}
