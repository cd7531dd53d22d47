/* links: hk_collector */
/* Requests of an enemy who may ask everything, one after the other to the same collector: leaves'
 * reports and chunks, control, jobs that are opened and closed, exits, snapshots, probes. The input
 * is a list of packed requests, each behind its length (2 bytes, little-endian). Each is answered,
 * by something that can be unpacked. */
#include <fcntl.h>
#include <ftw.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/lifecycle/job_list.h"
#include "collector/link/peers.h"
#include "collector/model/collector.h"
#include "collector/proc/procfs.h"
#include "collector/requests.h"
#include "collector/server/quota.h"

#define REQUIRE(condition)          \
	do {                        \
		if (!(condition)) { \
			abort();    \
		}                   \
	} while (0)
#define REQUESTS_MAX 16

/* The client's address: loopback of a collector without tokens. */
struct limits {
	struct hk_policy *policy;
	struct hk_rejections *refusals;
	struct hk_quota *quota;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char base[] = "/dev/shm/hk-fuzz-answer-XXXXXX"; /* much is made and synced there */

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type;
	return ftw->level == 0 ? 0 : remove(path);
}

static void remove_all(void)
{
	nftw(base, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static void remove_base(void)
{
	remove_all();
	rmdir(base);
}

static struct hk_collector *collector_new(void)
{
	static bool made;
	struct hk_collector *collector = calloc(1, sizeof(*collector));
	REQUIRE(collector);
	if (!made) {
		made = mkdtemp(base) != NULL;
		REQUIRE(made);
		atexit(remove_base);
		hk_log_setup("fuzz_answer", HK_LOG_ERROR);
	}
	snprintf(collector->run_directory, sizeof(collector->run_directory), "%s/run", base);
	snprintf(collector->store, sizeof(collector->store), "%s/store", base);
	REQUIRE(mkdir(collector->run_directory, 0700) == 0);
	REQUIRE(setenv("HOOK_RUN_DIR", collector->run_directory, 1) == 0);
	for (int i = 0; i < HK_RUNDIR_CANDIDATES; i++) {
		collector->dirfd[i] = -1;
	}
	collector->dirfd[0] = open(collector->run_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	collector->options.keep = (struct hk_keep){UINT64_MAX, UINT64_MAX};
	collector->pid_namespace = hk_procfs_pid_namespace();
	collector->tick_ns_q32 = UINT64_C(1) << 32;
	collector->inotify_fd = -1; /* to close one takes the kernel long */
	REQUIRE(collector->dirfd[0] >= 0);
	return collector;
}

static void collector_free(struct hk_collector *collector)
{
	hk_job_free_all(collector);
	hk_peers_free_all(collector);
	close(collector->dirfd[0]);
	free(collector);
	remove_all();
}

/* What needs a server is left out. */
static bool is_fit(const Hk__Request *request)
{
	return request->what_case != HK__REQUEST__WHAT_STATUS;
}

static void limits_open(const struct hk_collector *collector, struct limits *limits)
{
	char problem[HK_ACCESS_PROBLEM_BYTES];
	REQUIRE(hk_policy_open(&collector->options, &limits->policy, problem) == 0);
	limits->refusals = hk_rejections_new();
	REQUIRE(limits->refusals);
	limits->quota = hk_quota_new(limits->policy, limits->refusals);
	REQUIRE(limits->quota);
}

static void limits_close(struct limits *limits)
{
	hk_quota_free(limits->quota);
	hk_rejections_free(limits->refusals);
	hk_policy_free(limits->policy);
}

static void ask(struct hk_collector *collector, struct hk_quota *quota, const uint8_t *data,
		size_t size)
{
	ProtobufCMessage *message, *response;
	struct hk_request_wait wait = {
	    .quota = quota, .account = &quota->accounts[HK_ACCOUNT_OPEN], .received_ns = 1};
	uint8_t *bytes;
	size_t packed;
	if (hk_message_unpack(&hk__request__descriptor, data, size, &message) < 0) {
		return;
	}
	Hk__Request *request = (Hk__Request *)message;
	if (is_fit(request)) {
		while (hk_requests_handle(collector, request, &wait, &bytes, &packed) == 0) {
			wait.until_ns = 1; /* long ago: it waits no more */
		}
		REQUIRE(hk_message_unpack(&hk__response__descriptor, bytes, packed, &response) ==
			0);
		protobuf_c_message_free_unpacked(response, NULL);
		free(bytes);
	}
	hk__request__free_unpacked(request, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hk_collector *collector = collector_new();
	struct limits limits;
	limits_open(collector, &limits);
	for (int i = 0; i < REQUESTS_MAX && size > 2; i++) {
		size_t length = data[0] | (size_t)data[1] << 8;
		length = length < size - 2 ? length : size - 2;
		ask(collector, limits.quota, data + 2, length);
		data += 2 + length;
		size -= 2 + length;
	}
	collector_free(collector);
	limits_close(&limits);
	return 0;
}
