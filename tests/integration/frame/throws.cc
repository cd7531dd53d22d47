/* throws: leaves hooked calls by exceptions, by the end of a thread and by its cancellation; prints
 * what came of it. `throws CASE` runs one of: exceptions, inside, threads, anywhere, terminate (an
 * exception meets a function that lets none pass). */
#include "throws.h"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

static const int rounds = 500;
static const int threads = 20;

static int call_value(int value)
{
	return throws_value(value);
}

static int call_twice(int value)
{
	return throws_call(call_value, value);
}

static long catch_values()
{
	long sum = 0;
	for (int i = 0; i < rounds; i++) {
		for (int (*function)(int) : {call_value, call_twice}) {
			try {
				sum += function(i);
			} catch (int thrown) {
				sum = sum * 3 + thrown;
			}
		}
		try {
			sum += throws_call(call_twice, i);
		} catch (int thrown) {
			sum = sum * 3 + thrown;
		}
		sum = sum * 3 + throws_plain(i);
	}
	return sum;
}

static long catch_inside()
{
	long sum = 0;
	for (int i = 0; i < rounds; i++) {
		sum = sum * 3 + throws_inside(i);
	}
	return sum;
}

static long rethrow()
{
	long sum = 0;
	for (int i = 0; i < rounds; i++) {
		try {
			try {
				sum += throws_object("gone");
			} catch (...) {
				sum = sum * 3 + throws_plain(i);
				throw;
			}
		} catch (const std::exception &error) {
			sum = sum * 3 + (strcmp(error.what(), "gone") == 0);
		}
	}
	return sum;
}

/* ---- threads ---- */

static std::atomic<int> waiting, unwound, cleaned;
static std::atomic<long> turns;

static int end_thread(int)
{
	pthread_exit(nullptr);
}

static int wait_for_end(int)
{
	waiting++;
	for (;;) {
		pause();
	}
}

static int catch_and_go_on(int which)
{
	try {
		return throws_call(which == 0 ? end_thread : wait_for_end, 0);
	} catch (...) {
		unwound++;
		throw;
	}
}

static void clean_up(void *)
{
	cleaned++;
}

static void *run(void *which)
{
	pthread_cleanup_push(clean_up, nullptr);
	throws_call(catch_and_go_on, which != nullptr);
	pthread_cleanup_pop(0);
	return nullptr;
}

static void end_threads()
{
	int cancelled = 0;
	for (long i = 0; i < threads; i++) {
		pthread_t thread;
		void *result;
		int seen = waiting;
		pthread_create(&thread, nullptr, run, reinterpret_cast<void *>(i % 2));
		if (i % 2 == 1) {
			while (waiting == seen) {
				sched_yield();
			}
			pthread_cancel(thread);
		}
		pthread_join(thread, &result);
		cancelled += result == PTHREAD_CANCELED;
	}
	printf("ended %d unwound %d cleaned %d\n", cancelled, unwound.load(), cleaned.load());
}

/* ---- a cancellation that comes anywhere, in the midst of the call and around it ---- */

static void *call_for_ever(void *)
{
	int unused;
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &unused);
	for (;;) {
		throws_plain(1);
		turns = turns + 1;
	}
}

static void cancel_anywhere()
{
	int cancelled = 0;
	for (int i = 0; i < threads; i++) {
		pthread_t thread;
		void *result;
		long seen = turns;
		pthread_create(&thread, nullptr, call_for_ever, nullptr);
		while (turns < seen + 1000 + 37 * i) {
			sched_yield();
		}
		pthread_cancel(thread);
		pthread_join(thread, &result);
		cancelled += result == PTHREAD_CANCELED;
	}
	printf("cancelled %d\n", cancelled);
	fprintf(stderr, "%ld\n", turns.load());
}

int main(int argc, char **argv)
{
	const char *which = argc > 1 ? argv[1] : "";
	if (strcmp(which, "exceptions") == 0) {
		printf("values %lx\n", catch_values());
		printf("rethrow %lx\n", rethrow());
	} else if (strcmp(which, "inside") == 0) {
		printf("inside %lx\n", catch_inside());
	} else if (strcmp(which, "threads") == 0) {
		end_threads();
	} else if (strcmp(which, "anywhere") == 0) {
		cancel_anywhere();
	} else if (strcmp(which, "terminate") == 0) {
		printf("never %d\n", throws_never(call_twice, 1));
	} else {
		return 2;
	}
	return 0;
}
