/* The shipped files: the compiled tables are what the files say, and the files say what the calls
 * really are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hooks/language/parser.h"
#include "hooks/shipped.h"

/* All hooks put together. */
static const struct hk_hook *hooks(void)
{
	static struct hk_hook *list;

	if (list == NULL) {
		list = calloc(hk_shipped_hook_count, sizeof(*list));
		assert_non_null(list);
		for (uint32_t i = 0; i < hk_shipped_hook_count; i++) {
			hk_shipped_get(i, &list[i]);
		}
	}
	return list;
}

static const struct hk_shipped_file *find_file(const char *name)
{
	for (unsigned i = 0; i < hk_shipped_file_count; i++) {
		if (strcmp(hk_shipped_name(i), name) == 0) {
			return &hk_shipped_file_list[i];
		}
	}
	fail_msg("no file %s", name);
	return NULL;
}

static const struct hk_hook *find_hook(const char *file_name, const char *symbol)
{
	const struct hk_shipped_file *file = find_file(file_name);

	for (uint32_t i = 0; i < file->count; i++) {
		if (strcmp(hooks()[file->first + i].symbol, symbol) == 0) {
			return &hooks()[file->first + i];
		}
	}
	fail_msg("no hook %s", symbol);
	return NULL;
}

static void assert_same_argument(const struct hk_hook_arg *a, const struct hk_hook_arg *b)
{
	assert_string_equal(a->name, b->name);
	assert_int_equal(a->type, b->type);
	assert_int_equal(a->reference, b->reference);
	assert_int_equal(a->place, b->place);
	assert_int_equal(a->index, b->index);
	assert_int_equal(a->words, b->words);
}

static void assert_same(const struct hk_hook *a, const struct hk_hook *b)
{
	assert_string_equal(a->library, b->library);
	assert_string_equal(a->symbol, b->symbol);
	assert_string_equal(a->domain, b->domain);
	/* gloo's option structs are no stable interface. */
	bool trusted = strcmp(b->domain, "gloo") != 0;
	assert_int_equal(a->flags, b->flags | (trusted ? HK_HOOK_TRUSTED : 0));
	/* From level to line there is no hole. */
	assert_memory_equal(&a->level, &b->level,
			    offsetof(struct hk_hook, line) - offsetof(struct hk_hook, level));
	assert_int_equal(a->line, b->line);
	for (unsigned i = 0; i < a->arg_count; i++) {
		assert_same_argument(&a->args[i], &b->args[i]);
	}
	for (unsigned v = 0; v < HK_HOOK_VALUES; v++) {
		assert_int_equal(a->values[v].key, b->values[v].key);
		assert_int_equal(a->values[v].factor_count, b->values[v].factor_count);
		assert_memory_equal(a->values[v].factors, b->values[v].factors,
				    sizeof(a->values[v].factors));
	}
}

static void test_tables_are_what_the_files_say(void **state)
{
	static char memory[HK_HOOK_ARENA_BYTES];
	static char text[1 << 20];

	(void)state;
	assert_int_equal(hk_shipped_file_count, 26);
	for (unsigned i = 0; i < hk_shipped_file_count; i++) {
		const struct hk_shipped_file *shipped = &hk_shipped_file_list[i];
		struct hk_hook_arena arena;
		struct hk_hook_file file;
		char path[512];

		snprintf(path, sizeof(path), HK_SOURCE_DIR "/agent/hooks/%s.hooks",
			 hk_shipped_name(i));
		FILE *stream = fopen(path, "re");
		assert_non_null(stream);
		size_t length = fread(text, 1, sizeof(text), stream);
		fclose(stream);
		hk_hook_arena_init(&arena, memory, sizeof(memory));
		uint32_t bad = hk_hooks_parse(&arena, "x", text, length, NULL, &file);
		assert_int_equal(bad, 0);
		assert_int_equal(shipped->count, file.hook_count);
		for (uint32_t k = 0; k < file.hook_count; k++) {
			assert_same(&hooks()[shipped->first + k], &file.hooks[k]);
			assert_int_equal(hk_shipped_file_of(shipped->first + k), i);
		}
	}
}

