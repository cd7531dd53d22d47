#include "cli/live/browser.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/rundir.h"

#define NAME "open.html"
#define URL_BYTES (PATH_MAX + sizeof("file:///" NAME))

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

/* Writes a page that leads to ADDRESS, readable by this user only, and its URL to URL. */
static int redirect(const char *address, char url[URL_BYTES])
{
	char directory[PATH_MAX];
	int fd = -1;
	int at = hk_rundir_open_default(1, directory);

	if (at < 0) {
		return at;
	}
	if (unlinkat(at, NAME, 0) == 0 || errno == ENOENT) {
		fd = openat(at, NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	}
	FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
	int r = file ? 0 : -errno;
	close(at);
	if (!file) {
		return r;
	}
	fprintf(file,
		"<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<title>hooktrace</title>\n"
		"<meta http-equiv=\"refresh\" content=\"0; url=%s\">\n",
		address);
	snprintf(url, URL_BYTES, "file://%s/" NAME, directory);
	return fclose(file) == 0 ? 0 : -EIO;
}

int hk_browser_open(const char *address, bool secret)
{
	char url[URL_BYTES];
	bool own = is_set("BROWSER");
	const char *program = own ? getenv("BROWSER") : "xdg-open";
	char *arguments[] = {(char *)(uintptr_t)program, (char *)(uintptr_t)address, NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	pid_t pid;

	if (!own && !is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY")) {
		return -ENODEV;
	}
	if (secret) {
		int r = redirect(address, url);
		if (r < 0) {
			return r;
		}
		arguments[1] = url;
	}
	if (posix_spawn_file_actions_init(&files) != 0) {
		return -ENOMEM;
	}
	if (posix_spawnattr_init(&attributes) != 0) {
		posix_spawn_file_actions_destroy(&files);
		return -ENOMEM;
	}
	/* The browser outlives the command and its terminal. */
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
	int r = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDWR, 0);
	r = r ? r : posix_spawn_file_actions_adddup2(&files, STDIN_FILENO, STDOUT_FILENO);
	r = r ? r : posix_spawn_file_actions_adddup2(&files, STDIN_FILENO, STDERR_FILENO);
	r = r ? r : posix_spawnp(&pid, program, &files, &attributes, arguments, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	return -r;
}
