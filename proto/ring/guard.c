#include "ring/guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Guards are reused and never freed, so that the handler can walk the list without a lock. */
struct hk_guard {
	_Atomic uintptr_t begin; /* 0: unused; set after, cleared before the rest changes */
	_Atomic size_t bytes;
	_Atomic bool poisoned;
	struct hk_guard *next; /* immutable once listed */
};

static pthread_mutex_t guard_lock =
    PTHREAD_MUTEX_INITIALIZER; /* protects: adding, reuse, installation */
static _Atomic(struct hk_guard *) guard_list;
static struct sigaction previous_action;
static _Thread_local bool passing_on;

/* Puts zeros under the address if it is guarded. */
static bool defuse(uintptr_t address)
{
	/* Pairs with the release in hk_guard_add. */
	struct hk_guard *guard = atomic_load_explicit(&guard_list, memory_order_acquire);
	for (; guard; guard = guard->next) {
		uintptr_t begin = atomic_load_explicit(&guard->begin, memory_order_acquire);
		size_t bytes = atomic_load_explicit(&guard->bytes, memory_order_acquire);
		if (!begin || address < begin || address - begin >= bytes) {
			continue;
		}
		/* The faulting thread uses this range, so it cannot be removed meanwhile. */
		void *zeros = mmap((void *)begin, bytes, PROT_READ | PROT_WRITE,
				   MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (zeros == MAP_FAILED) {
			return false;
		}
		atomic_store_explicit(&guard->poisoned, true, memory_order_release);
		return true;
	}
	return false;
}

/* Passes a fault outside all guarded ranges to the previous handler. */
static void pass_on(int number, siginfo_t *info, void *context)
{
	bool fault = info->si_code > 0;
	bool has_handler =
	    previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN;

	/* A later handler may pass faults back to this one: do not pass them round for ever. */
	if (has_handler && !passing_on) {
		passing_on = true;
		if (previous_action.sa_flags & SA_SIGINFO) {
			previous_action.sa_sigaction(number, info, context);
		} else {
			previous_action.sa_handler(number);
		}
		passing_on = false;
	} else if (fault || previous_action.sa_handler != SIG_IGN) {
		/* A fault is raised again on return and then kills; a sent signal must be sent
		 * again. */
		signal(number, SIG_DFL);
		if (!fault) {
			raise(number);
		}
	}
}

static void on_sigbus(int number, siginfo_t *info, void *context)
{
	int saved_errno = errno;

	/* si_code <= 0: sent by a process, not a memory fault. */
	if (info->si_code > 0 && defuse((uintptr_t)info->si_addr)) {
		errno = saved_errno;
		return;
	}
	errno = saved_errno;
	pass_on(number, info, context);
}

static int install(void)
{
	struct sigaction action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	struct sigaction current;

	if (sigaction(SIGBUS, NULL, &current) < 0) {
		return -errno;
	}
	if ((current.sa_flags & SA_SIGINFO) && current.sa_sigaction == on_sigbus) {
		return 0;
	}
	/* The first guard, or another handler was installed over this one since the last guard. */
	previous_action = current;
	sigemptyset(&action.sa_mask);
	return sigaction(SIGBUS, &action, NULL) < 0 ? -errno : 0;
}

static struct hk_guard *unused_guard(void)
{
	struct hk_guard *guard = atomic_load_explicit(&guard_list, memory_order_relaxed);
	while (guard && atomic_load_explicit(&guard->begin, memory_order_relaxed)) {
		guard = guard->next;
	}
	if (guard) {
		return guard;
	}
	guard = calloc(1, sizeof(*guard));
	if (guard) {
		guard->next = atomic_load_explicit(&guard_list, memory_order_relaxed);
		atomic_store_explicit(&guard_list, guard, memory_order_release);
	}
	return guard;
}

int hk_guard_add(void *begin, size_t bytes, struct hk_guard **ret_guard)
{
	pthread_mutex_lock(&guard_lock);
	int error = install();
	struct hk_guard *guard = error < 0 ? NULL : unused_guard();
	if (guard) {
		atomic_store_explicit(&guard->poisoned, false, memory_order_relaxed);
		atomic_store_explicit(&guard->bytes, bytes, memory_order_release);
		atomic_store_explicit(&guard->begin, (uintptr_t)begin, memory_order_release);
		*ret_guard = guard;
	} else if (error == 0) {
		error = -ENOMEM;
	}
	pthread_mutex_unlock(&guard_lock);
	return error;
}

bool hk_guard_poisoned(const struct hk_guard *guard)
{
	return atomic_load_explicit(&guard->poisoned, memory_order_acquire);
}

void hk_guard_remove(struct hk_guard *guard)
{
	if (guard) {
		atomic_store_explicit(&guard->begin, 0, memory_order_release);
	}
}
