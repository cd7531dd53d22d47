#include "export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- schema ---- */

/* What a schema's node owns. */
struct schema_node {
	char format[4];
	char *name;
	struct ArrowSchema **children; /* each in an allocation of its own */
	int64_t count;
	struct ArrowSchema *dictionary;
};

static void release_schema(struct ArrowSchema *schema)
{
	struct schema_node *node = schema->private_data;

	for (int64_t i = 0; i < node->count; i++) {
		if (node->children[i] && node->children[i]->release) {
			node->children[i]->release(node->children[i]);
		}
		free(node->children[i]);
	}
	if (node->dictionary && node->dictionary->release) {
		node->dictionary->release(node->dictionary);
	}
	free(node->dictionary);
	free(node->children);
	free(node->name);
	free(node);
	schema->release = NULL;
}

/* Makes a node with room for COUNT children, which are released. Returns 0 or -ENOMEM. */
static int make_schema(const char *format, const char *name, size_t count,
		       struct ArrowSchema *ret_schema)
{
	struct schema_node *node = calloc(1, sizeof(*node));

	if (!node) {
		return -ENOMEM;
	}
	memcpy(node->format, format, strlen(format) + 1);
	node->name = strdup(name);
	node->children = calloc(count + 1, sizeof(struct ArrowSchema *));
	bool whole = node->name && node->children;
	for (size_t i = 0; whole && i < count; i++) {
		node->children[i] = calloc(1, sizeof(struct ArrowSchema));
		whole = node->children[i];
		node->count += whole;
	}
	*ret_schema = (struct ArrowSchema){
	    .format = node->format,
	    .name = node->name,
	    .flags = ARROW_FLAG_NULLABLE,
	    .n_children = node->count,
	    .children = node->children,
	    .release = release_schema,
	    .private_data = node,
	};
	if (!whole) {
		release_schema(ret_schema);
		return -ENOMEM;
	}
	return 0;
}

static int add_dictionary(struct ArrowSchema *schema)
{
	struct schema_node *node = schema->private_data;

	node->dictionary = calloc(1, sizeof(*node->dictionary));
	schema->dictionary = node->dictionary;
	return node->dictionary ? make_schema("u", "", 0, node->dictionary) : -ENOMEM;
}

static int make_field(const struct hk_field *field, struct ArrowSchema *ret_schema)
{
	const char type[] = {field->words ? 'i' : field->type, '\0'};
	int rc = make_schema(field->list ? "+l" : type, field->name, field->list, ret_schema);

	if (rc == 0 && field->list) {
		rc = make_schema(type, "item", 0, ret_schema->children[0]);
	} else if (rc == 0 && field->words) {
		rc = add_dictionary(ret_schema);
	} else {
		return rc;
	}
	if (rc < 0) {
		ret_schema->release(ret_schema);
	}
	return rc;
}

int hk_export_schema(const struct hk_schema *schema, struct ArrowSchema *ret_schema)
{
	int rc = make_schema("+s", "", schema->count, ret_schema);

	if (rc < 0) {
		return rc;
	}
	ret_schema->flags = 0;
	for (size_t i = 0; rc == 0 && i < schema->count; i++) {
		rc = make_field(&schema->fields[i], ret_schema->children[i]);
	}
	if (rc < 0) {
		ret_schema->release(ret_schema);
	}
	return rc;
}

/* ---- arrays ---- */

/* What an array's node owns: a reference to the table that has its buffers. */
struct array_node {
	struct hk_table *table;
	const void *buffers[3];
	struct ArrowArray **children;
	int64_t count;
	struct ArrowArray *dictionary;
};

static void release_array(struct ArrowArray *array)
{
	struct array_node *node = array->private_data;

	for (int64_t i = 0; i < node->count; i++) {
		if (node->children[i] && node->children[i]->release) {
			node->children[i]->release(node->children[i]);
		}
		free(node->children[i]);
	}
	if (node->dictionary && node->dictionary->release) {
		node->dictionary->release(node->dictionary);
	}
	free(node->dictionary);
	free(node->children);
	hk_table_unref(node->table);
	free(node);
	array->release = NULL;
}

static int make_array(struct hk_table *table, int64_t length, size_t count,
		      struct ArrowArray *ret_array)
{
	struct array_node *node = calloc(1, sizeof(*node));

