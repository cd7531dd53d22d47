/* The type Table: rows as columns. table() makes one of bytes that Python code has put together. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "object.h"

struct table_object {
	PyObject_HEAD struct hk_table *table;
};

static PyObject *table_type;

static struct hk_table *table_of(PyObject *self)
{
	return ((struct table_object *)self)->table;
}

PyObject *hk_table_object(struct hk_table *table)
{
	struct table_object *self = PyObject_New(struct table_object, (PyTypeObject *)table_type);

	if (!self) {
		hk_table_unref(table);
		return NULL;
	}
	self->table = table;
	return (PyObject *)self;
}

static void table_dealloc(PyObject *self)
{
	hk_table_unref(table_of(self));
	hk_object_free(self);
}

/* ---- Arrow ---- */

static PyObject *table_schema(PyObject *self, PyObject *unused)
{
	(void)unused;
	return hk_capsule_schema(table_of(self)->schema);
}

static PyObject *table_array(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	PyObject *schema = hk_capsule_schema(table_of(self)->schema);
	PyObject *array = schema ? hk_capsule_array(table_of(self)) : NULL;

	(void)arguments;
	(void)keywords;
	if (!array) {
		Py_XDECREF(schema);
		return NULL;
	}
	return Py_BuildValue("NN", schema, array);
}

/* A stream of one table. */
struct once {
	struct hk_table *table; /* NULL: it was given */
};

static int once_next(void *context, struct hk_table **ret_table)
{
	struct once *once = context;

	*ret_table = once->table;
	once->table = NULL;
	return *ret_table ? 1 : 0;
}

static void once_free(void *context)
{
	struct once *once = context;

	hk_table_unref(once->table);
	free(once);
}

static PyObject *table_stream(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	struct hk_export_source source = {once_next, once_free, calloc(1, sizeof(struct once))};

	(void)arguments;
	(void)keywords;
	if (!source.context) {
		return PyErr_NoMemory();
	}
	((struct once *)source.context)->table = hk_table_ref(table_of(self));
	return hk_capsule_stream(table_of(self)->schema, &source);
}

/* ---- for Python code ---- */

static PyObject *table_rows(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromLongLong(table_of(self)->length);
}

static PyObject *fields(const struct hk_schema *schema)
{
	PyObject *list = PyList_New((Py_ssize_t)schema->count);

	for (size_t i = 0; list && i < schema->count; i++) {
		const struct hk_field *field = &schema->fields[i];
		const char type[] = {field->type, '\0'};
		PyObject *item =
		    Py_BuildValue("ssii", field->name, type, (int)field->words, (int)field->list);

		if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) < 0) {
			Py_CLEAR(list);
		}
	}
	return list;
}

static PyObject *table_fields(PyObject *self, void *unused)
{
	(void)unused;
	return fields(table_of(self)->schema);
}

/* Bytes of MEMORY as a Python object, None without any. */
static PyObject *bytes(const void *memory, size_t size)
{
	if (!memory && size) {
		Py_RETURN_NONE;
	}
	return PyBytes_FromStringAndSize(memory ? memory : "", (Py_ssize_t)size);
}

static PyObject *column_of(const struct hk_field *field, const struct hk_column *column, bool items)
{
	size_t rows = (size_t)column->length, bits = (rows + 7) / 8, size = 0;
	size_t offsets = column->offsets ? (rows + 1) * sizeof(int32_t) : 0;
	const struct hk_texts *words = column->words;

	if (field->words) {
		size = rows * sizeof(int32_t);
	} else if (!field->list || items) {
		size = field->type == 'b'   ? bits
		       : field->type == 'u' ? (size_t)column->offsets[rows]
					    : rows * hk_type_bytes(field->type);
	}
	PyObject *texts =
	    words
		? Py_BuildValue("NN",
				bytes(words->offsets, ((size_t)words->count + 1) * sizeof(int32_t)),
				bytes(words->bytes, (size_t)words->offsets[words->count]))
		: Py_BuildValue("");
	PyObject *inner = column->items ? column_of(field, column->items, true) : Py_BuildValue("");
	return Py_BuildValue("(LNNNNN)", (long long)column->length,
			     column->valid ? bytes(column->valid, bits) : Py_BuildValue(""),
			     offsets ? bytes(column->offsets, offsets) : Py_BuildValue(""),
			     bytes(column->data, size), texts, inner);
}

