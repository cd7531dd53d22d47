/* Functions are called on a thread of another process, which does not notice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/attach/call.h"
#include "cli/attach/inject.h"
#include "cli/attach/safe.h"
#include "cli/attach/symbols.h"
#include "cli/attach/target.h"
#include "cli/attach/thread.h"

#if defined(__x86_64__)
#define CALLS 50
#define ERROR 77
#define SLEEP_NS 300000000

/* What parent and child share. */
static struct shared {
	atomic_int ready, stop;
	atomic_long rounds;
} * shared;

static long add(long a, long b, long c)
{
	errno = EDOM;
	return a + b + c;
}

/* Keeps vector registers, x87 registers and errno in use, and checks them. */
static int compute(void)
{
	double sum = 0;
	long double high = 0;
	errno = ERROR;
	while (!atomic_load(&shared->stop)) {
		sum = 0;
		high = 0;
		for (int i = 1; i <= 1000; i++) {
			sum += (double)i * 0.5;
			high += (long double)i / 4;
		}
		if (sum != 250250.0 || high != 125125.0L || errno != ERROR) {
			return 1;
		}
		atomic_fetch_add(&shared->rounds, 1);
		atomic_store(&shared->ready, 1);
	}
	return 0;
}

static int rest(void)
{
	struct timespec begun, now, pause = {.tv_nsec = SLEEP_NS};
	while (!atomic_load(&shared->stop)) {
		clock_gettime(CLOCK_MONOTONIC, &begun);
		atomic_store(&shared->ready, 1);
		if (nanosleep(&pause, NULL) != 0) {
			return 1;
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
		if ((now.tv_sec - begun.tv_sec) * 1000000000L + now.tv_nsec - begun.tv_nsec <
		    SLEEP_NS) {
			return 2;
		}
	}
	return 0;
}

static void start(int (*what)(void), pid_t *ret_pid)
{
	memset(shared, 0, sizeof(*shared));
	*ret_pid = fork();
	if (*ret_pid == 0) {
		_exit(what());
	}
	while (!atomic_load(&shared->ready)) {
		usleep(100);
	}
}

static void end(pid_t pid)
{
	int status;
	atomic_store(&shared->stop, 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* The addresses of this process are those of its child. */
/* Returns the address of libc's own function, which a sanitizer may have put another in front of.
 */
static uint64_t address_of(const char *name)
{
	return (uint64_t)(uintptr_t)dlsym(dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), name);
}

static uint64_t restorer(const struct hk_maps *maps)
{
	static const uint8_t wanted[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	for (size_t i = 0; i < maps->count; i++) {
		const struct hk_map *map = &maps->list[i];
		if (map->executable && hk_map_is_libc(hk_map_base(map))) {
			return (uint64_t)(uintptr_t)memmem(
			    (void *)map->start, map->end - map->start, wanted, sizeof(wanted));
		}
	}
	return 0;
}

static void waiting(void)
{
}

static void call_in(pid_t pid)
{
	char why[HK_ATTACH_WHY_BYTES] = "";
	struct hk_target target;
	struct hk_held held;
	struct hk_remote *remote;
	assert_int_equal(hk_target_examine(pid, &target, why), 0);
	const struct hk_remote_functions functions = {
	    .map = address_of("mmap"),
	    .protect = address_of("mprotect"),
	    .unmap = address_of("munmap"),
	    .error = address_of("__errno_location"),
	    .restorer = restorer(&target.maps),
	};
	for (int i = 0; i < CALLS; i++) {
		const char text[] = "text";
		char back[sizeof(text)] = "";
		uint64_t result = 0;
		while (hk_thread_hold(pid, &held) == -EAGAIN) {
		}
		assert_int_equal(hk_remote_begin(&held, pid, &functions, &remote), 0);
		uint64_t at = hk_remote_put(remote, text, sizeof(text));
		assert_int_not_equal(at, 0);
		assert_int_equal(hk_remote_call(remote, (uint64_t)(uintptr_t)add,
						(const uint64_t[3]){1, 20, 300}, waiting, &result),
				 0);
		assert_int_equal(result, 321);
		assert_int_equal(hk_remote_call(remote, address_of("strlen"),
						(const uint64_t[3]){at}, waiting, &result),
				 0);
		assert_int_equal(result, 4);
		assert_int_equal(hk_remote_get(remote, at, back, sizeof(back)), 0);
		assert_string_equal(back, text);
		hk_remote_end(remote);
		hk_thread_let_go(&held);
	}
	hk_target_free(&target);
}

static void call_leaves_a_computing_thread_as_it_was(void **state)
{
	pid_t pid;
	(void)state;
	start(compute, &pid);
	call_in(pid);
	long before = atomic_load(&shared->rounds);
	while (atomic_load(&shared->rounds) < before + 3) {
		usleep(100);
	}
	end(pid);
}

static void call_continues_a_sleep(void **state)
{
	pid_t pid;
	(void)state;
	start(rest, &pid);
	call_in(pid);
	end(pid);
}

static void call_of_what_crashes_is_left(void **state)
{
	char why[HK_ATTACH_WHY_BYTES] = "";
	struct hk_target target;
	struct hk_held held;
	struct hk_remote *remote;
	uint64_t result;
	pid_t pid;
	(void)state;
	start(compute, &pid);
	assert_int_equal(hk_target_examine(pid, &target, why), 0);
	const struct hk_remote_functions functions = {
	    .map = address_of("mmap"),
	    .protect = address_of("mprotect"),
	    .unmap = address_of("munmap"),
	    .error = address_of("__errno_location"),
	    .restorer = restorer(&target.maps),
	};
	while (hk_thread_hold(pid, &held) == -EAGAIN) {
	}
	assert_int_equal(hk_remote_begin(&held, pid, &functions, &remote), 0);
	assert_int_equal(hk_remote_call(remote, 16, (const uint64_t[3]){0}, waiting, &result),
			 -EFAULT);
	hk_remote_end(remote);
	hk_thread_let_go(&held);
	hk_target_free(&target);
	end(pid);
}

/* ---- symbols ---- */

static void symbols_are_those_of_the_loader(void **state)
{
	static const char *const names[] = {"malloc", "dlopen", "qsort", "__errno_location"};
	struct hk_symbols symbols;
	struct hk_maps maps;
	(void)state;
	assert_int_equal(hk_maps_read(getpid(), &maps), 0);
	const struct hk_map *libc = hk_maps_file(&maps, hk_map_is_libc);
	assert_non_null(libc);
	assert_int_equal(hk_symbols_read(getpid(), libc, &symbols), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		uint64_t address = hk_symbols_address(&symbols, names[i]);
		assert_int_equal(address, address_of(names[i]));
		assert_string_equal(hk_map_base(hk_maps_find(&maps, address)), hk_map_base(libc));
	}
	assert_int_equal(hk_symbols_address(&symbols, "no such function"), 0);
	hk_symbols_free(&symbols);
	hk_maps_free(&maps);
}

/* ---- safe moments ---- */

static int churn(void)
{
	atomic_store(&shared->ready, 1);
	while (!atomic_load(&shared->stop)) {
		int number = 0;
		qsort(&number, 1, sizeof(number), (int (*)(const void *, const void *))strcmp);
		free(malloc(1 + (size_t)atomic_fetch_add(&shared->rounds, 1) % 5000));
	}
	return 0;
}

/* A thread that is judged safe is never in malloc: then its arena's lock is free. */
static void safe_threads_are_outside_of_malloc(void **state)
{
	char why[HK_ATTACH_WHY_BYTES] = "";
	struct hk_target target;
	struct hk_safety safety;
	struct hk_held held;
	pid_t pid;
	int safe = 0, unsafe = 0;
	(void)state;
	start(churn, &pid);
	assert_int_equal(hk_target_examine(pid, &target, why), 0);
	assert_int_equal(hk_safety_init(&safety, &target, why), 0);
	while (safe < 20 || unsafe < 20) {
		if (hk_thread_hold(pid, &held) < 0) {
			continue;
		}
		bool holds = hk_safety_holds(&safety, pid, hk_remote_system_call(&held));
		safe += holds;
		unsafe += !holds;
		hk_thread_let_go(&held);
	}
	hk_safety_fini(&safety);
	hk_target_free(&target);
	end(pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(call_leaves_a_computing_thread_as_it_was),
	    cmocka_unit_test(call_continues_a_sleep),
	    cmocka_unit_test(call_of_what_crashes_is_left),
	    cmocka_unit_test(symbols_are_those_of_the_loader),
	    cmocka_unit_test(safe_threads_are_outside_of_malloc),
	};
	shared =
	    mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED) {
		return 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
	return 0;
}
#endif
