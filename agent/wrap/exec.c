#include "agent/wrap/exec.h"

#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/patch/wrapped.h"
#include "agent/record/bare.h"
#include "agent/record/process.h"
#include "agent/wrap/target.h"
#include "base/identity.h"

#define LIBRARY "libhookagent.so"
#define PRELOAD "LD_PRELOAD"
#define ORIGINAL(which, type) ((type)atomic_load(&hk_wrapped_originals[HK_WRAPPED_##which]))

typedef char *const *strings;

/* The environment brought the agent, so that an environment without it loses it. */
static bool by_environment;

bool hk_exec_names_agent(char *const *environment, const char *variable)
{
	const char *at = environment ? hk_identity_variable(environment, variable) : NULL;
	while (at && *at) {
		size_t length = strcspn(at, ": "), name = strlen(LIBRARY);
		if (length >= name && strncmp(at + length - name, LIBRARY, name) == 0 &&
		    (length == name || at[length - name - 1] == '/')) {
			return true;
		}
		at += length + (at[length] != '\0');
	}
	return false;
}

/* Static programs that are never the job: hooktrace's own in a bundle, and what Python's ctypes
 * asks for libraries. */
static bool is_tool(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	return strcmp(base, "hookcli") == 0 || strcmp(base, "hookcollector") == 0 ||
	       strcmp(base, "ldconfig") == 0;
}

/* Notes that the file at PATH, named PROGRAM, is started with ENVIRONMENT. Keeps errno. Returns its
 * entry, NULL: the agent will be in it, or there is none. */
static struct hk_bare *note_file(const char *path, const char *program, strings environment)
{
	enum hk_bare_reason reason = hk_target_reason(path);
	if (!reason && !hk_exec_names_agent(environment, PRELOAD)) {
		reason = HK_BARE_ENVIRONMENT;
	}
	return reason && !is_tool(path) ? hk_bare_enter(hk_process.writer.header, reason, program)
					: NULL;
}

static bool may_note(void)
{
	return by_environment && !hk_process.sealed && hk_process.writer.header;
}

/* The same for a program that is found as exec does, SEARCH: in the directories of PATH. Nothing is
 * noted of a program that is not there. */
static struct hk_bare *note(const char *name, bool search, strings environment)
{
	char path[HK_TARGET_PATH_BYTES];
	const char *directories = search ? hk_identity_variable(environ, "PATH") : ".";
	if (!may_note() || !name || !hk_target_find(name, directories, path)) {
		return NULL;
	}
	return note_file(path, name, environment);
}

/* An exec that returns has failed. */
static int failed(struct hk_bare *entry, int status)
{
	hk_bare_withdraw(entry);
	return status;
}

static int exec_e(const char *path, char *const argv[], char *const envp[])
{
	struct hk_bare *entry = note(path, false, envp);
	return failed(entry,
		      ORIGINAL(EXECVE, int (*)(const char *, strings, strings))(path, argv, envp));
}

static int exec(const char *path, char *const argv[])
{
	struct hk_bare *entry = note(path, false, environ);
	return failed(entry, ORIGINAL(EXECV, int (*)(const char *, strings))(path, argv));
}

static int exec_p(const char *name, char *const argv[])
{
	struct hk_bare *entry = note(name, true, environ);
	return failed(entry, ORIGINAL(EXECVP, int (*)(const char *, strings))(name, argv));
}

static int exec_pe(const char *name, char *const argv[], char *const envp[])
{
	struct hk_bare *entry = note(name, true, envp);
	return failed(entry,
		      ORIGINAL(EXECVPE, int (*)(const char *, strings, strings))(name, argv, envp));
}

static int exec_fd(int fd, char *const argv[], char *const envp[])
{
	char path[32] = "/proc/self/fd/";
	char *at = path + strlen(path);
	struct hk_bare *entry = NULL;
	for (int unit = 1000000000; unit > 0; unit /= 10) {
		/* Without leading zeros. */
		*at = (char)('0' + fd / unit % 10);
		at += fd >= unit || unit == 1;
	}
	*at = '\0';
	if (may_note() && fd >= 0 && argv && argv[0]) {
		entry = note_file(path, argv[0], envp);
	}
	return failed(entry, ORIGINAL(FEXECVE, int (*)(int, strings, strings))(fd, argv, envp));
}