/* buffers(i): (length, valid, offsets, data, words, items) of column number i; copies. */
static PyObject *table_buffers(PyObject *self, PyObject *arguments)
{
	const struct hk_table *table = table_of(self);
	Py_ssize_t i;

	if (!PyArg_ParseTuple(arguments, "n", &i)) {
		return NULL;
	}
	if (i < 0 || (size_t)i >= table->schema->count) {
		PyErr_SetString(PyExc_IndexError, "no such column");
		return NULL;
	}
	return column_of(&table->schema->fields[i], &table->columns[i], false);
}

static PyMethodDef methods[] = {
    {"buffers", table_buffers, METH_VARARGS,
     "buffers(i): length, validity bits, offsets, data, dictionary and items of column i"},
    {"__arrow_c_schema__", table_schema, METH_NOARGS, "The schema, for the Arrow C interface"},
    {"__arrow_c_array__", (PyCFunction)(void (*)(void))table_array, METH_VARARGS | METH_KEYWORDS,
     "Schema and rows, for the Arrow C interface"},
    {"__arrow_c_stream__", (PyCFunction)(void (*)(void))table_stream, METH_VARARGS | METH_KEYWORDS,
     "A stream of these rows, for the Arrow C interface"},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef attributes[] = {
    {"num_rows", table_rows, NULL, "Number of rows", NULL},
    {"fields", table_fields, NULL, "(name, type, has a dictionary, is a list) of each column",
     NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

/* ---- table() ---- */

/* Copies the bytes of OBJECT, which may be None, to *RET_MEMORY. Returns their number, or -1 with
 * an exception. */
static Py_ssize_t copy(PyObject *object, void *ret_memory)
{
	void **memory = ret_memory;
	char *from;
	Py_ssize_t size;

	*memory = NULL;
	if (object == Py_None) {
		return 0;
	}
	if (PyBytes_AsStringAndSize(object, &from, &size) < 0) {
		return -1;
	}
	*memory = malloc((size_t)size + 8);
	if (!*memory) {
		PyErr_NoMemory();
		return -1;
	}
	memcpy(*memory, from, (size_t)size);
	return size;
}

static int wrong_size(void)
{
	PyErr_SetString(PyExc_ValueError, "the bytes of a column do not fit its rows");
	return -1;
}

/* Returns whether OFFSETS, of SIZE bytes, are those of LENGTH rows over TOTAL items. */
static bool offsets_fit(const int32_t *offsets, Py_ssize_t size, int64_t length, int64_t total)
{
	if (!offsets || size != (length + 1) * (int64_t)sizeof(int32_t) || offsets[0] != 0) {
		return false;
	}
	for (int64_t i = 0; i < length; i++) {
		if (offsets[i + 1] < offsets[i]) {
			return false;
		}
	}
	return offsets[length] == total;
}

static int take_words(PyObject *pair, struct hk_column *column)
{
	PyObject *offsets, *texts;
	char *bytes, *text_bytes;
	Py_ssize_t size, text_size;

	if (!PyArg_ParseTuple(pair, "OO", &offsets, &texts) ||
	    PyBytes_AsStringAndSize(offsets, &bytes, &size) < 0 ||
	    PyBytes_AsStringAndSize(texts, &text_bytes, &text_size) < 0) {
		return -1;
	}
	int64_t count = size / (Py_ssize_t)sizeof(int32_t) - 1;
	if (count < 0 || !offsets_fit((const int32_t *)(void *)bytes, size, count, text_size)) {
		return wrong_size();
	}
	column->words = hk_texts_new(count, (const int32_t *)(void *)bytes, text_bytes);
	const int32_t *numbers = column->data;
	for (int64_t i = 0; column->words && i < column->length; i++) {
		/* A row that is null has number 0, also without texts. */
		if (numbers[i] < 0 || (numbers[i] >= count && numbers[i])) {
			return wrong_size();
		}
	}
	return column->words ? 0 : (PyErr_NoMemory(), -1);
}

/* Sets COLUMN from a tuple as table_buffers gives it. ITEMS: it has the items of a list. */
static int take_column(PyObject *parts, const struct hk_field *field, bool items,
		       struct hk_column *column)
{
	PyObject *valid, *offsets, *data, *words, *inner;
	long long length, nulls;

	if (!PyArg_ParseTuple(parts, "LLOOOOO", &length, &nulls, &valid, &offsets, &data, &words,
			      &inner)) {
		return -1;
	}
	column->length = length;
	column->nulls = nulls;
	bool list = field->list && !items;
	Py_ssize_t bits = copy(valid, &column->valid);
	Py_ssize_t ends = bits < 0 ? -1 : copy(offsets, &column->offsets);
	Py_ssize_t size = ends < 0 ? -1 : copy(data, &column->data);
	if (size < 0) {
		return -1;
	}
	if (list) {
		column->items = calloc(1, sizeof(*column->items));
		if (!column->items || take_column(inner, field, true, column->items) < 0) {
			return column->items ? -1 : (PyErr_NoMemory(), -1);
		}
	}
	int64_t width = field->words ? 4 : (int64_t)hk_type_bytes(field->type);
	bool has_offsets = list || (field->type == 'u' && !field->words);
	bool fits = length >= 0 && (!column->valid || bits >= (length + 7) / 8);
	if (fits && has_offsets) {
		fits = offsets_fit(column->offsets, ends, length,
				   list ? column->items->length : (int64_t)size);
	} else if (fits) {
		fits = size >= (field->type == 'b' ? (length + 7) / 8 : length * width);
	}
	if (!fits) {
		return wrong_size();
	}
	return field->words ? take_words(words, column) : 0;
}

/* Sets field and column number I from (name, type, words, list, parts). */
static int take_field(PyObject *item, struct hk_schema *schema, PyObject **ret_parts, size_t i)
{
	struct hk_field *field = &schema->fields[i];
	const char *name, *type;
	int words, list;

	if (!PyArg_ParseTuple(item, "ssppO", &name, &type, &words, &list, ret_parts)) {
		return -1;
	}
	if (!strchr("biIlLgu", *type) || !*type || type[1] || (words && (*type != 'u' || list)) ||
	    (list && *type == 'b')) {
		PyErr_Format(PyExc_ValueError, "column %s: no such type", name);
		return -1;
	}
	*field = (struct hk_field){strdup(name), *type, words, list};
	return field->name ? 0 : (PyErr_NoMemory(), -1);
}

/* table(rows, columns): makes a Table; the columns are tuples as `fields` and `buffers` give them,
 * with the number of nulls behind the length. */
static PyObject *make_table(PyObject *module, PyObject *arguments)
{
	PyObject *columns, *parts[256];
	long long rows;

	(void)module;
	if (!PyArg_ParseTuple(arguments, "LO", &rows, &columns)) {
		return NULL;
	}
	Py_ssize_t count = PyList_Size(columns);
	if (count < 0 || count > 256) {
		return count < 0 ? NULL : PyErr_Format(PyExc_ValueError, "too many columns");
	}
	struct hk_schema *schema = hk_schema_new((size_t)count);
	int rc = schema ? 0 : -1;
	for (Py_ssize_t i = 0; rc == 0 && i < count; i++) {
		rc = take_field(PyList_GetItem(columns, i), schema, &parts[i], (size_t)i);
	}
	struct hk_table *table = rc == 0 ? hk_table_new(schema) : NULL;
	for (Py_ssize_t i = 0; table && rc == 0 && i < count; i++) {
		rc = take_column(parts[i], &schema->fields[i], false, &table->columns[i]);
		if (rc == 0 && table->columns[i].length != rows) {
			rc = wrong_size();
		}
	}
	hk_schema_unref(schema);
	if (!table || rc < 0) {
		hk_table_unref(table);
		return PyErr_Occurred() ? NULL : PyErr_NoMemory();
	}
	table->length = rows;
	return hk_table_object(table);
}

static PyMethodDef functions[] = {
    {"table", make_table, METH_VARARGS, "table(rows, columns): a Table of bytes"},
    {NULL, NULL, 0, NULL},
};

int hk_table_object_add(PyObject *module)
{
	static PyType_Slot slots[] = {
	    {Py_tp_new, hk_object_refuse},
	    {Py_tp_dealloc, table_dealloc},
	    {Py_tp_methods, methods},
	    {Py_tp_getset, attributes},
	    {0, NULL},
	};
	static PyType_Spec spec = {"hooktrace._reader.Table", sizeof(struct table_object), 0,
				   Py_TPFLAGS_DEFAULT, slots};

	table_type = PyType_FromSpec(&spec);
	return table_type ? PyModule_AddFunctions(module, functions) : -1;
}
