#include "cli/compare/array/pickle.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/compare/array/pickle_machine.h"

#define STORAGES_MAX 4u /* one tensor has one; wrappers may carry others */

struct storage {
	enum hk_dtype dtype; /* NONE: its tensor says it */
	struct hk_pickle_text key;
};

struct parser {
	struct storage storages[STORAGES_MAX];
	uint32_t storage_count;
	struct hk_pickled_tensor *tensor;
	bool has_tensor;
	char *reason;
};

/* The classes of typed storages. */
static const struct {
	const char *name;
	enum hk_dtype dtype;
} storage_classes[] = {
    {"FloatStorage", HK_DTYPE_F32},    {"DoubleStorage", HK_DTYPE_F64},
    {"HalfStorage", HK_DTYPE_F16},     {"BFloat16Storage", HK_DTYPE_BF16},
    {"LongStorage", HK_DTYPE_I64},     {"IntStorage", HK_DTYPE_I32},
    {"ShortStorage", HK_DTYPE_I16},    {"CharStorage", HK_DTYPE_I8},
    {"ByteStorage", HK_DTYPE_U8},      {"BoolStorage", HK_DTYPE_BOOL},
    {"UntypedStorage", HK_DTYPE_NONE},
};

static bool refuse(struct parser *parser, const char *what, const struct hk_pickle_text *text)
{
	int length = text->length < 64 ? (int)text->length : 64;

	hk_array_refuse(parser->reason, "%s \"%.*s\" is not supported", what, length, text->text);
	return false;
}

static bool storage_class(struct parser *parser, const struct hk_pickle_value *class,
			  enum hk_dtype *ret_dtype)
{
	for (size_t i = 0; i < sizeof(storage_classes) / sizeof(*storage_classes); i++) {
		if (hk_pickle_is(&class->global.name, storage_classes[i].name)) {
			*ret_dtype = storage_classes[i].dtype;
			return true;
		}
	}
	return refuse(parser, "a tensor of", &class->global.name);
}

/* ("storage", class, key, location, number of elements) */
static bool persistent(struct hk_pickle_machine *machine, const struct hk_pickle_value *id,
		       struct hk_pickle_value *result)
{
	struct parser *parser = machine->context;

	if (id->kind != HK_PICKLE_TUPLE || id->tuple.count < 5 ||
	    parser->storage_count == STORAGES_MAX) {
		return false;
	}
	const struct hk_pickle_value *class = hk_pickle_item(machine, id, 1),
				     *key = hk_pickle_item(machine, id, 2);
	struct storage *storage = &parser->storages[parser->storage_count];
	if (class->kind != HK_PICKLE_GLOBAL || key->kind != HK_PICKLE_TEXT ||
	    !storage_class(parser, class, &storage->dtype)) {
		return false;
	}
	storage->key = key->text;
	*result =
	    (struct hk_pickle_value){.kind = HK_PICKLE_STORAGE, .storage = parser->storage_count++};
	return true;
}

/* Copies a tuple of numbers that are not negative. */
static bool numbers(const struct hk_pickle_machine *machine, const struct hk_pickle_value *tuple,
		    int64_t list[HK_TENSOR_DIMENSIONS])
{
	if (!tuple || tuple->kind != HK_PICKLE_TUPLE || tuple->tuple.count > HK_TENSOR_DIMENSIONS) {
		return false;
	}
	for (uint32_t i = 0; i < tuple->tuple.count; i++) {
		const struct hk_pickle_value *item = hk_pickle_item(machine, tuple, i);
		if (item->kind != HK_PICKLE_INT || item->integer < 0) {
			return false;
		}
		list[i] = item->integer;
	}
	return true;
}

/* The dtype of an untyped storage's tensor: torch.float8_e5m2 and others. */
static bool tensor_dtype(struct parser *parser, const struct hk_pickle_value *dtype)
{
	char name[32];

	if (!dtype || dtype->kind != HK_PICKLE_GLOBAL ||
	    dtype->global.name.length >= sizeof(name)) {
		return false;
	}
	memcpy(name, dtype->global.name.text, dtype->global.name.length);
	name[dtype->global.name.length] = 0;
	parser->tensor->dtype = hk_dtype_parse(name);
	return parser->tensor->dtype != HK_DTYPE_NONE ||
	       refuse(parser, "a tensor of", &dtype->global.name);
}

/* (storage, offset, shape, strides, requires_grad, hooks [, dtype]) */
static bool rebuild_tensor(struct hk_pickle_machine *machine,
			   const struct hk_pickle_value *arguments, struct hk_pickle_value *result)
{
	struct parser *parser = machine->context;
	struct hk_pickled_tensor *tensor = parser->tensor;
	const struct hk_pickle_value *storage = hk_pickle_item(machine, arguments, 0),
				     *offset = hk_pickle_item(machine, arguments, 1),
				     *shape = hk_pickle_item(machine, arguments, 2),
				     *strides = hk_pickle_item(machine, arguments, 3);
	int64_t list[HK_TENSOR_DIMENSIONS];

	if (parser->has_tensor || !storage || storage->kind != HK_PICKLE_STORAGE || !offset ||
	    offset->kind != HK_PICKLE_INT || offset->integer < 0 ||
	    !numbers(machine, shape, list) || !numbers(machine, strides, tensor->strides) ||
	    shape->tuple.count != strides->tuple.count) {
		return false;
	}
	const struct storage *from = &parser->storages[storage->storage];
	tensor->dtype = from->dtype;
	tensor->key = from->key.text;
	tensor->key_bytes = from->key.length;
	tensor->offset = (uint64_t)offset->integer;
	tensor->dimensions = shape->tuple.count;
	for (uint32_t i = 0; i < tensor->dimensions; i++) {
		tensor->shape[i] = (uint64_t)list[i];
	}
	parser->has_tensor = true;
	result->kind = HK_PICKLE_TENSOR;
	return tensor->dtype != HK_DTYPE_NONE ||
	       tensor_dtype(parser, hk_pickle_item(machine, arguments, 6));
}

