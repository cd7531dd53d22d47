/* A primitive of oneDNN made and run, and a product of matrices: onednn_truth DIRECTORY. */
#include <oneapi/dnnl/dnnl.h>

#include "known.h"

enum { SIZE = 16, ROUNDS = 10 };

#define CALL(function, ...) EXPECT(KNOWN(0, function, __VA_ARGS__) == dnnl_success)

static float a[SIZE * SIZE], b[SIZE * SIZE], c[SIZE * SIZE];

/* Copies a to b. */
static void reorder(dnnl_engine_t engine, dnnl_stream_t stream)
{
	dnnl_dims_t dims = {SIZE, SIZE};
	dnnl_memory_desc_t desc;
	dnnl_memory_t from, to;
	dnnl_primitive_desc_t description;
	dnnl_primitive_t primitive;

	EXPECT(dnnl_memory_desc_init_by_tag(&desc, 2, dims, dnnl_f32, dnnl_ab) == dnnl_success);
	CALL(dnnl_memory_create, &from, &desc, engine, a);
	CALL(dnnl_memory_create, &to, &desc, engine, b);
	CALL(dnnl_reorder_primitive_desc_create, &description, &desc, engine, &desc, engine, NULL);
	CALL(dnnl_primitive_create, &primitive, description);
	dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
	for (int i = 0; i < ROUNDS; i++) {
		CALL(dnnl_primitive_execute, primitive, stream, 2, arguments);
	}
	CALL(dnnl_stream_wait, stream);
	EXPECT(b[SIZE] == SIZE);
	CALL(dnnl_primitive_destroy, primitive);
	dnnl_primitive_desc_destroy(description);
	CALL(dnnl_memory_destroy, from);
	CALL(dnnl_memory_destroy, to);
}

int main(int argc, char **argv)
{
	dnnl_engine_t engine;
	dnnl_stream_t stream;

	EXPECT(argc == 2);
	for (int i = 0; i < SIZE * SIZE; i++) {
		a[i] = (float)i;
	}
	CALL(dnnl_engine_create, &engine, dnnl_cpu, 0);
	CALL(dnnl_stream_create, &stream, engine, dnnl_stream_default_flags);
	reorder(engine, stream);
	CALL(dnnl_sgemm, 'N', 'N', SIZE, SIZE, SIZE, 1, a, SIZE, a, SIZE, 0, c, SIZE);
	EXPECT(KNOWN_FAILURE(dnnl_sgemm, 'N', 'N', SIZE, SIZE, SIZE, 1, a, 1, a, 1, 0, c, 1) !=
	       dnnl_success);
	CALL(dnnl_stream_destroy, stream);
	CALL(dnnl_engine_destroy, engine);
	known_write(argv[0], argv[1], 0);
	return 0;
}
