#include "collector/stack/traced.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TID_BYTES 12u
#define LINE_BYTES (64u + HK_UNWIND_FRAMES * 17u)

struct hk_traced {
	struct hk_traced *next; /* that ends */
	pid_t pid;
	int fd;
	size_t used;
	char line[LINE_BYTES];
};

extern char **environ;

/* Those whose program was ended, and not waited for yet: a file server may keep it. */
static struct hk_traced *ending;

void hk_traced_reap(void)
{
	struct hk_traced **at = &ending;

	while (*at) {
		struct hk_traced *traced = *at;
		if (waitpid(traced->pid, NULL, WNOHANG) == 0) {
			at = &traced->next;
		} else {
			*at = traced->next;
			free(traced);
		}
	}
}

/* Makes the argument list in one block. */
static char **arguments_of(uint32_t pid, const uint32_t *tids, size_t count)
{
	static char program[] = "hookcollector", word[] = HK_UNWIND_WORD;
	size_t pointers = (count + 4) * sizeof(char *);
	char **arguments = malloc(pointers + (count + 1) * TID_BYTES);

	if (!arguments) {
		return NULL;
	}
	char *text = (char *)arguments + pointers;
	arguments[0] = program;
	arguments[1] = word;
	for (size_t i = 0; i <= count; i++) {
		arguments[2 + i] = text + i * TID_BYTES;
		snprintf(arguments[2 + i], TID_BYTES, "%" PRIu32, i == 0 ? pid : tids[i - 1]);
	}
	arguments[count + 3] = NULL;
	return arguments;
}

/* The collector blocks signals, and ignores some: the program must not. */
static int spawn(struct hk_traced *traced, int output, char *const *arguments)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, some;

	sigemptyset(&none);
	sigemptyset(&some);
	sigaddset(&some, SIGXFSZ);
	sigaddset(&some, SIGPIPE);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &some);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawn_file_actions_init(&actions);
	int r = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	r = r ? r
	      : posix_spawn(&traced->pid, "/proc/self/exe", &actions, &attributes, arguments,
			    environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return -r;
}

int hk_traced_open(uint32_t pid, const uint32_t *tids, size_t count, struct hk_traced **ret_traced)
{
	struct hk_traced *traced = calloc(1, sizeof(*traced));
	char **arguments = arguments_of(pid, tids, count);
	int ends[2] = {-1, -1};

	int r = traced && arguments ? 0 : -ENOMEM;

	hk_traced_reap();
	if (r == 0 && pipe2(ends, O_CLOEXEC) < 0) {
		r = -errno;
	}
	r = r < 0 ? r : spawn(traced, ends[1], arguments);
	free(arguments);
	if (ends[1] >= 0) {
		close(ends[1]);
	}
	if (r < 0) {
		if (ends[0] >= 0) {
			close(ends[0]);
		}
		free(traced);
		return r;
	}
	traced->fd = ends[0];
	fcntl(traced->fd, F_SETFL, O_NONBLOCK);
	*ret_traced = traced;
	return 0;
}

struct hk_traced *hk_traced_free(struct hk_traced *traced)
{
	if (!traced) {
		return NULL;
	}
	/* The kernel lets go of all threads when it has ended. */
	kill(traced->pid, SIGKILL);
	close(traced->fd);
	traced->next = ending;
	ending = traced;
	hk_traced_reap();
	return NULL;
}

/* Parses LINE. Returns false if it is not a line of the program's. */
static bool parse(char *line, struct hk_traced_answer *answer)
{
	int at = 0;

	*answer = (struct hk_traced_answer){.count = 0};
	if (sscanf(line, "%" SCNu32 " not %n", &answer->tid, &at) == 1 && at > 0) {
		snprintf(answer->missing, sizeof(answer->missing), "%s", line + at);
		return true;
	}
	if (sscanf(line, "%" SCNu32 " end %" SCNu32 "%n", &answer->tid, &answer->end, &at) != 2) {
		return false;
	}
	char *end = line + at;
	for (char *next; answer->count < HK_UNWIND_FRAMES; end = next) {
		uint64_t address = strtoull(end, &next, 16);
		if (next == end) {
			break;
		}
		answer->address[answer->count++] = address;
	}
	return true;
}

int hk_traced_next(struct hk_traced *traced, struct hk_traced_answer *ret_answer)
{
	for (;;) {
		char *end = memchr(traced->line, '\n', traced->used);
		if (end) {
			*end = '\0';
			bool sound = parse(traced->line, ret_answer);
			size_t taken = (size_t)(end - traced->line) + 1;
			traced->used -= taken;
			memmove(traced->line, end + 1, traced->used);
			if (sound) {
				return 1;
			}
			continue;
		}
		ssize_t got = read(traced->fd, traced->line + traced->used,
				   sizeof(traced->line) - traced->used);
		if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
			return 0;
		}
		if (got <= 0) {
			return -ENODATA; /* or a line longer than any */
		}
		traced->used += (size_t)got;
	}
}
