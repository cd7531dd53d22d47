/* A program that pauses its own records. test_pause.py knows what it calls.
 *
 * Its other thread calls as often as itself, in turns, and so without a look at hk_pause.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hooktrace.h"

#define RECORDED 100
#define PAUSED 50
#define IN_CHILD 30

static pthread_barrier_t turn;

static void calls(int count)
{
	for (int i = 0; i < count; i++) {
		getppid();
	}
}

/* The same on both threads: one begins when the other one has ended. */
static void calls_of_both(int count, int me)
{
	for (int i = 0; i < 2; i++) {
		pthread_barrier_wait(&turn);
		if (i == me) {
			calls(count);
		}
	}
	pthread_barrier_wait(&turn);
}

static void *other_thread(void *unused)
{
	(void)unused;
	for (int round = 0; round < 3; round++) {
		calls_of_both(RECORDED, 1);
		calls_of_both(PAUSED, 1);
	}
	return NULL;
}

/* Reports work of a device, annotates, allocates and frees, all of it while paused. */
static void in_pause(int round)
{
	hk_step((uint64_t)round);
	hk_activity(&(struct hk_activity){.name = "work", .start_ns = 1000, .end_ns = 2000});
	hk_range_push("paused");
	hk_mark("paused mark");
	free(realloc(malloc(1000), 2000));
	hk_range_pop();
}

static void fork_child(void)
{
	pid_t child = fork();

	if (child == 0) {
		calls(IN_CHILD);
		hk_pause(0);
		calls(IN_CHILD);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

int main(void)
{
	pthread_t thread;

	hk_pause(0); /* nothing is paused */
	pthread_barrier_init(&turn, NULL, 2);
	if (pthread_create(&thread, NULL, other_thread, NULL) != 0) {
		return 1;
	}
	for (int round = 0; round < 3; round++) {
		hk_range_push("recorded");
		hk_step(100 + (uint64_t)round);
		calls_of_both(RECORDED, 0);
		hk_step(HK_NO_STEP);
		hk_range_pop();
		hk_pause(1);
		hk_pause(1); /* does nothing more */
		in_pause(round);
		calls_of_both(PAUSED, 0);
		if (round == 2) {
			fork_child();
		}
		hk_pause(0);
	}
	pthread_join(thread, NULL);
	puts("done");
	return 0;
}
