/* Two functions in two versions each. */
#include <pthread.h>

#include "target.h"

long version_old(long a);
long version_new(long a);
long meet_old(int release);
long meet_new(int release);

__asm__(".symver version_old, target_version@V1");
__asm__(".symver version_new, target_version@@V2");
__asm__(".symver meet_old, target_meet@V1");
__asm__(".symver meet_new, target_meet@@V2");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long present;

long version_old(long a)
{
	return a + 1;
}

long version_new(long a)
{
	return a + 2;
}

long meet_old(int release)
{
	return release;
}

long meet_new(int release)
{
	pthread_mutex_lock(&lock);
	present++;
	pthread_cond_broadcast(&changed);
	while (!release && present < 2) {
		pthread_cond_wait(&changed, &lock);
	}
	long result = present;
	pthread_mutex_unlock(&lock);
	return result;
}

void versions_await(void)
{
	pthread_mutex_lock(&lock);
	while (!present) {
		pthread_cond_wait(&changed, &lock);
	}
	pthread_mutex_unlock(&lock);
}