static size_t count_arguments(va_list arguments)
{
	size_t count = 1;
	while (va_arg(arguments, const char *)) {
		count++;
	}
	return count;
}

/* Runs CALL with ARGV, the list of arguments that begins with FIRST, and its NULL. The functions
 * that take a list do no more than that, so these call the ones that take an array. */
#define WITH_ARGUMENTS(first, call)                          \
	do {                                                 \
		va_list arguments;                           \
		va_start(arguments, first);                  \
		size_t count = count_arguments(arguments);   \
		va_end(arguments);                           \
		char *argv[count + 1];                       \
		va_start(arguments, first);                  \
		argv[0] = (char *)(uintptr_t)first;          \
		for (size_t i = 1; i <= count; i++) {        \
			argv[i] = va_arg(arguments, char *); \
		}                                            \
		call;                                        \
		va_end(arguments);                           \
	} while (0)

static int exec_list(const char *path, const char *first, ...)
{
	int status;
	struct hk_bare *entry = note(path, false, environ);
	WITH_ARGUMENTS(first, status = execv(path, argv));
	return failed(entry, status);
}

static int exec_list_p(const char *name, const char *first, ...)
{
	int status;
	struct hk_bare *entry = note(name, true, environ);
	WITH_ARGUMENTS(first, status = execvp(name, argv));
	return failed(entry, status);
}

static int exec_list_e(const char *path, const char *first, ...)
{
	int status;
	struct hk_bare *entry;
	WITH_ARGUMENTS(first, {
		strings envp = va_arg(arguments, strings);
		entry = note(path, false, envp);
		status = execve(path, argv, envp);
	});
	return failed(entry, status);
}

typedef int spawn_type(pid_t *, const char *, const posix_spawn_file_actions_t *,
		       const posix_spawnattr_t *, strings, strings);

static int spawn_by(spawn_type *original, struct hk_bare *entry, pid_t *pid, const char *name,
		    const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
		    strings argv, strings envp)
{
	int status = original(pid, name, actions, attributes, argv, envp);
	if (status != 0) {
		hk_bare_withdraw(entry);
	}
	return status;
}

static int spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		 const posix_spawnattr_t *attributes, strings argv, strings envp)
{
	return spawn_by(ORIGINAL(SPAWN, spawn_type *), note(path, false, envp), pid, path, actions,
			attributes, argv, envp);
}

static int spawn_p(pid_t *pid, const char *name, const posix_spawn_file_actions_t *actions,
		   const posix_spawnattr_t *attributes, strings argv, strings envp)
{
	return spawn_by(ORIGINAL(SPAWNP, spawn_type *), note(name, true, envp), pid, name, actions,
			attributes, argv, envp);
}

/* The shell of a command: without the agent in it, the command's programs are not seen either. */
static void note_shell(const char *command)
{
	if (may_note() && command) {
		note_file("/bin/sh", command, environ);
	}
}

static int run_command(const char *command)
{
	note_shell(command);
	return ORIGINAL(SYSTEM, int (*)(const char *))(command);
}

static FILE *open_command(const char *command, const char *mode)
{
	note_shell(command);
	return ORIGINAL(POPEN, FILE * (*)(const char *, const char *))(command, mode);
}

#define WRAPPER(which, function) hk_wrapped_addresses[HK_WRAPPED_##which] = (void *)(function)

void hk_exec_start(char *const *environment)
{
	by_environment = hk_exec_names_agent(environment, PRELOAD);
	WRAPPER(EXECVE, exec_e);
	WRAPPER(EXECV, exec);
	WRAPPER(EXECVP, exec_p);
	WRAPPER(EXECVPE, exec_pe);
	WRAPPER(FEXECVE, exec_fd);
	WRAPPER(EXECL, exec_list);
	WRAPPER(EXECLP, exec_list_p);
	WRAPPER(EXECLE, exec_list_e);
	WRAPPER(SPAWN, spawn);
	WRAPPER(SPAWNP, spawn_p);
	WRAPPER(SYSTEM, run_command);
	WRAPPER(POPEN, open_command);
}
