/*
 * A program without MPI that knows what it calls.
 *   calls_truth --count OUT.json      known calls of two threads, nested calls, a plugin; then the
 * truth in the form of mpi_truth.c: {"pid":1,"calls":{"<library>":{"<function>":{...}}}}
 *   calls_truth --hang                says "ready" on stdout and waits for ever: open calls are
 * calls_block, then read.
 *   calls_truth --loop FILE [ROUNDS [PAUSE_US [STOP_AT]]]   two threads repeat write, read,
 * calls_inner, nanosleep; before and after each call they note it in FILE, mapped shared, so that
 * the truth survives kill -9 to within one call. FILE is an array of struct progress, one row per
 * thread and function; all of the program's calls of these functions are in it. The program stops
 * itself (SIGSTOP) when its first thread is through round STOP_AT.
 */
#include "calls_truth.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MESSAGES 500
#define MESSAGE_BYTES 64
#define SLEEPS 20
#define MILLISECOND_NS 1000000L
#define PLUGIN_CALLS 300
#define LOOP_THREADS 2
#define LOOP_FUNCTIONS 4
#define LOOP_PAUSE_US 20L

/* 64 bytes, little-endian; read by the tests. */
struct progress {
	char function[32];
	uint64_t thread; /* its kernel id */
	volatile uint64_t started;
	volatile uint64_t done;
	uint64_t unused;
};

struct loop {
	struct progress *rows;
	unsigned long rounds;
	long pause_us;
	unsigned long stop_at;
	pthread_t thread;
};

static struct truth_table table = {.library = "calls_truth"};
static struct truth_table writer_table = {.library = "calls_truth"};

static int write_message(int fd)
{
	char message[MESSAGE_BYTES] = {0};

	return write(fd, message, sizeof(message)) == (ssize_t)sizeof(message) ? 0 : -1;
}

/* Books a read or write of our own; TRUTH_CALL wants 0 for success, these return a size. */
static void book(struct truth_table *in, const char *function, ssize_t result, uint64_t start_ns)
{
	struct truth_row *row = truth_row(in, function);

	truth_add(row, result > 0 ? (uint64_t)result : 0, truth_now_ns() - start_ns);
	row->errors += result < 0;
}

static void *write_messages(void *argument)
{
	int fd = *(int *)argument;
	char message[MESSAGE_BYTES] = {0};

	for (int i = 0; i < MESSAGES; i++) {
		uint64_t start_ns = truth_now_ns();

		book(&writer_table, "write", write(fd, message, sizeof(message)), start_ns);
	}
	return NULL;
}

/* One thread writes, this one reads: whole messages always, since both sides use one size. */
static void pass_messages(void)
{
	int ends[2];
	pthread_t writer;
	char message[MESSAGE_BYTES];

	if (pipe(ends) != 0 || pthread_create(&writer, NULL, write_messages, &ends[1]) != 0) {
		abort();
	}
	for (int i = 0; i < MESSAGES; i++) {
		uint64_t start_ns = truth_now_ns();

		book(&table, "read", read(ends[0], message, sizeof(message)), start_ns);
	}
	TRUTH_CALL(&table, 0, pthread_join, writer, NULL);
	for (int i = 0; i < 3; i++) {
		uint64_t start_ns = truth_now_ns();

		book(&table, "read", read(-1, message, sizeof(message)), start_ns);
	}
	close(ends[0]);
	close(ends[1]);
}

static void sleep_and_nest(void)
{
	struct timespec pause = {.tv_nsec = MILLISECOND_NS};

	for (int i = 0; i < SLEEPS; i++) {
		TRUTH_CALL(&table, 0, nanosleep, &pause, NULL);
		TRUTH_CALL(&table, 0, calls_outer, 2, MILLISECOND_NS);
		TRUTH_CALL(&table, 0, calls_recurse, 5);
	}
}

static void run_plugin(void)
{
	char path[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 64);
	void *plugin;
	calls_truth_plugin_run_fn *run;

	if (length < 0) {
		abort();
	}
	path[length] = '\0';
	snprintf(strrchr(path, '/'), 64, "/libcalls_truth_plugin.so");
	plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	run = plugin ? (calls_truth_plugin_run_fn *)dlsym(plugin, "calls_truth_plugin_run") : NULL;
	if (!run) {
		fprintf(stderr, "calls_truth: %s\n", dlerror());
		abort();
	}
	run(PLUGIN_CALLS);
}

