/* Which kernel each function of the host launches: as many as PyTorch has, and more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>

#include "agent/runtime/kernel_names.h"

#define OF_PYTORCH 24114u
#define MANY 90000u
#define STEP 32u /* bytes between two functions */
#define START 0x7f0000000000ull

static const char text[MANY];

static uint64_t function_of(uint32_t i)
{
	return START + (uint64_t)i * STEP;
}

static void add(uint32_t i, const char *name)
{
	while (!hk_kernel_names_add(function_of(i), name)) {
		hk_kernel_names_grow();
	}
}

static void names_are_found_again(void **state)
{
	uint32_t grown = 0;

	(void)state;
	assert_null(hk_kernel_names_find(START));
	for (uint32_t i = 0; i < MANY; i++) {
		while (!hk_kernel_names_add(function_of(i), &text[i])) {
			hk_kernel_names_grow();
			/* The first table has room for all of PyTorch's. */
			grown++;
			assert_true(grown == 1 || i > OF_PYTORCH);
			assert_true(grown < 5);
		}
	}
	for (uint32_t i = 0; i < MANY; i++) {
		assert_ptr_equal(hk_kernel_names_find(function_of(i)), &text[i]);
	}
	assert_null(hk_kernel_names_find(function_of(MANY)));
	assert_null(hk_kernel_names_find(START + 1));
	assert_null(hk_kernel_names_find(0));
}

/* Another object may be at the addresses of an unloaded one. */
static void unloaded_names_are_forgotten(void **state)
{
	(void)state;
	hk_kernel_names_forget((struct hk_span){function_of(1000), function_of(2000)});
	for (uint32_t i = 0; i < 3000; i++) {
		assert_ptr_equal(hk_kernel_names_find(function_of(i)),
				 i < 1000 || i >= 2000 ? &text[i] : NULL);
	}
	add(1500, &text[7]);
	assert_ptr_equal(hk_kernel_names_find(function_of(1500)), &text[7]);
	add(1500, &text[8]);
	assert_ptr_equal(hk_kernel_names_find(function_of(1500)), &text[8]);
}

#define THREADS 4u
#define EACH 20000u

static void *add_some(void *argument)
{
	uint32_t first = MANY + (uint32_t)(uintptr_t)argument;

	for (uint32_t i = 0; i < EACH; i++) {
		add(first + i, &text[i]);
	}
	return NULL;
}

/* All threads register the same functions, each from another one on. */
static void threads_register_at_once(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	for (uintptr_t i = 0; i < THREADS; i++) {
		assert_int_equal(
		    pthread_create(&threads[i], NULL, add_some, (void *)(i * EACH / THREADS)), 0);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
	}
	for (uint32_t i = 0; i < EACH; i++) {
		assert_non_null(hk_kernel_names_find(function_of(MANY + i)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_are_found_again),
	    cmocka_unit_test(unloaded_names_are_forgotten),
	    cmocka_unit_test(threads_register_at_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
