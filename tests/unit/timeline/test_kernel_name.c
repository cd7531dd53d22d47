/* Names of kernels for people. The whole names are those that c++filt writes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "timeline/kernel_name.h"

static void names_are_short_and_whole(void **state)
{
	static const struct {
		const char *name, *shorter, *whole;
	} names[] = {
	    {"_Z9vectorAddPKfS0_Pfi", "vectorAdd",
	     "vectorAdd(float const*, float const*, float*, int)"},
	    {"_Z5scaleIfEvPT_S0_", "scale<float>", "void scale<float>(float*, float)"},
	    {"_ZN2at6native11fill_kernelILi4ENS0_11FillFunctorIfEEEEviT0_",
	     "fill_kernel<4, FillFunctor<float> >",
	     "void at::native::fill_kernel<4, at::native::FillFunctor<float> >(int, "
	     "at::native::FillFunctor<float>)"},
	    {"_ZN12_GLOBAL__N_14copyIN2at4HalfEEEvPT_", "copy<Half>",
	     "void (anonymous namespace)::copy<at::Half>(at::Half*)"},
	    {"_ZN2at4callIZNS_3runEiEUlfE_EEvT_", "call<{lambda(float)#1}>",
	     "void at::call<at::run(int)::{lambda(float)#1}>(at::run(int)::{lambda(float)#1})"},
	    {"triton_poi_fused_add_0", "triton_poi_fused_add_0", "triton_poi_fused_add_0"},
	    {"", "", ""},
	    {"::", "", "::"},
	    {"a)::b>::c", "c", "a)::b>::c"},
	};
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		hk_kernel_name_short(names[i].name, text, sizeof(text));
		assert_string_equal(text, names[i].shorter);
		hk_kernel_name_whole(names[i].name, text, sizeof(text));
		assert_string_equal(text, names[i].whole);
	}
}

/* Each S_ doubles what it stands for: 2^60 letters. */
static void name_without_end_is_cut(void **state)
{
	char name[2048] = "_Z1fI1AS0_", text[64];

	(void)state;
	for (int i = 0; i < 60; i++) {
		strcat(name, "1BIS_S_E");
	}
	strcat(name, "EvT_");
	hk_kernel_name_whole(name, text, sizeof(text));
	assert_true(strlen(text) < sizeof(text));
	hk_kernel_name_short(name, text, sizeof(text));
	assert_true(strlen(text) < sizeof(text));
}

static void label_is_never_empty(void **state)
{
	Hk__Kernel kernel = HK__KERNEL__INIT;
	char text[HK_KERNEL_SHORT_BYTES];

	(void)state;
	hk_kernel_label(NULL, text);
	assert_string_equal(text, "(unknown)");
	kernel.address = 0x12ab;
	hk_kernel_label(&kernel, text);
	assert_string_equal(text, "[0x12ab]");
	kernel.name = (char *)(uintptr_t) "_Z3addv";
	hk_kernel_label(&kernel, text);
	assert_string_equal(text, "add");
}

static void kernel_is_found_by_its_number(void **state)
{
	Hk__Kernel one = HK__KERNEL__INIT, odd = HK__KERNEL__INIT, *list[] = {&one, &odd};
	Hk__Process process = HK__PROCESS__INIT;

	(void)state;
	one.number = 1;
	odd.number = 7;
	process.kernels = list;
	process.n_kernels = 2;
	assert_ptr_equal(hk_kernel_find(&process, 1), &one);
	assert_null(hk_kernel_find(&process, 0));
	assert_null(hk_kernel_find(&process, 2));
	assert_null(hk_kernel_find(&process, 3));
	assert_null(hk_kernel_find(&process, UINT32_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_are_short_and_whole),
	    cmocka_unit_test(name_without_end_is_cut),
	    cmocka_unit_test(label_is_never_empty),
	    cmocka_unit_test(kernel_is_found_by_its_number),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