/* Places as the calling convention gives them, one word per argument, and the stack words: written
 * by hand. */
static const struct {
	const char *file;
	const char *symbol;
	const char *places;
	unsigned stack_words;
} placements[] = {
#if defined(__aarch64__)
    {"libc", "malloc", "r0", 0},
    {"libc", "mmap", "r0 r1 r2 r3 r4 r5", 0},
    {"libc", "__recvfrom_chk", "r0 r1 r2 r3 r4 r5 r6", 0},
    {"mpi", "MPI_Send", "r0 r1 r2 r3 r4 r5", 0},
    {"mpi", "mpi_send_", "r0 r1 r2 r3 r4 r5 r6", 0},
    {"mpi", "MPI_Sendrecv", "r0 r1 r2 r3 r4 r5 r6 r7 s0 s1 s2 s3", 4},
    {"mpi", "mpi_sendrecv_f08_", "r0 r1 r2 r3 r4 r5 r6 r7 s0 s1 s2 s3 s4", 5},
    {"mpi", "mpi_file_open_", "r0 r1 r2 r3 r4 r5", 0},
    {"mpi", "mpi_comm_spawn_", "r0 r1 r2 r3 r4 r5 r6 r7 s0", 3},
    {"blas", "dgemm_", "r0 r1 r2 r3 r4 r5 r6 r7 s0 s1 s2 s3 s4", 7},
    {"blas", "dtrsm_", "r0 r1 r2 r3 r4 r5 r6 r7 s0 s1 s2", 7},
    {"blas", "cblas_dgemm", "r0 r1 r2 r3 r4 r5 x0 r6 r7 s0 s1 x1 s2 s3", 4},
    {"blas", "cblas_zgemm", "r0 r1 r2 r3 r4 r5 r6 r7 s0 s1 s2 s3 s4 s5", 6},
    {"blas", "cblas_daxpy", "r0 x0 r1 r2 r3 r4", 0},
    {"blas", "cblas_zherk", "r0 r1 r2 r3 r4 x0 r5 r6 x1 r7 s0", 1},
    {"scalapack", "pdgemm_", "r0 r1 r2 r3 r4 r5 r6 r7 s0 s1 s2 s3 s4 s5 s6 s7 s8 s9 s10", 13},
    {"fftw", "fftw_plan_many_dft", "r0 r1 r2 r3 r4 r5 r6 r7 s0 s1 s2 s3 s4", 5},
    {"cuda", "cudaMalloc3D", "r0 r1", 0},
    {"cuda", "cudaLaunchKernel", "r0 r1 r3 r5 r6 r7", 0},
    {"cuda", "cudaMemset3DAsync_ptsz", "r0 r1 r2 r3", 0},
    {"cuda", "cuLaunchKernel", "r0 r1 r2 r3 r4 r5 r6 r7 s0 s1 s2", 3},
    {"cuda", "cuIpcOpenMemHandle_v2", "r0 r1 r2", 0},
    {"nccl", "ncclCommInitRank", "r0 r1 r2 r3", 0},
    {"nccl", "ncclReduce", "r0 r1 r2 r3 r4 r5 r6 r7", 0},
#else
    {"libc", "malloc", "r0", 0},
    {"libc", "mmap", "r0 r1 r2 r3 r4 r5", 0},
    {"libc", "__recvfrom_chk", "r0 r1 r2 r3 r4 r5 s0", 1},
    {"mpi", "MPI_Init", "r0 r1", 0},
    {"mpi", "mpi_init_", "r0", 0},
    {"mpi", "MPI_Send", "r0 r1 r2 r3 r4 r5", 0},
    {"mpi", "mpi_send_", "r0 r1 r2 r3 r4 r5 s0", 1},
    {"mpi", "MPI_Sendrecv", "r0 r1 r2 r3 r4 r5 s0 s1 s2 s3 s4 s5", 6},
    {"mpi", "mpi_sendrecv_f08_", "r0 r1 r2 r3 r4 r5 s0 s1 s2 s3 s4 s5 s6", 7},
    {"mpi", "MPI_Rget_accumulate", "r0 r1 r2 r3 r4 r5 s0 s1 s2 s3 s4 s5 s6", 7},
    {"mpi", "MPI_File_open", "r0 r1 r2 r3 r4", 0},
    {"mpi", "mpi_file_open_", "r0 r1 r2 r3 r4 r5", 1},
    {"mpi", "mpi_comm_spawn_", "r0 r1 r2 r3 r4 r5 s0 s1 s2", 5},
    {"blas", "dgemm_", "r0 r1 r2 r3 r4 r5 s0 s1 s2 s3 s4 s5 s6", 9},
    {"blas", "dtrsm_", "r0 r1 r2 r3 r4 r5 s0 s1 s2 s3 s4", 9},
    {"blas", "cblas_dgemm", "r0 r1 r2 r3 r4 r5 x0 s0 s1 s2 s3 x1 s4 s5", 6},
    {"blas", "cblas_zgemm", "r0 r1 r2 r3 r4 r5 s0 s1 s2 s3 s4 s5 s6 s7", 8},
    {"blas", "cblas_daxpy", "r0 x0 r1 r2 r3 r4", 0},
    {"blas", "cblas_zherk", "r0 r1 r2 r3 r4 x0 r5 s0 x1 s1 s2", 3},
    {"scalapack", "pdgemm_", "r0 r1 r2 r3 r4 r5 s0 s1 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11 s12", 15},
    {"fftw", "fftw_plan_many_dft", "r0 r1 r2 r3 r4 r5 s0 s1 s2 s3 s4 s5 s6", 7},
    {"cuda", "cudaMalloc3D", "r0 s0", 3},
    {"cuda", "cudaLaunchKernel", "r0 r1 r3 r5 s0 s1", 2},
    {"cuda", "__cudaLaunchKernel_ptsz", "r0 r1 r3 r5 s0 s1", 2},
    {"cuda", "cudaMemset3DAsync_ptsz", "s0 r0 s4 r1", 7},
    {"cuda", "cuLaunchKernel", "r0 r1 r2 r3 r4 r5 s0 s1 s2 s3 s4", 5},
    {"cuda", "cuIpcOpenMemHandle_v2", "r0 s0 r1", 8},
    {"nccl", "ncclCommInitRank", "r0 r1 s0 r2", 16},
    {"nccl", "ncclReduce", "r0 r1 r2 r3 r4 r5 s0 s1", 2},
#endif
};

