#include "collector/symbol/symbol_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collector/symbol/object_files.h"
#include "collector/symbol/perf_map.h"
#include "collector/symbol/places.h"
#include "collector/symbol/reply.h"
#include "collector/symbol/table_file.h"

#define SOCKET STDIN_FILENO
#define IDLE_MS 60000 /* without requests for this time the process ends and frees its memory */
#define NICE 5
#define DATA_MOST (UINT64_C(2) << 30) /* bytes of memory besides mapped files */

struct reading {
	struct hk_object_files *files;
	struct hk_places places;
	struct hk_perf_map_name names[HK_SYMBOL_ADDRESSES_MOST];
};

/* ---- one request ---- */

static int read_object(struct reading *reading, const Hk__SymbolRequest *request,
		       struct hk_reply *reply)
{
	struct hk_object_file *file;
	int r = hk_object_files_open(reading->files, request, &file);

	if (r < 0) {
		return hk_reply_end(reply, r == -ESTALE	   ? "another build is in its place"
					   : r == -ENOEXEC ? "not an ELF file for this machine"
							   : strerror(-r));
	}
	for (size_t i = 0; i < request->n_address && r == 0; i++) {
		hk_object_file_find(reading->files, file, request->address[i], &reading->places);
		r = hk_reply_add(reply, (uint32_t)i, &reading->places);
	}
	return r < 0 ? r : hk_reply_end(reply, "");
}

static int open_map(const Hk__SymbolRequest *request, FILE **ret_map)
{
	int r = hk_perf_map_open(request->root, request->pid, request->start_unix_ns, ret_map);

	/* The root directory of a process that has ended is not known any more. */
	return r < 0 && *request->root
		   ? hk_perf_map_open("", request->pid, request->start_unix_ns, ret_map)
		   : r;
}

/* The addresses of such a request are sorted. */
static int read_map(struct reading *reading, const Hk__SymbolRequest *request,
		    struct hk_reply *reply)
{
	FILE *map;
	int r = open_map(request, &map);

	if (r < 0) {
		return hk_reply_end(reply, "");
	}
	hk_perf_map_find(map, request->address, request->n_address, reading->names);
	fclose(map);
	r = 0;
	for (size_t i = 0; i < request->n_address && r == 0; i++) {
		hk_places_clear(&reading->places);
		hk_places_add(&reading->places, reading->names[i].text, NULL, 0);
		r = *reading->names[i].text ? hk_reply_add(reply, (uint32_t)i, &reading->places)
					    : 0;
	}
	return r < 0 ? r : hk_reply_end(reply, "");
}

static int handle(struct reading *reading, const uint8_t *bytes, size_t size)
{
	Hk__SymbolRequest *request = hk__symbol_request__unpack(NULL, size, bytes);

	if (!request || request->n_address > HK_SYMBOL_ADDRESSES_MOST) {
		return -EBADMSG;
	}
	struct hk_reply *reply = hk_reply_new(SOCKET, request->number);
	int r = !reply		 ? -ENOMEM
		: *request->path ? read_object(reading, request, reply)
				 : read_map(reading, request, reply);
	hk_reply_free(reply);
	hk__symbol_request__free_unpacked(request, NULL);
	return r;
}

/* ---- the process ---- */

/* A file that needs more memory ends this process. The collector then reports that file. */
static void limit(void)
{
	const struct rlimit none = {0, 0};
	unsigned long data = 0;
	FILE *statm = fopen("/proc/self/statm", "re");

	setrlimit(RLIMIT_CORE, &none);
	if (statm && fscanf(statm, "%*u %*u %*u %*u %*u %lu", &data) == 1) {
		rlim_t bytes = data * (rlim_t)sysconf(_SC_PAGESIZE) + DATA_MOST;
		const struct rlimit most = {bytes, bytes};
		setrlimit(RLIMIT_DATA, &most);
	}
	if (statm) {
		fclose(statm);
	}
}

/* The collector's other files are not needed here, and its locks are to end with it. */
static void prepare(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "hook-symbols");
	closefrom(STDERR_FILENO + 1);
	setpriority(PRIO_PROCESS, 0, NICE);
	/* libdw asks servers for debug files if this is set. */
	unsetenv("DEBUGINFOD_URLS");
	limit();
}

/* Waits for a request. Returns false if the process is to end. */
static bool wait_request(void)
{
	struct pollfd fd = {SOCKET, POLLIN, 0};
	int r;

	do {
		r = poll(&fd, 1, IDLE_MS);
	} while (r < 0 && errno == EINTR);
	return r > 0;
}

int hk_symbol_reader_main(void)
{
	static uint8_t bytes[HK_SYMBOL_READER_MESSAGE_BYTES];
	int r = 0;

	prepare();
	struct reading *reading = calloc(1, sizeof(*reading));
	if (!reading || !(reading->files = hk_object_files_new(hk_table_files_open()))) {
		free(reading);
		return 1;
	}
	while (r == 0 && wait_request()) {
		ssize_t size = recv(SOCKET, bytes, sizeof(bytes), 0);
		if (size <= 0) {
			break; /* the collector has ended */
		}
		r = handle(reading, bytes, (size_t)size);
	}
	hk_object_files_free(reading->files);
	free(reading);
	return r < 0;
}
