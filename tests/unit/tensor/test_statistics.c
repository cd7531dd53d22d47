#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tensor/loops/kernels.h"
#include "tensor/statistics.h"

#define COUNT 30000

static uint64_t words[COUNT];

/* Random bits, without those that MASK has not, and with BITS: so that there is no NaN. */
static void fill_words(uint64_t mask, uint64_t bits)
{
	uint64_t state = 12345;

	for (size_t i = 0; i < COUNT; i++) {
		state = state * 6364136223846793005ull + 1442695040888963407ull;
		uint64_t word = (state >> 33) | state << 31;
		words[i] = (word & mask) | bits;
	}
}

/* The figures that every kind of loops gives, on every machine: NumPy in extended precision differs
 * in the last digits only. */
static void assert_figures(enum hk_dtype dtype, double mean, double l2, double deviation)
{
	uint64_t count = COUNT;
	struct hk_tensor tensor = {words, dtype, 1, &count, NULL};
	struct hk_statistics statistics;

	for (size_t i = 0; hk_kernels_all[i]; i++) {
		if (!hk_kernels_all[i]->usable()) {
			continue;
		}
		assert_int_equal(hk_statistics_take_with(hk_kernels_all[i], &tensor, &statistics),
				 0);
		assert_true(statistics.mean == mean);
		assert_true(statistics.l2 == l2);
		assert_true(statistics.deviation == deviation);
	}
}

static void test_figures_are_the_same_bits_on_every_machine(void **state)
{
	(void)state;
	fill_words(0xbfffbfffbfffbfffull, 0);
	assert_figures(HK_DTYPE_F16, 0x1.dca0ded288ce7p-16, 0x1.3166135674207p+6,
		       0x1.c3626985a5948p-2);
	assert_figures(HK_DTYPE_BF16, -0x1.10c714b64bc71p-10, 0x1.a4fcff57bf6a6p+4,
		       0x1.371b46a2b2991p-3);
	assert_figures(HK_DTYPE_F32, 0x1.3f6a2d08c591bp-11, 0x1.a8b788f1f792cp+4,
		       0x1.39ddebb496d72p-3);
	assert_figures(HK_DTYPE_I64, -0x1.f18145ee6fbc9p+60, 0x1.8d92f3d852ba4p+69,
		       0x1.0a2fb514c4b28p+62);
	assert_figures(HK_DTYPE_F8_E4M3, 0x1.d44a887d6bdbep-2, 0x1.7b65be3b2117bp+13,
		       0x1.18ecc9e71043dp+6);
	fill_words(0x800fffffffffffffull, 0x3ff0000000000000ull);
	assert_figures(HK_DTYPE_F64, 0x1.57dbdde246298p-6, 0x1.08b03677ce764p+8,
		       0x1.872d47ae5315ep+0);
	fill_words(0x000000ffffffffffull, 0x40f0000000000000ull);
	assert_figures(HK_DTYPE_F64, 0x1.0008002b832d5p+16, 0x1.5a73d3e9a3cc1p+23,
		       0x1.27aa73e878d99p+2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_figures_are_the_same_bits_on_every_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