/* A parameter is its tensor. */
static bool rebuild_parameter(struct hk_pickle_machine *machine,
			      const struct hk_pickle_value *arguments,
			      struct hk_pickle_value *result)
{
	const struct hk_pickle_value *tensor = hk_pickle_item(machine, arguments, 0);

	if (!tensor) {
		return false;
	}
	*result = *tensor;
	return true;
}

static bool rebuild_size(struct hk_pickle_machine *machine, const struct hk_pickle_value *arguments,
			 struct hk_pickle_value *result)
{
	return rebuild_parameter(machine, arguments, result);
}

static bool rebuild_other(struct hk_pickle_machine *machine,
			  const struct hk_pickle_value *arguments, struct hk_pickle_value *result)
{
	(void)machine;
	(void)arguments;
	result->kind = HK_PICKLE_OTHER;
	return true;
}

static bool rebuild_typed(struct hk_pickle_machine *machine,
			  const struct hk_pickle_value *arguments, struct hk_pickle_value *result);

static const struct {
	const char *module, *name;
	bool (*rebuild)(struct hk_pickle_machine *machine, const struct hk_pickle_value *arguments,
			struct hk_pickle_value *result);
} functions[] = {
    {"torch._utils", "_rebuild_tensor", rebuild_tensor},
    {"torch._utils", "_rebuild_tensor_v2", rebuild_tensor},
    {"torch._utils", "_rebuild_tensor_v3", rebuild_tensor},
    {"torch._utils", "_rebuild_parameter", rebuild_parameter},
    {"torch._utils", "_rebuild_parameter_with_state", rebuild_parameter},
    {"torch._tensor", "_rebuild_from_type_v2", rebuild_typed},
    {"torch", "Size", rebuild_size},
    {"collections", "OrderedDict", rebuild_other},
};

static bool call(struct hk_pickle_machine *machine, const struct hk_pickle_value *function,
		 const struct hk_pickle_value *arguments, struct hk_pickle_value *result)
{
	struct parser *parser = machine->context;

	*result = (struct hk_pickle_value){.kind = HK_PICKLE_OTHER};
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		if (hk_pickle_is(&function->global.module, functions[i].module) &&
		    hk_pickle_is(&function->global.name, functions[i].name)) {
			return functions[i].rebuild(machine, arguments, result);
		}
	}
	return refuse(parser, "an object of", &function->global.name);
}

/* (function, class, arguments, state): a tensor of a subclass */
static bool rebuild_typed(struct hk_pickle_machine *machine,
			  const struct hk_pickle_value *arguments, struct hk_pickle_value *result)
{
	const struct hk_pickle_value *function = hk_pickle_item(machine, arguments, 0),
				     *inner = hk_pickle_item(machine, arguments, 2);

	/* A tensor within itself would be endless. */
	if (!function || function->kind != HK_PICKLE_GLOBAL || !inner ||
	    inner->kind != HK_PICKLE_TUPLE ||
	    hk_pickle_is(&function->global.name, "_rebuild_from_type_v2")) {
		return false;
	}
	return call(machine, function, inner, result);
}

static int result_check(int r, const struct hk_pickle_value *value, uint8_t opcode, char *reason)
{
	if (r == -ENOMEM) {
		hk_array_refuse(reason, "%s", strerror(ENOMEM));
		return r;
	}
	if (r == -ENOTSUP) {
		return hk_array_refuse(reason, "opcode 0x%02x is not one of a tensor's pickle",
				       opcode);
	}
	if (r < 0) {
		return reason[0] ? r : hk_array_refuse(reason, "the pickle is damaged");
	}
	return value->kind == HK_PICKLE_TENSOR
		   ? 0
		   : hk_array_refuse(reason, "the file holds something else than one tensor");
}

int hk_pickle_parse(struct hk_pickled_tensor *tensor, const void *bytes, size_t size,
		    char reason[HK_ARRAY_REASON_BYTES])
{
	struct parser parser = {.tensor = tensor, .reason = reason};
	struct hk_pickle_machine machine = {.at = bytes,
					    .end = (const uint8_t *)bytes + size,
					    .call = call,
					    .persistent = persistent,
					    .context = &parser};
	struct hk_pickle_value value = {.kind = HK_PICKLE_NONE};
	uint8_t opcode = 0;

	*tensor = (struct hk_pickled_tensor){0};
	reason[0] = 0;
	int r = hk_pickle_run(&machine, &value, &opcode);
	hk_pickle_fini(&machine);
	return result_check(r, &value, opcode, reason);
}
