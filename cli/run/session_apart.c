#include "cli/run/session_apart.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEEP 'k'

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

static void child_main(const struct hk_session_options *options, uid_t uid, gid_t gid, int control,
		       int answer)
{
	static struct hk_session session;
	static struct report report;
	char word = 0;
	int r = become(uid, gid);

	if (r < 0) {
		snprintf(report.why, sizeof(report.why), "cannot become user %u: %s", (unsigned)uid,
			 strerror(-r));
	} else {
		r = open_session(&session, options);
		memcpy(report.run_directory, session.run_directory, sizeof(report.run_directory));
		memcpy(report.id, session.id, sizeof(report.id));
		memcpy(report.shown, session.shown, sizeof(report.shown));
		memcpy(report.why, session.why, sizeof(report.why));
	}
	report.error = r;
	write_all(answer, &report, sizeof(report));
	close(answer);
	if (r < 0) {
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

int hk_session_apart_open(struct hk_session_apart *apart, const struct hk_session_options *options,
			  uid_t uid, gid_t gid)
{
	static struct report report;
	int control[2], answer[2];

	*apart = (struct hk_session_apart){.child = -1, .control = -1};
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
		child_main(options, uid, gid, control[0], answer[1]);
	}
	int r = apart->child < 0 ? -errno : 0;
	apart->control = control[1];
	close(control[0]);
	close(answer[1]);
	if (r == 0) {
		bool whole = read_all(answer[0], &report, sizeof(report));
		r = whole ? report.error : -EPIPE;
		memcpy(apart->run_directory, report.run_directory, sizeof(apart->run_directory));
		memcpy(apart->id, report.id, sizeof(apart->id));
		memcpy(apart->shown, report.shown, sizeof(apart->shown));
		memcpy(apart->why, report.why, sizeof(apart->why));
	}
	close(answer[0]);
	if (r < 0) {
		hk_session_apart_close(apart, false);
	}
	return r;
}

void hk_session_apart_close(struct hk_session_apart *apart, bool kept)
{
	char word = KEEP;

	if (kept) {
		write_all(apart->control, &word, 1);
	}
	if (apart->control >= 0) {
		close(apart->control);
	}
	while (apart->child > 0 && waitpid(apart->child, NULL, 0) < 0 && errno == EINTR) {
	}
	apart->control = -1;
	apart->child = -1;
}
