/* The objects of this very process, with dlsym and /proc/self/maps as the truth. */
#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agent/object/loaded.h"
#include "agent/object/object.h"

static struct hk_loaded loaded;

static const struct hk_object *object_named(const char *part)
{
	for (size_t i = 0; i < loaded.count; i++) {
		if (strstr(loaded.objects[i].name, part)) {
			return &loaded.objects[i];
		}
	}
	fail_msg("no object %s", part);
	return NULL;
}

static int setup(void **state)
{
	(void)state;
	return hk_loaded_collect(&loaded);
}

static void test_program_comes_first_and_libc_is_there(void **state)
{
	(void)state;
	assert_true(loaded.count >= 3); /* and libc and its loader; an emulator has no vdso */
	assert_string_equal(loaded.objects[0].name, "");
	assert_true(hk_object_executes(&loaded.objects[0], (uintptr_t)setup));
	assert_false(hk_object_executes(&loaded.objects[0], (uintptr_t)&loaded));
	assert_true(hk_object_holds(&loaded.objects[0], (uintptr_t)&loaded, sizeof(loaded)));
	assert_ptr_equal(hk_loaded_code(&loaded, (uintptr_t)setup), &loaded.objects[0]);
	assert_ptr_equal(hk_loaded_holder(&loaded, (uintptr_t)&loaded), &loaded.objects[0]);
	assert_null(hk_loaded_code(&loaded, (uintptr_t)state));
	assert_ptr_not_equal(object_named("libc.so"), &loaded.objects[0]);
}

static void test_every_function_of_libc_is_where_dlsym_says(void **state)
{
	(void)state;
	const struct hk_object *libc = object_named("libc.so");
	unsigned compared = 0;
	for (size_t i = 1; i < libc->symbol_room && i < 3000; i++) {
		const ElfW(Sym) * symbol;
		const char *name = hk_object_symbol(libc, i, &symbol);
		if (!name || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC ||
		    symbol->st_shndx == SHN_UNDEF) {
			continue;
		}
		void *truth = dlsym(RTLD_NEXT, name);
		Dl_info info;
		if (!truth || !dladdr(truth, &info) || (uintptr_t)info.dli_fbase != libc->base) {
			continue; /* only old versions, or another library comes first */
		}
		uintptr_t found = hk_object_function(libc, name);
		if (found) {
			assert_ptr_equal((void *)found, truth);
			compared++;
		}
	}
	assert_true(compared > 1000);
	assert_int_equal(hk_object_function(libc, "no_such_function"), 0);
	assert_int_equal(hk_object_function(libc, ""), 0);
	assert_int_equal(hk_object_function(libc, "environ"), 0); /* data */
	assert_int_equal(hk_object_function(libc, "strlen"), 0);  /* indirect */
}

static void test_versions_and_indirect_functions_are_definitions(void **state)
{
	(void)state;
	const struct hk_object *libc = object_named("libc.so");
	uintptr_t today = (uintptr_t)dlsym(RTLD_NEXT, "fgetpos");
	uintptr_t other = (uintptr_t)dlsym(RTLD_NEXT, "fsetpos");
	assert_true(today && hk_object_defines(libc, "fgetpos", today));
	assert_false(hk_object_defines(libc, "fgetpos", other));
	assert_false(hk_object_defines(libc, "no_such_function", today));
	assert_true(hk_object_defines(libc, "strlen", (uintptr_t)dlsym(RTLD_NEXT, "strlen")));
	/* The program only calls it. */
	assert_false(hk_object_defines(&loaded.objects[0], "fgetpos", today));
#if defined(__x86_64__)
	uintptr_t old = (uintptr_t)dlvsym(RTLD_NEXT, "memcpy", "GLIBC_2.2.5");
	assert_true(old && hk_object_defines(libc, "memcpy", old));
#endif
}

static void test_both_hash_tables_tell_the_same_count(void **state)
{
	(void)state;
	struct hk_object libc = *object_named("libc.so");
	assert_non_null(libc.gnu_hash);
	size_t count = hk_object_symbol_count(&libc);
	assert_true(count > 1000);
	libc.gnu_hash = NULL;
#if !defined(__aarch64__) /* there Debian's libraries have no second table */
	assert_non_null(libc.sysv_hash);
	assert_int_equal(hk_object_symbol_count(&libc), count);
#endif
	libc.sysv_hash = NULL;
	assert_int_equal(hk_object_symbol_count(&libc), 0);
}

