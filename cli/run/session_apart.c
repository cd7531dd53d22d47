#include "cli/run/session_apart.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEEP 'k'

/* What the child is asked to open. */
struct request {
	uid_t uid;
	gid_t gid;
	char command[256], line[1024], store[PATH_MAX], job[128]; /* "": none */
};

/* What the child reports. */
struct report {
	int error;
	char run_directory[PATH_MAX], id[128], shown[PATH_MAX], why[HK_COLLECTOR_WHY_BYTES];
};

static int become(uid_t uid, gid_t gid)
{
	if (geteuid() != 0 || (uid == 0 && gid == getegid())) {
		return 0;
	}
	return setgroups(1, &gid) < 0 || setresgid(gid, gid, gid) < 0 ||
		       setresuid(uid, uid, uid) < 0
		   ? -errno
		   : 0;
}

static int open_session(struct hk_session *session, const struct hk_session_options *options)
{
	int r = hk_session_init(session, options);
	if (r < 0) {
		return r;
	}
	while ((r = hk_session_open(session, options, 0)) < 0) {
		if (hk_session_replace(session, options) < 0) {
			hk_session_abandon(session);
			break;
		}
	}
	return r;
}

static bool write_all(int fd, const void *data, size_t bytes)
{
	return write(fd, data, bytes) == (ssize_t)bytes;
}

static bool read_all(int fd, void *data, size_t bytes)
{
	size_t done = 0;
	ssize_t got = 1;

	while (done < bytes && (got > 0 || errno == EINTR)) {
		got = read(fd, (char *)data + done, bytes - done);
		done += got > 0 ? (size_t)got : 0;
		if (got == 0) {
			break;
		}
	}
	return done == bytes;
}

static int open_as(const struct request *request, struct hk_session *session, struct report *report)
{
	const struct hk_session_options options = {
	    .store = *request->store ? request->store : NULL,
	    .job = *request->job ? request->job : NULL,
	    .command = request->command,
	    .line = request->line,
	    .apart = true,
	};
	int r = become(request->uid, request->gid);

	if (r < 0) {
		snprintf(report->why, sizeof(report->why), "cannot become user %u: %s",
			 (unsigned)request->uid, strerror(-r));
		return r;
	}
	r = open_session(session, &options);
	memcpy(report->run_directory, session->run_directory, sizeof(report->run_directory));
	memcpy(report->id, session->id, sizeof(report->id));
	memcpy(report->shown, session->shown, sizeof(report->shown));
	memcpy(report->why, session->why, sizeof(report->why));
	return r;
}

static void child_main(int control, int answer)
{
	static struct hk_session session;
	static struct request request;
	static struct report report;
	char word = 0;

	if (!read_all(control, &request, sizeof(request))) {
		_exit(0); /* nothing is to be opened */
	}
	report.error = open_as(&request, &session, &report);
	write_all(answer, &report, sizeof(report));
	close(answer);
	if (report.error < 0) {
		_exit(1);
	}
	if (!read_all(control, &word, 1) || word != KEEP) {
		hk_session_abandon(&session);
	} else {
		hk_session_members_fini(&session.members, true);
		hk_session_fini(&session, false);
	}
	_exit(0);
}

int hk_session_apart_init(struct hk_session_apart *apart)
{
	int control[2], answer[2];

	*apart = (struct hk_session_apart){.child = -1, .control = -1, .answer = -1};
	if (pipe2(control, O_CLOEXEC) < 0) {
		return -errno;
	}
	if (pipe2(answer, O_CLOEXEC) < 0) {
		int r = -errno;
		close(control[0]);
		close(control[1]);
		return r;
	}
	apart->child = fork();
	if (apart->child == 0) {
		close(control[1]);
		close(answer[0]);
		child_main(control[0], answer[1]);
	}
	int r = apart->child < 0 ? -errno : 0;
	apart->control = control[1];
	apart->answer = answer[0];
	close(control[0]);
	close(answer[1]);
	return r;
}

int hk_session_apart_open(struct hk_session_apart *apart, const struct hk_session_options *options,
			  uid_t uid, gid_t gid)
{
	static struct request request;
	static struct report report;

	request.uid = uid;
	request.gid = gid;
	snprintf(request.command, sizeof(request.command), "%s", options->command);
	snprintf(request.line, sizeof(request.line), "%s", options->line);
	snprintf(request.store, sizeof(request.store), "%s", options->store ? options->store : "");
	snprintf(request.job, sizeof(request.job), "%s", options->job ? options->job : "");
	if (!write_all(apart->control, &request, sizeof(request)) ||
	    !read_all(apart->answer, &report, sizeof(report))) {
		return -EPIPE;
	}
	memcpy(apart->run_directory, report.run_directory, sizeof(apart->run_directory));
	memcpy(apart->id, report.id, sizeof(apart->id));
	memcpy(apart->shown, report.shown, sizeof(apart->shown));
	memcpy(apart->why, report.why, sizeof(apart->why));
	return report.error;
}

void hk_session_apart_close(struct hk_session_apart *apart, bool kept)
{
	char word = KEEP;

	if (kept) {
		write_all(apart->control, &word, 1);
	}
	if (apart->control >= 0) {
		close(apart->control);
		close(apart->answer);
	}
	while (apart->child > 0 && waitpid(apart->child, NULL, 0) < 0 && errno == EINTR) {
	}
	apart->control = apart->answer = -1;
	apart->child = -1;
}
