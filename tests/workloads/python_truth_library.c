/* Functions that python_truth.py calls through ctypes, and that call back into Python while they
 * are open: what Python sees of its stack then is what a tracer of these functions has to see. */
#include <pthread.h>
#include <stddef.h>

#pragma GCC visibility push(default)
void python_noted(void (*note)(void));
double python_doubled(double value);
void python_noted_by_thread(void (*note)(void), int times);
#pragma GCC visibility pop

/* NOTE may be NULL. */
void python_noted(void (*note)(void))
{
	if (note) {
		note();
	}
	__asm__ volatile("" ::: "memory");
}

/* Its result is in a vector register, which taking a stack must leave alone. */
double python_doubled(double value)
{
	return value * 2;
}

struct work {
	void (*note)(void);
	int times;
};

static void *run(void *data)
{
	const struct work *work = data;

	for (int i = 0; i < work->times; i++) {
		python_noted(work->note);
	}
	return NULL;
}

/* Calls python_noted on a thread that Python did not begin. */
void python_noted_by_thread(void (*note)(void), int times)
{
	struct work work = {note, times};
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, &work) == 0) {
		pthread_join(thread, NULL);
	}
}
