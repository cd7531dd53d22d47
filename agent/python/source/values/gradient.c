#include "gradient.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "deferred.h"
#include "find.h"

#define NODES_MAX 16u	  /* that one call makes */
#define GRADIENTS_MAX 32u /* of one node, that are written */
#define WATCHED "hooktrace._native.watched"

/* Which of a node's gradients is which value of the call. */
struct gradient {
	uint32_t index;
	enum hk_dump_role role;
	char slot[HK_SLOT_BYTES];
};

/* One backward call, shared by the nodes of the forward call, each of which runs once in it. */
struct backward {
	uint32_t users, ran; /* hooks; nodes that ran, a bit for each */
	uint64_t sequence;
};

/* What the hook of one node knows. */
struct watched {
	struct backward *backward;
	uint32_t place;	     /* of the node among those of the call */
	PyObject *name, *of; /* owned */
	uint64_t sequence;   /* of the forward call */
	uint32_t epoch, number, stack, flags;
	enum hk_dump_kind kind;
	uint32_t many;
	struct gradient gradients[];
};

/* A node that the call made, and which of its gradients are wanted. */
struct node {
	PyObject *node; /* owned */
	uint32_t many;
	struct gradient gradients[GRADIENTS_MAX];
};

struct nodes {
	struct node node[NODES_MAX];
	uint32_t many;
	bool more; /* than NODES_MAX */
};

/* ---- the backward pass ---- */

/* The number of the backward call that the node of WATCHED runs in. A node that ran in it already
 * begins another one: the graph was kept and runs again. */
static uint64_t sequence_of(const struct watched *watched)
{
	struct backward *backward = watched->backward;
	uint32_t bit = 1u << watched->place;

	if (backward->ran == 0 || (backward->ran & bit)) {
		backward->sequence = hk_values.sequence++;
		backward->ran = 0;
	}
	backward->ran |= bit;
	return backward->sequence;
}

/* A backward call as a record: begin now, in this thread. */
static struct hk_record *begin(const struct watched *watched)
{
	struct hk_record *record = hk_record_new();

	if (!record) {
		hk_values_leave(HK_LEFT_MEMORY);
		return NULL;
	}
	record->kind = watched->kind;
	record->name = watched->name;
	record->of = watched->of;
	Py_XINCREF(record->name);
	Py_XINCREF(record->of);
	record->number = watched->number;
	record->stack = watched->stack;
	record->flags = watched->flags | (hk_values.loss_scaled ? HK_DUMP_LOSS_SCALED : 0);
	record->sequence = sequence_of(watched);
	record->thread = hk_values_thread();
	record->seen.begin_ns = hk_values_now();
	return record;
}

static void add(struct hk_record *record, const struct gradient *gradient, PyObject *tensor)
{
	enum hk_values_class class = hk_tensor_class(tensor);
	struct hk_value *value = class == HK_CLASS_TENSOR || class == HK_CLASS_READ
				     ? hk_record_add(record, gradient->role, gradient->slot)
				     : NULL;

	if (!value) {
		return;
	}
	if (!hk_tensor_view(tensor, class, &value->view)) {
		record->many--;
		return;
	}
	Py_INCREF(tensor);
	value->tensor = tensor;
	value->class = class;
	hk_record_defer(value);
	value->has_statistics =
	    !value->view.on_device && hk_record_measure(&value->view, &value->statistics);
}

static void write_all(const struct hk_record *record, const struct watched *watched)
{
	for (size_t i = 0; hk_values.writer && i < record->many; i++) {
		const struct hk_value *value = &record->values[i];
		struct hk_dump_row row = hk_record_row(record, value);
		row.forward_sequence = watched->sequence;
		row.phase = HK_DUMP_BACKWARD;
		row.statistics = value->statistics;
		hk_record_write_row(&row, &value->view, value->deferred,
				    hk_record_has_memory(value));
	}
}

/* What arrives comes first in RECORD, then what leaves. Returns 0, or -1 with an exception. */
static int fire(struct hk_record *record, const struct watched *watched, PyObject *inputs,
		PyObject *outputs)
{
	hk_values.backward_calls++;
	for (uint32_t i = 0; i < watched->many; i++) {
		const struct gradient *gradient = &watched->gradients[i];
		PyObject *of = gradient->role == HK_DUMP_OUTPUT ? outputs : inputs;
		PyObject *tensor = (Py_ssize_t)gradient->index < PyTuple_Size(of)
				       ? PyTuple_GetItem(of, gradient->index)
				       : NULL; /* borrowed */
		if (tensor && tensor != Py_None) {
			add(record, gradient, tensor);
			record->inputs += gradient->role == HK_DUMP_OUTPUT;
		}
	}
	record->inputs = record->inputs < record->many ? record->inputs : record->many;
	int find = hk_values.watching ? hk_find_check(record, HK_DUMP_BACKWARD) : 1;

	if (find == 1) {
		if (hk_values.watching) {
			hk_record_defer_find(record);
		}
		write_all(record, watched);
	}
	return hk_values.watching && find ? hk_find_react() : 0;
}

