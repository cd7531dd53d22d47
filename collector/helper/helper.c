#include "collector/helper/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Removes the processes that have ended. Returns a free entry, or NULL. */
static pid_t *reap(struct hk_helper *helper)
{
	pid_t *unused = NULL;

	for (size_t i = 0; i < HK_HELPER_ENDED_MOST; i++) {
		pid_t *pid = &helper->ended[i];
		if (*pid != 0 && waitpid(*pid, NULL, WNOHANG) != 0) {
			*pid = 0;
		}
		unused = *pid == 0 ? pid : unused;
	}
	return unused;
}

void hk_helper_end(struct hk_helper *helper)
{
	if (helper->fd < 0) {
		return;
	}
	close(helper->fd);
	helper->fd = -1;
	kill(helper->pid, SIGKILL);
	pid_t *entry = reap(helper);
	if (entry) {
		*entry = helper->pid;
		reap(helper);
	}
}

/* The collector blocks and ignores signals that are to end the new process. */
static int spawn(const char *path, char *const *arguments, int socket, pid_t *ret_pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none, all;

	sigemptyset(&none);
	sigfillset(&all);
	if (posix_spawn_file_actions_init(&files) != 0) {
		return -ENOMEM;
	}
	if (posix_spawnattr_init(&attributes) != 0) {
		posix_spawn_file_actions_destroy(&files);
		return -ENOMEM;
	}
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	int r = posix_spawn_file_actions_adddup2(&files, socket, STDIN_FILENO);
	r = r ? r : posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_RDWR, 0);
	r = r ? r : posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
	r = r ? r : posix_spawn(ret_pid, path, &files, &attributes, arguments, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	return -r;
}

int hk_helper_start(struct hk_helper *helper, const char *path, char *const *arguments)
{
	int sockets[2];

	if (!reap(helper)) {
		return -EAGAIN;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0) {
		return -errno;
	}
	int r = spawn(path, arguments, sockets[1], &helper->pid);
	close(sockets[1]);
	if (r < 0) {
		close(sockets[0]);
		return r;
	}
	helper->fd = sockets[0];
	return 0;
}