static void test_places(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(placements) / sizeof(placements[0]); i++) {
		const struct hk_hook *hook = find_hook(placements[i].file, placements[i].symbol);
		char places[256] = "";

		for (unsigned k = 0; k < hook->arg_count; k++) {
			size_t length = strlen(places);
			snprintf(places + length, sizeof(places) - length, "%s%c%u",
				 k != 0 ? " " : "", "rxs"[hook->args[k].place],
				 hook -> args[k].index);
		}
		assert_string_equal(places, placements[i].places);
		assert_int_equal(hook->stack_words, placements[i].stack_words);
	}
}

/* The arguments of each symbol's `bytes`, in order; "-": none. Factors named by what they do. */
static const struct {
	const char *symbol;
	const char *bytes;
} bytes[] = {
    {"MPI_Send", "count*sizeof(type)"},
    {"mpi_isend_f08_", "count*sizeof(type)"},
    {"MPI_Send_init", "-"},
    {"MPI_Start", "-"},
    {"MPI_Recv", "-"},
    {"MPI_Irecv", "-"},
    {"MPI_Waitall", "-"},
    {"MPI_Barrier", "-"},
    {"MPI_Sendrecv", "sendcount*sizeof(sendtype)"},
    {"MPI_Bcast", "isroot(root)*count*sizeof(type)"},
    {"mpi_ibcast_", "isroot(root)*count*sizeof(type)"},
    {"MPI_Scatterv", "isroot(root)*sum(sendcounts)*sizeof(sendtype)"},
    {"MPI_Gatherv", "sent(sendbuf)*sendcount*sizeof(sendtype)"},
    {"MPI_Allgatherv", "sent(sendbuf)*sendcount*sizeof(sendtype)"},
    {"MPI_Alltoallv", "sent(sendbuf)*sum(sendcounts)*sizeof(sendtype)"},
    {"MPI_Alltoallw", "sent(sendbuf)*sum(sendcounts,sendtypes)"},
    {"MPI_Allreduce", "count*sizeof(type)"},
    {"MPI_Reduce", "count*sizeof(type)"},
    {"MPI_Reduce_scatter", "sum(recvcounts)*sizeof(type)"},
    {"MPI_Put", "origin_count*sizeof(origin_type)"},
    {"MPI_Get", "-"},
    {"MPI_File_write_at", "count*sizeof(type)"},
    {"MPI_File_read_at", "-"},
};

