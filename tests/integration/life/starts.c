/* starts: starts starts_target in one of the C library's ways, and exits with its status.
 *
 * starts WAY PROGRAM ENVIRONMENT: WAY is the name of the function, with a "v" before it after
 * vfork. The new environment is `kept`, `empty`, `other`, another library in LD_PRELOAD, or `more`,
 * another one beside the agent. The target has three arguments and exits with 50 plus their number.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char *program;
static char *arguments[] = {"target", "one", "two", "three", NULL};
static char *new_environment[512];

static void make_environment(const char *kind)
{
	static char preload[4096];
	size_t used = 0;
	const char *now = getenv("LD_PRELOAD");

	for (char **at = environ; *at && used < 500; at++) {
		if (strncmp(*at, "LD_PRELOAD=", 11) != 0) {
			new_environment[used++] = *at;
		}
	}
	if (strcmp(kind, "kept") == 0 && now) {
		snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", now);
	} else if (strcmp(kind, "more") == 0 && now) {
		snprintf(preload, sizeof(preload), "LD_PRELOAD=libm.so.6 %s", now);
	} else if (strcmp(kind, "other") == 0) {
		snprintf(preload, sizeof(preload), "LD_PRELOAD=libm.so.6");
	}
	if (*preload) {
		new_environment[used++] = preload;
	}
}

static int status_of(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

static void execute(const char *way)
{
	if (strcmp(way, "execve") == 0) {
		execve(program, arguments, new_environment);
	} else if (strcmp(way, "execvpe") == 0) {
		execvpe(program, arguments, new_environment);
	} else if (strcmp(way, "execle") == 0) {
		execle(program, "target", "one", "two", "three", NULL, new_environment);
	} else if (strcmp(way, "fexecve") == 0) {
		fexecve(open(program, O_RDONLY), arguments, new_environment);
	}
	environ = new_environment;
	if (strcmp(way, "execv") == 0) {
		execv(program, arguments);
	} else if (strcmp(way, "execvp") == 0) {
		execvp(program, arguments);
	} else if (strcmp(way, "execl") == 0) {
		execl(program, "target", "one", "two", "three", NULL);
	} else if (strcmp(way, "execlp") == 0) {
		execlp(program, "target", "one", "two", "three", NULL);
	}
	_exit(errno == ENOENT || errno == EBADF ? 77 : 78);
}

static int spawn(const char *way)
{
	int status = -1;
	pid_t child;
	int error = strcmp(way, "posix_spawnp") == 0
			? posix_spawnp(&child, program, NULL, NULL, arguments, new_environment)
			: posix_spawn(&child, program, NULL, NULL, arguments, new_environment);

	if (error) {
		return 77;
	}
	waitpid(child, &status, 0);
	return status_of(status);
}

static int run_shell(const char *way)
{
	char line[4096];

	snprintf(line, sizeof(line), "exec %s one two three", program);
	environ = new_environment;
	if (strcmp(way, "system") == 0) {
		return status_of(system(line));
	}
	FILE *output = popen(line, "r");
	return output ? status_of(pclose(output)) : 100;
}

int main(int count, char **words)
{
	int status = -1;

	if (count != 4) {
		return 2;
	}
	const char *way = words[1];
	program = words[2];
	make_environment(words[3]);
	if (strncmp(way, "posix_spawn", 11) == 0) {
		return spawn(way);
	}
	if (strcmp(way, "system") == 0 || strcmp(way, "popen") == 0) {
		return run_shell(way);
	}
	pid_t child = way[0] == 'v' ? vfork() : fork();
	if (child == 0) {
		execute(way[0] == 'v' ? way + 1 : way);
	}
	waitpid(child, &status, 0);
	return status_of(status);
}