static int count(const char *path)
{
	struct truth_table plugin = {.library = "libcalls_truth_plugin.so"};
	FILE *out;

	pass_messages();
	sleep_and_nest();
	run_plugin();
	*truth_row(&table, "write") = writer_table.rows[0];
	truth_row(&plugin, "malloc")->calls = PLUGIN_CALLS;
	truth_row(&plugin, "free")->calls = PLUGIN_CALLS;
	out = fopen(path, "w");
	if (!out) {
		fprintf(stderr, "calls_truth: %s: %s\n", path, strerror(errno));
		return 1;
	}
	fprintf(out, "{\"pid\":%d,\"calls\":{", (int)getpid());
	truth_write(out, &table);
	fprintf(out, ",\n");
	truth_write(out, calls_truth_library_table());
	fprintf(out, ",\n");
	truth_write(out, &plugin);
	fprintf(out, "}}\n");
	return fclose(out) == 0 ? 0 : 1;
}

static int hang(void)
{
	int ends[2];

	if (pipe(ends) != 0 || puts("ready") < 0 || fflush(stdout) != 0) {
		return 1;
	}
	return calls_block(ends[0]);
}

/* Notes a call before and after it. */
#define NOTED(row, call)           \
	do {                       \
		(row)->started++;  \
		if ((call) != 0) { \
			abort();   \
		}                  \
		(row)->done++;     \
	} while (0)

static int read_message(int fd)
{
	char message[MESSAGE_BYTES];

	return read(fd, message, sizeof(message)) == (ssize_t)sizeof(message) ? 0 : -1;
}

static void *loop_thread(void *argument)
{
	static const char *const functions[LOOP_FUNCTIONS] = {"write", "read", "calls_inner",
							      "nanosleep"};
	struct loop *loop = argument;
	struct timespec pause = {.tv_nsec = loop->pause_us * 1000};
	int ends[2];

	for (int i = 0; i < LOOP_FUNCTIONS; i++) {
		snprintf(loop->rows[i].function, sizeof(loop->rows[i].function), "%s",
			 functions[i]);
		loop->rows[i].thread = (uint64_t)gettid();
	}
	if (pipe(ends) != 0) {
		abort();
	}
	for (unsigned long round = 0; round < loop->rounds; round++) {
		NOTED(&loop->rows[0], write_message(ends[1]));
		NOTED(&loop->rows[1], read_message(ends[0]));
		NOTED(&loop->rows[2], calls_inner(0));
		NOTED(&loop->rows[3], nanosleep(&pause, NULL));
		if (round == loop->stop_at) {
			kill(getpid(), SIGSTOP);
		}
	}
	return NULL;
}

static int repeat(const char *path, unsigned long rounds, long pause_us, unsigned long stop_at)
{
	size_t size = sizeof(struct progress) * LOOP_THREADS * LOOP_FUNCTIONS;
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	struct loop loops[LOOP_THREADS];
	struct progress *rows;

	if (fd < 0 || ftruncate(fd, (off_t)size) != 0) {
		fprintf(stderr, "calls_truth: %s: %s\n", path, strerror(errno));
		return 1;
	}
	rows = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (rows == MAP_FAILED) {
		return 1;
	}
	for (int i = 0; i < LOOP_THREADS; i++) {
		loops[i] = (struct loop){rows + i * LOOP_FUNCTIONS, rounds, pause_us,
					 i == 0 ? stop_at : ULONG_MAX, 0};
		if (pthread_create(&loops[i].thread, NULL, loop_thread, &loops[i]) != 0) {
			abort();
		}
	}
	for (int i = 0; i < LOOP_THREADS; i++) {
		pthread_join(loops[i].thread, NULL);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--count") == 0) {
		return count(argv[2]);
	}
	if (argc == 2 && strcmp(argv[1], "--hang") == 0) {
		return hang();
	}
	if (argc >= 3 && strcmp(argv[1], "--loop") == 0) {
		return repeat(argv[2], argc > 3 ? strtoul(argv[3], NULL, 10) : ULONG_MAX,
			      argc > 4 ? strtol(argv[4], NULL, 10) : LOOP_PAUSE_US,
			      argc > 5 ? strtoul(argv[5], NULL, 10) : ULONG_MAX);
	}
	fprintf(stderr, "usage: calls_truth --count OUT.json | --hang | "
			"--loop FILE [ROUNDS [PAUSE_US [STOP_AT]]]\n");
	return 2;
}