static void append_factor(char *text, size_t size, const struct hk_hook *hook,
			  const struct hk_factor *factor)
{
	static const char *const words[] = {
	    [HK_FACTOR_ARG] = "",	    [HK_FACTOR_TYPE_SIZE] = "sizeof",
	    [HK_FACTOR_SUM] = "sum",	    [HK_FACTOR_SUM_TYPED] = "sum",
	    [HK_FACTOR_IS_ROOT] = "isroot", [HK_FACTOR_SENT] = "sent",
	};
	size_t length = strlen(text);
	bool plain = factor->kind == HK_FACTOR_ARG;

	snprintf(text + length, size - length, "%s%s%s%s%s%s%s", length != 0 ? "*" : "",
		 words[factor->kind], plain ? "" : "(", hook->args[factor->arg].name,
		 factor->kind == HK_FACTOR_SUM_TYPED ? "," : "",
		 factor->kind == HK_FACTOR_SUM_TYPED ? hook->args[factor->arg3].name : "",
		 plain ? "" : ")");
}

static void test_bytes_of_mpi(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		const struct hk_hook *hook = find_hook("mpi", bytes[i].symbol);
		char text[128] = "";

		for (unsigned v = 0; v < hook->value_count; v++) {
			const struct hk_value *value = &hook->values[v];
			for (unsigned f = 0; f < value->factor_count; f++) {
				if (value->key == HK_KEY_BYTES) {
					append_factor(text, sizeof(text), hook, &value->factors[f]);
				}
			}
		}
		assert_string_equal(text[0] != '\0' ? text : "-", bytes[i].bytes);
	}
}

static void test_only_five_collectives_tell_the_time(void **state)
{
	static const char *const names[] = {"MPI_Barrier", "MPI_Allgather", "MPI_Alltoall",
					    "MPI_Allreduce", "MPI_Reduce_scatter_block"};
	unsigned marked = 0;

	(void)state;
	for (uint32_t i = 0; i < hk_shipped_hook_count; i++) {
		marked += (hooks()[i].flags & HK_HOOK_SYNC_ALL) != 0;
	}
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_true((find_hook("mpi", names[i])->flags & HK_HOOK_SYNC_ALL) != 0);
	}
	assert_int_equal(marked, 3 * 5); /* C, mpif.h, mpi_f08 */
}

static void test_auto_takes_blocking_io_and_barriers_of_libc_only(void **state)
{
	const struct hk_shipped_file *libc = find_file("libc");

	(void)state;
	for (uint32_t i = 0; i < libc->count; i++) {
		const struct hk_hook *hook = &hooks()[libc->first + i];
		bool taken = strcmp(hook->domain, "io") == 0 || strcmp(hook->domain, "wait") == 0 ||
			     strcmp(hook->symbol, "pthread_barrier_wait") == 0;
		assert_int_equal(hook->auto_level, taken ? HK_LEVEL_TIME : HK_LEVEL_OFF);
	}
	assert_int_equal(find_hook("mpi", "MPI_Send")->auto_level, HK_LEVEL_DEFAULT);
	assert_int_equal(find_hook("blas", "dgemm_")->auto_level, HK_LEVEL_DEFAULT);
	assert_int_equal(find_hook("cuda", "cudaMalloc")->auto_level, HK_LEVEL_DEFAULT);
	assert_int_equal(find_hook("cuda", "cudaGetDevice")->auto_level, HK_LEVEL_COUNT);
	assert_int_equal(find_hook("nccl", "ncclAllReduce")->auto_level, HK_LEVEL_DEFAULT);
	assert_true((find_hook("deny", "setjmp")->flags & HK_HOOK_DENY) != 0);
}

