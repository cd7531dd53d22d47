#include "collector/symbol/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/symbol/symbol_reader.h"

#define SELF "/proc/self/exe"
#define ENDED_MOST 8u /* processes killed while a slow disk keeps them */

struct hk_symbols {
	int fd; /* -1: there is no process */
	pid_t pid;
	pid_t ended[ENDED_MOST]; /* not waited for yet; 0: none */
	uint64_t number;
	uint64_t heard_ns; /* monotonic: last reply, or when the request was sent */
	bool busy;
	uint8_t bytes[HK_SYMBOL_READER_MESSAGE_BYTES];
};

struct hk_symbols *hk_symbols_new(void)
{
	struct hk_symbols *symbols = calloc(1, sizeof(*symbols));

	if (symbols) {
		symbols->fd = -1;
	}
	return symbols;
}

/* ---- the process ---- */

/* Removes the processes that have ended. Returns a free entry, or NULL. */
static pid_t *reap(struct hk_symbols *symbols)
{
	pid_t *unused = NULL;

	for (size_t i = 0; i < ENDED_MOST; i++) {
		pid_t *pid = &symbols->ended[i];
		if (*pid != 0 && waitpid(*pid, NULL, WNOHANG) != 0) {
			*pid = 0;
		}
		unused = *pid == 0 ? pid : unused;
	}
	return unused;
}

static void end_process(struct hk_symbols *symbols)
{
	if (symbols->fd < 0) {
		return;
	}
	close(symbols->fd);
	symbols->fd = -1;
	symbols->busy = false;
	kill(symbols->pid, SIGKILL);
	pid_t *entry = reap(symbols);
	if (entry) {
		*entry = symbols->pid;
		reap(symbols);
	}
}

/* The collector blocks and ignores signals that are to end the new process. */
static int spawn(int socket, pid_t *ret_pid)
{
	static char name[] = "hookcollector", word[] = HK_SYMBOL_READER_WORD;
	char *arguments[] = {name, word, NULL};
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
	r = r ? r : posix_spawn(ret_pid, SELF, &files, &attributes, arguments, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	return -r;
}

static int start_process(struct hk_symbols *symbols)
{
	int sockets[2];

	if (!reap(symbols)) {
		return -EAGAIN;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0) {
		return -errno;
	}
	int r = spawn(sockets[1], &symbols->pid);
	close(sockets[1]);
	if (r < 0) {
		close(sockets[0]);
		return r;
	}
	symbols->fd = sockets[0];
	return 0;
}

struct hk_symbols *hk_symbols_free(struct hk_symbols *symbols)
{
	if (symbols) {
		end_process(symbols);
		free(symbols);
	}
	return NULL;
}

/* ---- requests ---- */

int hk_symbols_fd(const struct hk_symbols *symbols)
{
	return symbols->fd;
}

bool hk_symbols_is_busy(const struct hk_symbols *symbols)
{
	return symbols->busy;
}

int hk_symbols_ask(struct hk_symbols *symbols, Hk__SymbolRequest *request, uint64_t now_ns)
{
	request->number = ++symbols->number;
	size_t size = hk__symbol_request__get_packed_size(request);
	int r = size > sizeof(symbols->bytes) ? -EMSGSIZE : 0;

	if (r == 0 && symbols->fd < 0) {
		r = start_process(symbols);
	}
	if (r < 0) {
		return r;
	}
	hk__symbol_request__pack(request, symbols->bytes);
	if (send(symbols->fd, symbols->bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
		int error = errno;
		if (error != EAGAIN && error != EINTR) {
			end_process(symbols); /* it had ended because no request came */
		}
		return -error;
	}
	symbols->busy = true;
	symbols->heard_ns = now_ns;
	return 0;
}

/* The process ended, or sent something that is not a reply. */
static int lose(struct hk_symbols *symbols, int error)
{
	bool busy = symbols->busy;

	end_process(symbols);
	return busy ? error : 0;
}

int hk_symbols_take(struct hk_symbols *symbols, uint64_t now_ns, Hk__SymbolReply **ret_reply)
{
	ssize_t size = symbols->fd < 0 ? -1
				       : recv(symbols->fd, symbols->bytes, sizeof(symbols->bytes),
					      MSG_DONTWAIT | MSG_TRUNC);

	if (symbols->fd < 0) {
		return 0;
	}
	if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
		bool late = symbols->busy && now_ns - symbols->heard_ns >= HK_SYMBOLS_LIMIT_NS;
		return late ? lose(symbols, -ETIMEDOUT) : 0;
	}
	if (size <= 0 || (size_t)size > sizeof(symbols->bytes)) {
		return lose(symbols, -ECHILD);
	}
	Hk__SymbolReply *reply = hk__symbol_reply__unpack(NULL, (size_t)size, symbols->bytes);
	if (!reply || !symbols->busy || reply->number != symbols->number) {
		if (reply) {
			hk__symbol_reply__free_unpacked(reply, NULL);
		}
		return lose(symbols, -ECHILD);
	}
	symbols->heard_ns = now_ns;
	symbols->busy = !reply->last;
	*ret_reply = reply;
	return 1;
}
