/* Versions as the tables of loaded objects give them, with the loader's own answers as the truth.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agent/object/loaded.h"
#include "agent/object/object.h"
#include "agent/object/version.h"

long v0_run(long a);
long v1_run(long a);
long v2_run(long a);
void *opener_handle(void);

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

/* The symbol by which OBJECT asks for target_version. */
static size_t reference_of(const struct hk_object *object)
{
	for (size_t i = 1; i < object->symbol_room; i++) {
		const ElfW(Sym) * symbol;
		const char *name = hk_object_symbol(object, i, &symbol);
		if (name && strcmp(name, "target_version") == 0) {
			return i;
		}
	}
	fail_msg("%s has no reference", object->name);
	return 0;
}

static int setup(void **state)
{
	(void)state;
	return hk_loaded_collect(&loaded);
}

static void test_references_say_what_they_ask_for(void **state)
{
	(void)state;
	static const char *const names[] = {NULL, "V1", "V2"};
	for (int i = 0; i <= 2; i++) {
		char name[32];
		snprintf(name, sizeof(name), "unit_version_v%d", i);
		const struct hk_object *user = object_named(name);
		struct hk_version version = {"x", true};
		hk_version_get(user, reference_of(user), &version);
		if (names[i]) {
			assert_non_null(version.name);
			assert_string_equal(version.name, names[i]);
		} else {
			assert_null(version.name);
		}
		assert_false(version.hidden);
		hk_version_get(user, user->version_room, &version);
		assert_null(version.name);
	}
}

/* The first call of each goes through the loader's stub, so what runs is its choice. */
static void test_every_user_gets_what_the_loader_gives_it(void **state)
{
	(void)state;
	long (*const runs[])(long) = {v0_run, v1_run, v2_run};
	const struct hk_object *both = object_named("unit_version_both");
	for (int i = 0; i <= 2; i++) {
		char name[32];
		snprintf(name, sizeof(name), "unit_version_v%d", i);
		const struct hk_object *user = object_named(name);
		uintptr_t address = 0;
		const struct hk_object *definer = hk_loaded_resolve(
		    &loaded, user, &user->symbols[reference_of(user)], "target_version", &address);
		assert_ptr_equal(definer, both);
		long (*found)(long) = (long (*)(long))address;
		assert_int_equal(found(10), runs[i](10));
	}
	assert_int_not_equal(v1_run(10), v2_run(10));
}

static void test_every_version_in_libc_is_where_dlvsym_says(void **state)
{
	(void)state;
	const struct hk_object *libc = object_named("libc.so");
	void *handle = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	assert_non_null(handle);
	unsigned compared = 0, old = 0;
	for (size_t i = 1; i < libc->version_room; i++) {
		const ElfW(Sym) * symbol;
		struct hk_version version;
		const char *name = hk_object_symbol(libc, i, &symbol);
		hk_version_get(libc, i, &version);
		if (!name || !version.name || symbol->st_shndx == SHN_UNDEF ||
		    ELF64_ST_TYPE(symbol->st_info) != STT_FUNC) {
			continue;
		}
		const ElfW(Sym) *match = hk_version_match(libc, name, &version);
		assert_non_null(match);
		assert_ptr_equal((void *)hk_object_code(libc, match),
				 dlvsym(handle, name, version.name));
		compared++;
		old += (libc->versions[i] & 0x8000) != 0;
	}
	dlclose(handle);
	assert_true(compared > 1000);
	assert_true(old > 50);
}

static void test_what_has_no_version_satisfies_any_but_hidden(void **state)
{
	(void)state;
	struct hk_version version = {"V9", false};
	assert_null(
	    hk_version_match(object_named("unit_version_both"), "target_version", &version));
	assert_null(hk_version_match(object_named("libc.so"), "getppid", &version));
	const struct hk_object *user = object_named("unit_version_v2");
	assert_non_null(hk_version_match(user, "v2_run", &version));
	version.hidden = true;
	assert_null(hk_version_match(user, "v2_run", &version));
	assert_null(hk_version_match(user, "target_version", &version)); /* undefined there */
	version = (struct hk_version){NULL, false};
	assert_non_null(hk_version_match(user, "v2_run", &version));
	/* In libc all but the oldest version need a name, unless there is one only. */
	assert_non_null(hk_version_match(object_named("libc.so"), "getppid", &version));
	assert_non_null(hk_version_match(object_named("libc.so"), "memfd_create", &version));
}

/* An indirect function that no sanitizer replaces. */
#if defined(__aarch64__)
#define INDIRECT "memchr"
#else
#define INDIRECT "rawmemchr"
#endif