/* autograd calls it with (grad_inputs, grad_outputs) when the node has run. */
static PyObject *hook(PyObject *self, PyObject *arguments)
{
	struct watched *watched = PyCapsule_GetPointer(self, WATCHED);
	PyObject *inputs, *outputs;

	int answer = 0;
	bool wanted =
	    watched && watched->epoch == hk_values.epoch && hk_values.taking &&
	    PyArg_ParseTuple(arguments, "O!O!", &PyTuple_Type, &inputs, &PyTuple_Type, &outputs);
	struct hk_record *record = wanted ? begin(watched) : NULL;

	if (record) {
		bool before = hk_api_pause(true);
		answer = fire(record, watched, inputs, outputs);
		hk_record_free(record);
		hk_api_pause(before);
	} else {
		PyErr_Clear();
	}
	if (answer < 0) {
		return NULL;
	}
	Py_RETURN_NONE;
}

static PyMethodDef hook_definition = {"hooktrace_gradients", hook, METH_VARARGS, NULL};

/* ---- the forward pass ---- */

static void backward_release(struct backward *backward)
{
	if (--backward->users == 0) {
		free(backward);
	}
}

static void forget(PyObject *capsule)
{
	struct watched *watched = PyCapsule_GetPointer(capsule, WATCHED);

	Py_XDECREF(watched->name);
	Py_XDECREF(watched->of);
	backward_release(watched->backward);
	free(watched);
}

/* A new hook for NODE of RECORD's call, the node at PLACE of BACKWARD, or NULL. */
static PyObject *new_hook(const struct hk_record *record, const struct node *node,
			  struct backward *backward, uint32_t place)
{
	size_t bytes = node->many * sizeof(node->gradients[0]);
	struct watched *watched = malloc(sizeof(*watched) + bytes);
	PyObject *capsule = watched ? PyCapsule_New(watched, WATCHED, forget) : NULL;

	if (!capsule) {
		free(watched);
		return NULL;
	}
	backward->users++;
	*watched = (struct watched){.backward = backward,
				    .place = place,
				    .name = record->name,
				    .of = record->of,
				    .sequence = record->sequence,
				    .epoch = record->epoch,
				    .number = record->number,
				    .stack = record->stack,
				    .flags = record->flags,
				    .kind = record->kind,
				    .many = node->many};
	memcpy(watched->gradients, node->gradients, bytes);
	Py_XINCREF(watched->name);
	Py_XINCREF(watched->of);
	PyObject *function = PyCFunction_New(&hook_definition, capsule);

	Py_DECREF(capsule);
	return function;
}

static void register_hook(const struct hk_record *record, const struct node *node,
			  struct backward *backward, uint32_t place)
{
	PyObject *function = new_hook(record, node, backward, place);
	PyObject *handle =
	    function
		? PyObject_CallMethodObjArgs(node->node, hk_name(HK_NAME_REGISTER), function, NULL)
		: NULL;

	if (!handle) {
		PyErr_Clear();
		hk_values_leave(HK_LEFT_UNREADABLE);
	}
	Py_XDECREF(function);
	Py_XDECREF(handle);
}

static void add_gradient(struct node *node, uint32_t index, enum hk_dump_role role,
			 const char *slot)
{
	if (node->many < GRADIENTS_MAX) {
		struct gradient *gradient = &node->gradients[node->many++];
		gradient->index = index;
		gradient->role = role;
		snprintf(gradient->slot, sizeof(gradient->slot), "%s", slot);
	} else {
		hk_values_leave(HK_LEFT_NO_EDGE);
	}
}

/* The place of NODE among NODES, which it gets if it has none, or NULL. */
static struct node *node_at(struct nodes *nodes, PyObject *node)
{
	for (uint32_t i = 0; i < nodes->many; i++) {
		if (nodes->node[i].node == node) {
			return &nodes->node[i];
		}
	}
	if (nodes->many == NODES_MAX) {
		nodes->more = true;
		return NULL;
	}
	struct node *added = &nodes->node[nodes->many++];

	Py_INCREF(node);
	added->node = node;
	added->many = 0;
	return added;
}

static bool is_input_node(const struct hk_record *record, PyObject *node)
{
	for (size_t i = 0; i < record->inputs; i++) {
		if (record->values[i].node == node) {
			return true;
		}
	}
	return false;
}

static void add_outputs(const struct hk_record *record, struct nodes *nodes)
{
	for (size_t i = record->inputs; i < record->many; i++) {
		const struct hk_value *value = &record->values[i];
		if (value->scalar || !value->node) {
			continue;
		}
		if (is_input_node(record, value->node)) {
			hk_values_leave(HK_LEFT_SAME_NODE);
			continue;
		}
		struct node *node = node_at(nodes, value->node);
		if (node) {
			add_gradient(node, value->output, HK_DUMP_OUTPUT, value->slot);
		}
	}
}

