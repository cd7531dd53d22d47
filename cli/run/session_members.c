#include "cli/run/session_members.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rundir.h"
#include "cli/run/command_process.h"

#define POLL_MS 20
#define NAME_BYTES 192
#define LATE_NS 10000000000u /* limit of the wait for ranks that have not joined */
/* A launcher sends SIGKILL a second after SIGTERM, or at once when a process ends in that
 * second. */
#define HURRY_NS 600000000u
#define STAY_NS 900000000u
/* A launcher sees that a rank failed by hookcli's status, or sends SIGTERM a second after
 * MPI_Abort. */
#define FAILED_NS 1600000000u

int hk_session_members_lock(int dirfd, const char *name, int operation)
{
	int fd = openat(dirfd, name, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0) {
		return -errno;
	}
	while (flock(fd, operation) < 0) {
		if (errno != EINTR) {
			int r = -errno;
			close(fd);
			return r;
		}
	}
	return fd;
}

static void name_leader(const struct hk_session_members *members, char name[NAME_BYTES])
{
	snprintf(name, NAME_BYTES, "leader.%s", members->job);
}

static int lead(const struct hk_session_members *members)
{
	char name[NAME_BYTES];

	name_leader(members, name);
	return hk_session_members_lock(members->dirfd, name, LOCK_EX | LOCK_NB);
}

static void release_lead(struct hk_session_members *members, bool remove)
{
	char name[NAME_BYTES];

	if (remove) {
		name_leader(members, name);
		unlinkat(members->dirfd, name, 0);
	}
	if (members->leader_fd >= 0) {
		close(members->leader_fd);
		members->leader_fd = -1;
	}
}

/* Returns true if another member has ended the job and removed its files. */
static bool is_over(const struct hk_session_members *members)
{
	struct stat file;

	return fstat(members->members_fd, &file) < 0 || file.st_nlink == 0;
}

int hk_session_members_join(struct hk_session_members *members, int dirfd, const char *job,
			    int expected, bool leads)
{
	char name[NAME_BYTES];

	*members = (struct hk_session_members){
	    .dirfd = dirfd, .expected = expected, .members_fd = -1, .leader_fd = -1};
	snprintf(members->job, sizeof(members->job), "%s", job);
	snprintf(name, sizeof(name), HK_RUNDIR_MEMBERS "%s", members->job);
	/* A file that was removed while this process waited for its lock belongs to a job that has
	 * ended. */
	do {
		hk_session_members_fini(members, false);
		members->members_fd = hk_session_members_lock(dirfd, name, LOCK_SH);
		if (members->members_fd < 0) {
			return members->members_fd;
		}
	} while (is_over(members));
	/* Without this lock, the collector closes the job by itself if this process takes long to
	 * do so. */
	hk_rundir_keep_job(members->members_fd);
	if (leads) {
		/* If the job has a leader, this process becomes an ordinary member. */
		members->leader_fd = lead(members);
		members->leader = members->leader_fd >= 0;
	}
	return 0;
}

/* Counts the members that have left by their statuses in the file, and raises *ret_status to the
 * worst. */
static int departed(const struct hk_session_members *members, int *ret_status)
{
	uint8_t bytes[4096];
	ssize_t got = pread(members->members_fd, bytes, sizeof(bytes), 0);

	for (ssize_t i = 0; i < got; i++) {
		if (bytes[i] > *ret_status) {
			*ret_status = bytes[i];
		}
	}
	return got > 0 ? (int)got : 0;
}

/* Returns true if no other member holds the lock. Releases it at once: this is only a test. */
static bool alone(const struct hk_session_members *members)
{
	if (flock(members->members_fd, LOCK_EX | LOCK_NB) < 0) {
		return false;
	}
	flock(members->members_fd, LOCK_UN);
	return true;
}

static void await_others(const struct hk_session_members *members,
			 const struct hk_command_process *child, int *status)
{
	uint64_t start = hk_clock_monotonic_ns();
	uint64_t limit_ns = child->asked_to_end ? HURRY_NS : *status != 0 ? FAILED_NS : UINT64_MAX;

	for (;;) {
		uint64_t waited = hk_clock_monotonic_ns() - start;
		bool nobody = alone(members);
		bool all = departed(members, status) >= members->expected;
		if ((nobody && (all || waited > LATE_NS)) || waited > limit_ns) {
			return;
		}
		if (hk_command_process_interrupted(child, POLL_MS) &&
		    limit_ns > waited + HURRY_NS) {
			limit_ns = waited + HURRY_NS;
		}
	}
}

/* Waits until the leader has ended the job: a launcher would kill the leader if another member left
 * earlier. Returns true if the leader ended the job, false if it left that to others, was killed,
 * or takes too long. */
static bool leader_ends(const struct hk_session_members *members,
			const struct hk_command_process *child)
{
	uint64_t start = hk_clock_monotonic_ns();
	char name[NAME_BYTES];
	bool seen = false;

	name_leader(members, name);
	while (hk_clock_monotonic_ns() - start < STAY_NS) {
		int fd = openat(members->dirfd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
		if (fd < 0) {
			return seen && errno == ENOENT; /* removed with the job's end */
		}
		seen = true;
		int r = flock(fd, LOCK_SH | LOCK_NB);
		close(fd);
		if (r == 0) {
			return false;
		}
		hk_command_process_interrupted(child, POLL_MS);
	}
	return false;
}

/* Returns true if this is the last member and must end a job without a leader. This member then
 * holds the leader's lock, because several members may find themselves last. */
static bool is_last(struct hk_session_members *members, int *status)
{
	if (!alone(members) || departed(members, status) < members->expected || is_over(members)) {
		return false;
	}
	members->leader_fd = lead(members);
	if (members->leader_fd >= 0 && is_over(members)) {
		release_lead(members, true); /* a file that lead() created again */
	}
	return members->leader_fd >= 0;
}

bool hk_session_members_leave(struct hk_session_members *members,
			      const struct hk_command_process *child, int *status)
{
	uint8_t byte = (uint8_t)*status;

	(void)!write(members->members_fd, &byte, 1);
	flock(members->members_fd, LOCK_UN);
	if (!members->leader) {
		bool failed = child->asked_to_end || *status != 0;
		bool done = failed && leader_ends(members, child);
		return !done && is_last(members, status);
	}
	if (members->expected != 1) {
		await_others(members, child, status);
	}
	bool ends = alone(members);
	if (!ends) {
		release_lead(members, false);
		/* A member that left just before saw that there is a leader, and did not end the
		 * job. */
		ends = is_last(members, status);
	}
	return ends;
}

void hk_session_members_fini(struct hk_session_members *members, bool remove)
{
	char name[NAME_BYTES];

	/* Members that joined meanwhile belong to a new job, which they end themselves. Members
	 * that join now wait for the lock, and then see that the file is gone. */
	remove = remove && flock(members->members_fd, LOCK_EX | LOCK_NB) == 0;
	if (remove) {
		snprintf(name, sizeof(name), HK_RUNDIR_MEMBERS "%s", members->job);
		unlinkat(members->dirfd, name, 0);
	}
	release_lead(members, remove);
	if (members->members_fd >= 0) {
		close(members->members_fd);
		members->members_fd = -1;
	}
}
