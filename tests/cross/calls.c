/* calls: calls functions of every shape; its output must not depend on who watches. The counts are
 * in test_calls.py. */
#include "calls.h"
#include "ring/segment.h"

#include <complex.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

static void print_integers(void)
{
	printf("twenty %ld\n",
	       shape_twenty(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20));
	struct shape_pair p[16];
	for (int i = 0; i < 16; i++) {
		p[i] = (struct shape_pair){i, 100 * i};
	}
	printf("stack32 %ld\n",
	       shape_stack32(1, 2, 3, 4, 5, 6, 7, 8, &p[15], p[0], p[1], p[2], p[3], p[4], p[5],
			     p[6], p[7], p[8], p[9], p[10], p[11], p[12], p[13], p[14], 9));
	struct shape_pair pair = shape_pair(p[5]);
	printf("pair %ld %ld\n", pair.a, pair.b);
	struct shape_large large = {{1, 2, 3, 4, 5, 6, 7, 8, 9}};
	struct shape_mixed mixed = shape_mixed((struct shape_mixed){100, 1.5}, large, 1000);
	printf("mixed %ld %g\n", mixed.a, mixed.b);
	struct shape_large back = shape_large(7, large);
	printf("large %ld %ld\n", back.word[0], back.word[8]);
	__int128 wide = shape_int128(1, (__int128)7 << 70, 2, 3, 4, 5, (__int128)11 << 80);
	printf("int128 %lx %lx\n", (long)(wide >> 64), (long)wide);
}

static void print_vectors(void)
{
	struct shape_floats floats = shape_floats((struct shape_floats){{1, 2, 3, 4}}, 2.5f);
	printf("floats %g %g %g %g\n", floats.v[0], floats.v[1], floats.v[2], floats.v[3]);
	struct shape_doubles a = {{1, 2, 3, 4}}, b = {{.1, .2, .3, .4}}, sum = shape_doubles(a, b);
	printf("doubles %g %g %g %g\n", sum.v[0], sum.v[1], sum.v[2], sum.v[3]);
	struct shape_longs longs = shape_longs((struct shape_longs){{1e30L, 2, 3, 1e-30L}}, 3.25L);
	printf("longs %.8Lg %Lg %Lg %.8Lg\n", longs.v[0], longs.v[1], longs.v[2], longs.v[3]);
	struct shape_vectors v = {{{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}}};
	v = shape_vectors(v, (float32x4_t){.5, .25, .125, .0625});
	printf("vectors %g %g %g\n", v.v[0][0], v.v[1][3], v.v[2][2]);
	printf("long double %.30Lg\n",
	       shape_long_double(1e20L, .5L, .25L, .125L, 5, 6, 7, 8, 9, 1e-9L));
	_Complex double square = shape_complex(3 + 4 * I);
	printf("complex %g %g\n", creal(square), cimag(square));
	printf("length %d\n", shape_variadic("variadic %d %s %g %Lf %ld %d %d %d %g %Lg\n", 1,
					     "two", 3.5, 4.5L, 5L, 6, 7, 8, 9.25, 10.125L));
}

/* All of q8 to q23 hold over this call. */
static void print_variant(void)
{
	float32x4_t sum = {1, 2, 3, 4}, kept[16];
	for (int i = 0; i < 16; i++) {
		kept[i] = vdupq_n_f32((float)i);
	}
	for (int i = 0; i < 16; i++) {
		sum = shape_variant(sum);
	}
	for (int i = 0; i < 16; i++) {
		sum = vaddq_f32(sum, kept[i]);
	}
	printf("variant %g %g\n", sum[0], sum[3]);
}

/* The segment of this process, if it is watched. */
static struct hk_segment_header *find_segment(void)
{
	const char *directory = getenv("HOOK_RUN_DIR");
	struct hk_segment_header *found = MAP_FAILED;
	DIR *entries = directory ? opendir(directory) : NULL;
	for (struct dirent *entry; entries && (entry = readdir(entries)) && found == MAP_FAILED;) {
		int fd = strstr(entry->d_name, HK_SEGMENT_SUFFIX)
			     ? openat(dirfd(entries), entry->d_name, O_RDWR | O_CLOEXEC)
			     : -1;
		if (fd >= 0) {
			found =
			    mmap(NULL, sizeof(*found), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
			close(fd);
		}
		if (found != MAP_FAILED && found->pid != (uint32_t)getpid()) {
			munmap(found, sizeof(*found));
			found = MAP_FAILED;
		}
	}
	if (entries) {
		closedir(entries);
	}
	return found == MAP_FAILED ? NULL : found;
}

static atomic_bool enough;

/* What a collector does once a second. */
static void *raise_generation(void *segment)
{
	while (segment && !enough) {
		atomic_fetch_add(&((struct hk_segment_header *)segment)->generation, 1);
		sched_yield();
	}
	return NULL;
}

/* Again, while the agent looks for new rules at every call. */
static void print_restless(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, raise_generation, find_segment());
	for (int i = 0; i < 10; i++) {
		print_integers();
		print_vectors();
	}
	enough = true;
	pthread_join(thread, NULL);
}

static int add_one(int value)
{
	return shape_recurse(value) + 1;
}

static void print_results(void)
{
	errno = 0;
	int doubled = shape_errno(EDOM);
	printf("errno %d %d\n", errno == EDOM, doubled);
	long bytes = 0, failures = 0;
	for (int i = 0; i < 100; i++) {
		bytes += shape_bytes(i % 10 ? 3 : -1, &bytes, 1000 + (unsigned long)i, 0.5f);
		failures += shape_fails(i % 4 == 0);
	}
	printf("bytes %ld failures %ld\n", bytes, failures);
	printf("callback %d\n", shape_callback(add_one, 5));
	printf("half %g\n", shape_half("on aarch64", 2.5f));
	shape_wait(20000000);
	shape_sleep(20000000);
}