/* Whether nodes of TYPE add up the gradients of a leaf, which is their attribute `variable`. */
static bool is_leaf_type(PyObject *type)
{
	PyObject *known = PyDict_GetItem(hk_values.node_types, type); /* borrowed */

	if (!known) {
		PyObject *name = PyObject_GetAttrString(type, "__name__");
		bool is = strcmp(hk_values_text(name), "AccumulateGrad") == 0;

		known = is ? Py_True : Py_False;
		PyDict_SetItem(hk_values.node_types, type, known);
		PyErr_Clear();
		Py_XDECREF(name);
	}
	return known == Py_True;
}

/* The leaf whose gradients NODE adds up, a new reference, or NULL if it is another kind of node. */
static PyObject *leaf_of(PyObject *node)
{
	return is_leaf_type((PyObject *)Py_TYPE(node)) ? hk_get(node, HK_NAME_VARIABLE) : NULL;
}

/* Whether VALUE's gradient is what arrives at output OUTPUT of NODE, which adds up LEAF or has
 * none.
 */
static bool is_edge_of(const struct hk_value *value, PyObject *node, PyObject *leaf,
		       uint32_t output)
{
	if (value->scalar || !value->takes_gradient) {
		return false;
	}
	return value->node ? value->node == node && value->output == output
			   : leaf && value->tensor == leaf;
}

struct edges {
	uint32_t seen[GRADIENTS_MAX]; /* how many edges each input has, inputs beyond have none */
	struct node *node[GRADIENTS_MAX]; /* the node of the last */
	uint32_t index[GRADIENTS_MAX];
};

/* Looks at edge INDEX of NODE, which leads to output OUTPUT of NEXT. */
static void follow(const struct hk_record *record, struct nodes *nodes, struct edges *edges,
		   struct node *node, uint32_t index, PyObject *next, uint32_t output)
{
	PyObject *leaf = leaf_of(next);
	bool found = false;

	for (size_t i = 0; i < record->inputs && i < GRADIENTS_MAX; i++) {
		if (is_edge_of(&record->values[i], next, leaf, output)) {
			edges->seen[i]++;
			edges->node[i] = node;
			edges->index[i] = index;
			found = true;
		}
	}
	if (!found && !leaf && !is_input_node(record, next)) {
		node_at(nodes, next);
	}
	Py_XDECREF(leaf);
}

static void follow_all(const struct hk_record *record, struct nodes *nodes, struct edges *edges)
{
	for (uint32_t n = 0; n < nodes->many; n++) {
		PyObject *next = hk_get(nodes->node[n].node, HK_NAME_NEXT);
		for (Py_ssize_t i = 0; next && i < PyTuple_Size(next); i++) {
			PyObject *edge = PyTuple_GetItem(next, i);
			PyObject *node = PyTuple_GetItem(edge, 0);
			long output = PyLong_AsLong(PyTuple_GetItem(edge, 1));
			if (node != Py_None) {
				follow(record, nodes, edges, &nodes->node[n], (uint32_t)i, node,
				       (uint32_t)output);
			}
		}
		PyErr_Clear();
		Py_XDECREF(next);
	}
}

/* A gradient that is the sum of several nodes' is at none of them. */
static void add_inputs(const struct hk_record *record, struct nodes *nodes)
{
	struct edges edges = {0};

	follow_all(record, nodes, &edges);
	for (size_t i = 0; i < record->inputs; i++) {
		const struct hk_value *value = &record->values[i];
		if (value->scalar || !value->takes_gradient) {
			continue;
		}
		if (i < GRADIENTS_MAX && edges.seen[i] == 1 && !nodes->more) {
			add_gradient(edges.node[i], edges.index[i], HK_DUMP_INPUT, value->slot);
		} else {
			hk_values_leave(HK_LEFT_NO_EDGE);
		}
	}
}

/* Nodes are large for a stack, and to take them from the heap at each call moves the program's
 * tensors there. One is kept. More are in use where registering a hook lets another thread run. */
static struct nodes *spare;

static struct nodes *take_nodes(void)
{
	struct nodes *taken = spare ? spare : malloc(sizeof(*taken));

	spare = NULL;
	if (taken) {
		taken->many = 0;
		taken->more = false;
	}
	return taken;
}

static void give_nodes(struct nodes *nodes)
{
	free(spare);
	spare = nodes;
}

void hk_gradient_watch(const struct hk_record *record)
{
	struct nodes *own = take_nodes();

	if (!own) {
		hk_values_leave(HK_LEFT_MEMORY);
		return;
	}
	add_outputs(record, own);
	if (own->many > 0 && record->kind == HK_DUMP_API) {
		add_inputs(record, own);
	}
	struct backward *backward = own->many > 0 ? calloc(1, sizeof(*backward)) : NULL;

	if (backward) {
		backward->users = 1; /* this function */
	}
	for (uint32_t i = 0; i < own->many; i++) {
		if (backward && own->node[i].many > 0) {
			register_hook(record, &own->node[i], backward, i);
		} else if (own->node[i].many > 0) {
			hk_values_leave(HK_LEFT_UNREADABLE);
		}
		Py_DECREF(own->node[i].node);
	}
	give_nodes(own);
}