static void test_the_loader_is_asked_where_it_may_choose(void **state)
{
	(void)state;
	const struct hk_object *libc = object_named("libc.so");
	const struct hk_object *program = &loaded.objects[0];
	ElfW(Sym) reference = {0};
	uintptr_t address = 0;
	struct hk_object caller = *program;
	caller.symbols = &reference; /* a reference without a version */
	caller.versions = NULL;
	caller.version_room = 0;
	struct hk_object kept = loaded.objects[0];
	loaded.objects[0] = caller;
	assert_ptr_equal(hk_loaded_resolve(&loaded, program, &reference, "getppid", &address),
			 libc);
	assert_ptr_equal((void *)address, dlsym(RTLD_DEFAULT, "getppid"));
	/* indirect, data, undefined, and only in a library that cannot be seen */
	assert_null(hk_loaded_resolve(&loaded, program, &reference, INDIRECT, &address));
	assert_null(hk_loaded_resolve(&loaded, program, &reference, "environ", &address));
	assert_null(hk_loaded_resolve(&loaded, program, &reference, "no_such", &address));
	assert_null(hk_loaded_resolve(&loaded, program, &reference, "target_side", &address));
	reference.st_other = STV_PROTECTED;
	assert_null(hk_loaded_resolve(&loaded, program, &reference, "getppid", &address));
	loaded.objects[0] = kept;
}

static void test_what_a_constructor_opened_is_not_initial(void **state)
{
	(void)state;
	assert_non_null(opener_handle());
	const struct hk_object *opened = object_named("unit_version_opened");
	assert_int_equal(loaded.initial, (size_t)(opened - loaded.objects));
	assert_true(object_named("libc.so") < opened);
	assert_true(object_named("unit_version_both") < opened);
	assert_true(
	    hk_object_needs(object_named("unit_version_v1"), object_named("unit_version_both")));
	assert_false(
	    hk_object_needs(object_named("unit_version_v0"), object_named("unit_version_both")));
}

/* An object whose only segment is this image. */
static struct image {
	ElfW(Half) versions[2];
	ElfW(Verneed) need;
	ElfW(Vernaux) auxiliary;
	ElfW(Verdef) definition;
	ElfW(Verdaux) name;
	char strings[4];
} image;

static const char *version_of_image(void)
{
	ElfW(Phdr) phdr = {.p_type = PT_LOAD, .p_memsz = sizeof(image), .p_flags = PF_R};
	struct hk_object object = {
	    .base = (uintptr_t)&image,
	    .phdr = &phdr,
	    .phdr_count = 1,
	    .strings = image.strings,
	    .string_bytes = sizeof(image.strings),
	    .versions = image.versions,
	    .version_room = 2,
	    .version_needs = (uintptr_t)&image.need,
	    .version_definitions = (uintptr_t)&image.definition,
	};
	struct hk_version version;
	hk_version_get(&object, 1, &version);
	return version.name;
}

static void repair(void)
{
	image = (struct image){
	    .versions = {0, 5},
	    .need = {.vn_aux = sizeof(ElfW(Verneed))},
	    .auxiliary = {.vna_other = 5, .vna_name = 1},
	    .definition = {.vd_ndx = 6, .vd_aux = sizeof(ElfW(Verdef))},
	    .name = {.vda_name = 2},
	    .strings = "\0ab",
	};
}

static void test_damaged_tables_name_nothing(void **state)
{
	(void)state;
	repair();
	assert_string_equal(version_of_image(), "ab");
	image.auxiliary.vna_name = sizeof(image.strings);
	assert_null(version_of_image());
	repair();
	image.need.vn_aux = UINT32_MAX;
	assert_null(version_of_image());
	repair();
	image.need.vn_aux = sizeof(image) - offsetof(struct image, need) - 1;
	assert_null(version_of_image());
	repair();
	image.versions[1] = 7; /* the chains end before it */
	image.auxiliary.vna_next = UINT32_MAX;
	image.need.vn_next = UINT32_MAX;
	image.definition.vd_next = 1;
	assert_null(version_of_image());
	repair();
	image.versions[1] = 6;
	assert_string_equal(version_of_image(), "b");
	image.definition.vd_flags = VER_FLG_BASE;
	assert_null(version_of_image());
	image.definition.vd_flags = 0;
	image.definition.vd_aux = sizeof(image);
	assert_null(version_of_image());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_references_say_what_they_ask_for),
	    cmocka_unit_test(test_every_user_gets_what_the_loader_gives_it),
	    cmocka_unit_test(test_every_version_in_libc_is_where_dlvsym_says),
	    cmocka_unit_test(test_what_has_no_version_satisfies_any_but_hidden),
	    cmocka_unit_test(test_the_loader_is_asked_where_it_may_choose),
	    cmocka_unit_test(test_what_a_constructor_opened_is_not_initial),
	    cmocka_unit_test(test_damaged_tables_name_nothing),
	};
	return cmocka_run_group_tests(tests, setup, NULL);
}