static void test_definition_is_the_first_in_load_order(void **state)
{
	(void)state;
	uintptr_t address = 0;
	const struct hk_object *definer = hk_loaded_define(&loaded, "getppid", &address);
	assert_ptr_equal(definer, object_named("libc.so"));
	assert_ptr_equal((void *)address, dlsym(RTLD_DEFAULT, "getppid"));
	assert_null(hk_loaded_define(&loaded, "no_such_function", &address));
}

static void test_relro_agrees_with_the_kernels_maps(void **state)
{
	(void)state;
	const struct hk_object *libc = object_named("libc.so");
	assert_true(libc->relro_end > libc->relro);
	FILE *maps = fopen("/proc/self/maps", "r");
	assert_non_null(maps);
	char line[512];
	bool found = false;
	while (fgets(line, sizeof(line), maps)) {
		unsigned long start, end;
		char mode[5];
		if (sscanf(line, "%lx-%lx %4s", &start, &end, mode) == 3 && start <= libc->relro &&
		    end >= libc->relro_end) {
			assert_string_equal(mode, "r--p");
			found = true;
		}
	}
	fclose(maps);
	assert_true(found);
}

static void test_damaged_dynamic_sections_are_refused(void **state)
{
	(void)state;
	static struct {
		ElfW(Dyn) dynamic[8];
		ElfW(Sym) symbols[4];
		char strings[16];
	} image = {.strings = "x"};
	ElfW(Phdr) phdr[2] = {
	    {.p_type = PT_LOAD, .p_memsz = sizeof(image), .p_flags = PF_R | PF_W},
	    {.p_type = PT_DYNAMIC, .p_memsz = sizeof(image.dynamic)},
	};
	struct dl_phdr_info info = {.dlpi_addr = (uintptr_t)&image,
				    .dlpi_name = "image",
				    .dlpi_phdr = phdr,
				    .dlpi_phnum = 2};
	struct hk_object object;
	image.dynamic[0] = (ElfW(Dyn)){DT_SYMTAB, {offsetof(__typeof__(image), symbols)}};
	image.dynamic[1] = (ElfW(Dyn)){DT_STRTAB, {(uintptr_t)image.strings}};
	image.dynamic[2] = (ElfW(Dyn)){DT_STRSZ, {sizeof(image.strings)}};
	assert_int_equal(hk_object_read(&info, &object), 0); /* relocated or not, both are read */
	assert_ptr_equal(object.symbols, image.symbols);

	image.dynamic[2].d_un.d_val = sizeof(image.strings) + 1;
	assert_int_equal(hk_object_read(&info, &object), -ENOEXEC);
	image.dynamic[2].d_un.d_val = SIZE_MAX;
	assert_int_equal(hk_object_read(&info, &object), -ENOEXEC);
	image.dynamic[2].d_un.d_val = sizeof(image.strings);
	image.strings[sizeof(image.strings) - 1] = 'x';
	assert_int_equal(hk_object_read(&info, &object), -ENOEXEC);
	image.strings[sizeof(image.strings) - 1] = 0;
	image.dynamic[3] = (ElfW(Dyn)){DT_RELA, {(uintptr_t)&loaded}};
	image.dynamic[4] = (ElfW(Dyn)){DT_RELASZ, {240}};
	assert_int_equal(hk_object_read(&info, &object), 0);
	assert_int_equal(object.data.count, 0); /* points elsewhere */
	phdr[1].p_memsz = sizeof(image) + sizeof(ElfW(Dyn));
	assert_int_equal(hk_object_read(&info, &object), -ENOEXEC);
	info.dlpi_phnum = 1;
	assert_int_equal(hk_object_read(&info, &object), -ENOEXEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_program_comes_first_and_libc_is_there),
	    cmocka_unit_test(test_every_function_of_libc_is_where_dlsym_says),
	    cmocka_unit_test(test_versions_and_indirect_functions_are_definitions),
	    cmocka_unit_test(test_both_hash_tables_tell_the_same_count),
	    cmocka_unit_test(test_definition_is_the_first_in_load_order),
	    cmocka_unit_test(test_relro_agrees_with_the_kernels_maps),
	    cmocka_unit_test(test_damaged_dynamic_sections_are_refused),
	};
	return cmocka_run_group_tests(tests, setup, NULL);
}