	if (!node) {
		return -ENOMEM;
	}
	node->table = hk_table_ref(table);
	node->children = calloc(count + 1, sizeof(struct ArrowArray *));
	bool whole = node->children;
	for (size_t i = 0; whole && i < count; i++) {
		node->children[i] = calloc(1, sizeof(struct ArrowArray));
		whole = node->children[i];
		node->count += whole;
	}
	*ret_array = (struct ArrowArray){
	    .length = length,
	    .n_children = node->count,
	    .buffers = node->buffers,
	    .children = node->children,
	    .release = release_array,
	    .private_data = node,
	};
	if (!whole) {
		release_array(ret_array);
		return -ENOMEM;
	}
	return 0;
}

/* Consumers may expect a buffer, even of no bytes. */
static const void *buffer(const void *bytes)
{
	static const uint64_t none[8];

	return bytes ? bytes : none;
}

static int add_texts(struct hk_table *table, const struct hk_texts *texts, struct ArrowArray *array)
{
	struct array_node *node = array->private_data;

	node->dictionary = calloc(1, sizeof(*node->dictionary));
	array->dictionary = node->dictionary;
	if (!node->dictionary || make_array(table, texts->count, 0, node->dictionary) < 0) {
		return -ENOMEM;
	}
	struct array_node *made = node->dictionary->private_data;
	made->buffers[1] = texts->offsets;
	made->buffers[2] = buffer(texts->bytes);
	node->dictionary->n_buffers = 3;
	return 0;
}

static int make_column(struct hk_table *table, const struct hk_column *column,
		       struct ArrowArray *ret_array)
{
	int rc = make_array(table, column->length, column->items != NULL, ret_array);

	if (rc < 0) {
		return rc;
	}
	struct array_node *node = ret_array->private_data;
	ret_array->null_count = column->nulls;
	node->buffers[0] = column->valid;
	node->buffers[1] = column->offsets ? column->offsets : buffer(column->data);
	node->buffers[2] = buffer(column->data);
	ret_array->n_buffers = column->offsets && !column->items ? 3 : 2;
	if (column->items) {
		rc = make_column(table, column->items, ret_array->children[0]);
	} else if (column->words) {
		rc = add_texts(table, column->words, ret_array);
	}
	if (rc < 0) {
		ret_array->release(ret_array);
	}
	return rc;
}

int hk_export_table(struct hk_table *table, struct ArrowArray *ret_array)
{
	int rc = make_array(table, table->length, table->schema->count, ret_array);

	if (rc < 0) {
		return rc;
	}
	ret_array->n_buffers = 1;
	for (size_t i = 0; rc == 0 && i < table->schema->count; i++) {
		rc = make_column(table, &table->columns[i], ret_array->children[i]);
	}
	if (rc < 0) {
		ret_array->release(ret_array);
	}
	return rc;
}

/* ---- streams ---- */

struct stream_node {
	struct hk_schema *schema;
	struct hk_export_source source;
	const char *error;
};

static int stream_result(struct stream_node *node, int rc)
{
	node->error = rc < 0 ? strerror(-rc) : NULL;
	return rc < 0 ? -rc : 0;
}

static int stream_schema(struct ArrowArrayStream *stream, struct ArrowSchema *ret_schema)
{
	struct stream_node *node = stream->private_data;

	return stream_result(node, hk_export_schema(node->schema, ret_schema));
}

static int stream_next(struct ArrowArrayStream *stream, struct ArrowArray *ret_array)
{
	struct stream_node *node = stream->private_data;
	struct hk_table *table = NULL;
	int rc = node->source.next(node->source.context, &table);

	ret_array->release = NULL;
	if (rc > 0) {
		rc = hk_export_table(table, ret_array);
		hk_table_unref(table);
	}
	return stream_result(node, rc);
}

static const char *stream_error(struct ArrowArrayStream *stream)
{
	return ((struct stream_node *)stream->private_data)->error;
}

static void stream_release(struct ArrowArrayStream *stream)
{
	struct stream_node *node = stream->private_data;

	node->source.free(node->source.context);
	hk_schema_unref(node->schema);
	free(node);
	stream->release = NULL;
}

int hk_export_stream(struct hk_schema *schema, const struct hk_export_source *source,
		     struct ArrowArrayStream *ret_stream)
{
	struct stream_node *node = calloc(1, sizeof(*node));

	if (!node) {
		return -ENOMEM;
	}
	node->schema = hk_schema_ref(schema);
	node->source = *source;
	*ret_stream = (struct ArrowArrayStream){
	    .get_schema = stream_schema,
	    .get_next = stream_next,
	    .get_last_error = stream_error,
	    .release = stream_release,
	    .private_data = node,
	};
	return 0;
}