static void test_what_the_ledger_reads(void **state)
{
	const struct hk_hook *aligned = find_hook("libc", "posix_memalign");
	const struct hk_hook *remap = find_hook("libc", "mremap");

	(void)state;
	assert_int_equal(aligned->meaning, HK_MEANING_ALLOC);
	assert_int_equal(aligned->values[0].key, HK_KEY_POINTER);
	assert_int_equal(aligned->values[0].factors[0].kind, HK_FACTOR_POINTEE);
	assert_int_equal(aligned->values[0].factors[0].arg, 0);
	assert_int_equal(aligned->values[1].factors[0].arg, 2);
	assert_int_equal(remap->meaning, HK_MEANING_REMAP);
	assert_int_equal(remap->value_count, 4);
	assert_int_equal(remap->error, HK_ERROR_FAILED);
	assert_true((remap->flags & HK_HOOK_OPEN_FREE) != 0);
	assert_true((find_hook("libc", "free")->flags & HK_HOOK_OPEN_FREE) != 0);
	assert_true((find_hook("libc", "malloc")->flags & HK_HOOK_OPEN_FREE) == 0);
}

static void test_memory_of_devices(void **state)
{
	static const struct {
		const char *symbol;
		uint8_t meaning, memory, device; /* device: the form of its expression */
	} wanted[] = {
	    {"cudaMalloc", HK_MEANING_ALLOC, HK_MEMORY_DEVICE, HK_FACTOR_DEVICE},
	    {"cudaMallocAsync_ptsz", HK_MEANING_ALLOC, HK_MEMORY_DEVICE, HK_FACTOR_STREAM_DEVICE},
	    {"cudaMallocManaged", HK_MEANING_ALLOC, HK_MEMORY_MANAGED, HK_FACTOR_DEVICE},
	    {"cudaMallocHost", HK_MEANING_ALLOC, HK_MEMORY_PINNED, 0},
	    {"cudaHostRegister", HK_MEANING_ALLOC, HK_MEMORY_PINNED, 0},
	    {"cudaFree", HK_MEANING_FREE, HK_MEMORY_DEVICE, 0},
	    {"cudaFreeHost", HK_MEANING_FREE, HK_MEMORY_PINNED, 0},
	    {"cuMemAlloc_v2", HK_MEANING_ALLOC, HK_MEMORY_DEVICE, HK_FACTOR_DEVICE},
	    {"cuMemCreate", HK_MEANING_ALLOC, HK_MEMORY_DEVICE, HK_FACTOR_INT},
	    {"cuMemFree_v2", HK_MEANING_FREE, HK_MEMORY_DEVICE, 0},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		const struct hk_hook *hook = find_hook("cuda", wanted[i].symbol);
		uint8_t device = 0;
		for (unsigned v = 0; v < hook->value_count; v++) {
			if (hook->values[v].key == HK_KEY_DEVICE) {
				device = hook->values[v].factors[0].kind;
			}
		}
		assert_int_equal(hook->meaning, wanted[i].meaning);
		assert_int_equal(hk_hook_memory(hook->flags), wanted[i].memory);
		assert_int_equal(device, wanted[i].device);
		assert_int_equal(hook->error, HK_ERROR_NONZERO);
		assert_int_equal(hook->pending, 600);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_tables_are_what_the_files_say),
	    cmocka_unit_test(test_places),
	    cmocka_unit_test(test_bytes_of_mpi),
	    cmocka_unit_test(test_only_five_collectives_tell_the_time),
	    cmocka_unit_test(test_auto_takes_blocking_io_and_barriers_of_libc_only),
	    cmocka_unit_test(test_what_the_ledger_reads),
	    cmocka_unit_test(test_memory_of_devices),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
