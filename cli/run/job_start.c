#include "cli/run/job_start.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/run/session.h"
#include "text/name.h"

#define LINE_BYTES 1024

/* Reads the command line of process PID, its words separated by spaces, and its program's base
 * name. Returns 0 or -errno. */
static int read_command(int pid, char line[LINE_BYTES], char command[LINE_BYTES])
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	FILE *file = fopen(path, "re");
	if (!file) {
		return errno == ENOENT ? -ESRCH : -errno;
	}
	size_t length = fread(line, 1, LINE_BYTES - 1, file);
	fclose(file);
	line[length] = '\0';
	snprintf(command, LINE_BYTES, "%s", *line ? hk_name_base(line) : "process");
	while (length > 0 && line[length - 1] == '\0') {
		length--;
	}
	for (size_t i = 0; i < length; i++) {
		line[i] = line[i] ? line[i] : ' ';
	}
	return 0;
}

static int open_job(struct hk_session *session, const struct hk_session_options *options, int pid)
{
	int r = hk_session_init(session, options);

	if (r < 0) {
		return r;
	}
	do {
		if (hk_session_open(session, options, pid) == 0) {
			return 0;
		}
		r = hk_session_replace(session, options);
	} while (r == 0);
	hk_session_abandon(session);
	return r == -EALREADY ? -ECONNREFUSED : r;
}

int hk_job_start(int pid, struct hk_job_start *start)
{
	char line[LINE_BYTES], command[LINE_BYTES], store[PATH_MAX];
	const char *chosen = hk_command_setting("store");
	struct hk_session session;

	*start = (struct hk_job_start){0};
	int r = read_command(pid, line, command);
	if (r < 0) {
		snprintf(start->why, sizeof(start->why), "cannot read process %d: %s", pid,
			 strerror(-r));
		return r;
	}
	snprintf(store, sizeof(store), "%s", chosen ? chosen : "");
	const struct hk_session_options options = {
	    .store = *store ? store : NULL,
	    .job = hk_command_setting("job"),
	    .command = command,
	    .line = line,
	    .adopted = true,
	};
	r = open_job(&session, &options, pid);
	memcpy(start->why, session.why, sizeof(start->why));
	if (r < 0) {
		return r;
	}
	memcpy(start->run_directory, session.run_directory, sizeof(start->run_directory));
	memcpy(start->id, session.id, sizeof(start->id));
	memcpy(start->shown, session.shown, sizeof(start->shown));
	hk_session_fini(&session, false);
	return 0;
}