static void print_jumps(void)
{
	jmp_buf where;
	volatile int jumps = 0;
	while (jumps < 1000) {
		if (setjmp(where) == 0) {
			shape_jump(where, 1);
		}
		jumps++;
	}
	printf("jumps %d\n", jumps);
}

/* A coroutine on a stack whose top touches a guard page. */
static ucontext_t main_context, fiber_context;

static void fiber_main(void)
{
	for (int i = 0; i < 3; i++) {
		printf("fiber %d\n", shape_recurse(10));
		swapcontext(&fiber_context, &main_context);
	}
}

static void print_fiber(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *area =
	    mmap(NULL, 18 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(area, page, PROT_NONE);
	mprotect(area + 17 * page, page, PROT_NONE);
	getcontext(&fiber_context);
	fiber_context.uc_stack.ss_sp = area + page;
	fiber_context.uc_stack.ss_size = 16 * page;
	fiber_context.uc_link = &main_context;
	makecontext(&fiber_context, fiber_main, 0);
	for (int i = 0; i < 3; i++) {
		swapcontext(&main_context, &fiber_context);
	}
}

static volatile sig_atomic_t handlers_run;

static void on_signal(int number)
{
	(void)number;
	handlers_run += shape_recurse(3) == 3;
}

/* Hooked calls in a handler. */
static void print_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal};
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < 200; i++) {
		raise(SIGUSR1);
	}
	printf("signals %d\n", (int)handlers_run);
}

/* Unwinds from wherever the timer finds the loop below; counts those lost on the way that began in
 * an object of neither the program nor libc, whose PLT and loader have places that cannot be
 * unwound. */
static volatile int lost;

static void print_backtraces(void);

static _Unwind_Reason_Code look(struct _Unwind_Context *context, void *found)
{
	*(int *)found |= _Unwind_GetRegionStart(context) == (uintptr_t)print_backtraces;
	return _URC_NO_REASON;
}

static void on_timer(int number, siginfo_t *info, void *context)
{
	const ucontext_t *interrupted = context;
	Dl_info object;
	int found = 0;
	(void)number;
	(void)info;
	if (!dladdr((void *)interrupted->uc_mcontext.pc, &object) ||
	    strstr(object.dli_fname, "cross_") || strstr(object.dli_fname, "libc.so") ||
	    strstr(object.dli_fname, "ld-linux")) {
		return;
	}
	_Unwind_Backtrace(look, &found);
	lost += !found;
}

static __attribute__((noinline)) void print_backtraces(void)
{
	const struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
	int found = 0;
	long sum = 0;
	_Unwind_Backtrace(look, &found); /* what it needs is opened here and not in the handler */
	sigaction(SIGALRM, &(struct sigaction){.sa_sigaction = on_timer, .sa_flags = SA_SIGINFO},
		  NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 20000; i++) {
		sum += shape_recurse(1);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	printf("backtraces %d %d %ld\n", found, lost, sum);
}

static void *run_thread(void *argument)
{
	long sum = 0;
	for (int i = 0; i < 200; i++) {
		sum += shape_recurse((int)(long)argument);
	}
	return (void *)sum;
}

static void print_threads(void)
{
	long total = 0;
	for (int wave = 0; wave < 3; wave++) {
		pthread_t thread[4];
		for (long i = 0; i < 4; i++) {
			pthread_create(&thread[i], NULL, run_thread, (void *)i);
		}
		for (int i = 0; i < 4; i++) {
			void *sum;
			pthread_join(thread[i], &sum);
			total += (long)sum;
		}
	}
	printf("threads %ld\n", total);
}

/* Threads that end inside a hooked call: the stack is unwound through our frames. */
static int cleaned;

static void clean_up(void *unused)
{
	(void)unused;
	cleaned++;
}

static void *end_in_library(void *unused)
{
	pthread_cleanup_push(clean_up, NULL);
	shape_end_thread();
	pthread_cleanup_pop(0);
	return unused;
}

static void print_unwound(void)
{
	for (int i = 0; i < 10; i++) {
		pthread_t thread;
		pthread_create(&thread, NULL, end_in_library, NULL);
		pthread_join(thread, NULL);
	}
	printf("unwound %d\n", cleaned);
}

static void print_plugin(const char *directory)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/libcross_plugin.so", directory);
	for (int i = 0; i < 3; i++) {
		void *handle = dlopen(path, i ? RTLD_NOW : RTLD_LAZY);
		int (*run)(int) = handle ? (int (*)(int))dlsym(handle, "plugin_run") : NULL;
		printf("plugin %d\n", run ? run(4) : -1);
		if (handle) {
			dlclose(handle);
		}
	}
	printf("%s\n", dlopen("libnone.so", RTLD_NOW) ? "opened" : dlerror());
}

/* Ends inside a hooked call. */
static int end_child(int status)
{
	exit(status);
}

static void print_fork(void)
{
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		printf("child %d\n", shape_recurse(4));
		shape_callback(end_child, 3);
	}
	int status;
	waitpid(child, &status, 0);
	printf("child ended %d\n", WEXITSTATUS(status));
}

int main(int argc, char **argv)
{
	print_integers();
	print_vectors();
	print_variant();
	print_restless();
	print_results();
	print_jumps();
	print_fiber();
	print_signals();
	print_backtraces();
	print_threads();
	print_unwound();
	printf("caught %d\n", catch_all());
	print_plugin(argc > 1 ? argv[1] : ".");
	print_fork();
	return 7;
}
