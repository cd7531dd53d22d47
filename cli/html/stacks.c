/* The document's stacks: a tree of frames by their texts, and the calls from each of them by
 * function and group of ranks. The tree is cut to its most expensive frames; what was cut off is
 * one frame beside those that were kept. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/html/document.h"
#include "text/utf8.h"

#include <uthash.h>

#define TEXT_BYTES 256u

struct key {
	struct node *caller;
	const char *text; /* one copy of each */
};

struct node {
	UT_hash_handle hh;
	struct key key;
	uint32_t depth;
	uint64_t calls, total_ns; /* with those of its callees */
	bool kept;
	uint32_t number;    /* in the document */
	struct node *more;  /* what was cut off its callees; NULL: nothing yet */
	struct node *place; /* of a frame that is not kept: the `more` that it counts in */
	uint64_t cut;	    /* of a `more`: frames in it */
};

/* Calls of a function of a group of ranks, from one frame. */
struct value_key {
	struct node *node;
	uint64_t function, group;
};

struct value {
	UT_hash_handle hh;
	struct value_key key;
	uint64_t calls, total_ns;
};

/* The innermost function at each frame of a process, by the frame's number; NULL: not yet made. */
struct places {
	UT_hash_handle hh;
	const Hk__Process *process;
	size_t count;
	struct node *of[];
};

struct tree {
	struct node root;
	struct places *places;
	struct {
		uint32_t *numbers;
		size_t count, room;
	} path;		      /* from a frame to the first caller that has its place */
	struct node *nodes;   /* all but the root and those of what was cut off */
	struct node **list;   /* the root and the nodes, the most expensive first */
	struct node **leaves; /* by row of hk_stack_rows: the innermost frame */
	size_t count;
	struct value *values;
	struct hk_report_strings texts, functions;
};

/* ---- making ---- */

static struct node *node_get(struct tree *tree, struct node *caller, const char *text)
{
	struct key key = {.caller = caller, .text = text};
	struct node *node;

	HASH_FIND(hh, tree->nodes, &key, sizeof(key), node);
	if (node) {
		return node;
	}
	node = calloc(1, sizeof(*node));
	if (!node) {
		return NULL;
	}
	node->key = key;
	node->depth = caller->depth + 1;
	HASH_ADD(hh, tree->nodes, key, sizeof(key), node);
	if (!node->hh.tbl) {
		free(node);
		return NULL;
	}
	return node;
}

/* Returns the node of the innermost function at frame NUMBER, which CALLER called. */
static struct node *frame_add(struct tree *tree, struct node *caller, uint32_t number,
			      const struct hk_stack_row *row)
{
	struct hk_export_function functions[HK_EXPORT_FUNCTIONS];
	size_t count = hk_stack_rows_functions(row->process, number, functions);
	struct node *node = caller;

	for (; node && count > 0; count--) {
		char text[TEXT_BYTES];
		hk_utf8_copy(functions[count - 1].text, text, sizeof(text));
		const char *shared = hk_report_strings_get(&tree->texts, text);
		node = shared ? node_get(tree, node, shared) : NULL;
	}
	return node;
}

static struct places *places_get(struct tree *tree, const Hk__Process *process)
{
	size_t count = process->n_stack_frames * HK_STACKS_PART_FRAMES + 1;
	struct places *places;

	HASH_FIND_PTR(tree->places, &process, places);
	if (places) {
		return places;
	}
	places = calloc(1, sizeof(*places) + count * sizeof(places->of[0]));
	if (!places) {
		return NULL;
	}
	places->process = process;
	places->count = count;
	HASH_ADD_PTR(tree->places, process, places);
	if (!places->hh.tbl) {
		free(places);
		return NULL;
	}
	return places;
}

static bool path_push(struct tree *tree, uint32_t number)
{
	if (tree->path.count == tree->path.room) {
		size_t room = tree->path.room ? 2 * tree->path.room : 256;
		uint32_t *numbers = reallocarray(tree->path.numbers, room, sizeof(*numbers));
		if (!numbers) {
			return false;
		}
		tree->path.numbers = numbers;
		tree->path.room = room;
	}
	tree->path.numbers[tree->path.count++] = number;
	return true;
}

/* Returns the innermost frame of ROW. Each frame of a process is made once, however many stacks it
 * is in. */
static struct node *leaf_get(struct tree *tree, const struct hk_stack_row *row)
{
	struct places *places = places_get(tree, row->process);
	uint32_t number = row->stack;
	struct hk_stacks_frame frame;

	if (!places) {
		return NULL;
	}
	tree->path.count = 0;
	while (number < places->count && !places->of[number] &&
	       hk_stacks_frame(row->process, number, &frame)) {
		if (!path_push(tree, number)) {
			return NULL;
		}
		number = frame.caller;
	}
	struct node *known = number < places->count ? places->of[number] : NULL;
	struct node *node = known ? known : &tree->root;
	for (size_t i = tree->path.count; node && i > 0; i--) {
		node = frame_add(tree, node, tree->path.numbers[i - 1], row);
		places->of[tree->path.numbers[i - 1]] = node;
	}
	return node;
}

/* Adds to each node the calls of its callees, which come behind it in the list. */
static void sums_make(struct tree *tree)
{
	for (size_t i = tree->count; i > 1; i--) {
		struct node *node = tree->list[i - 1], *caller = node->key.caller;
		caller->calls += node->calls;
		caller->total_ns += node->total_ns;
	}
}

/* The most expensive first. A caller costs no less than its callee, and stands before it. */
static int by_cost(const void *a, const void *b)
{
	const struct node *x = *(struct node *const *)a, *y = *(struct node *const *)b;

	if (x->total_ns != y->total_ns) {
		return x->total_ns > y->total_ns ? -1 : 1;
	}
	if (x->calls != y->calls) {
		return x->calls > y->calls ? -1 : 1;
	}
	return (x->depth > y->depth) - (x->depth < y->depth);
}

static int tree_make(struct tree *tree, const struct hk_stack_rows *rows)
{
	struct node *node, *next;

	tree->leaves = calloc(rows->count + 1, sizeof(*tree->leaves));
	if (!tree->leaves) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < rows->count; i++) {
		struct node *leaf = leaf_get(tree, &rows->rows[i]);
		if (!leaf) {
			return -ENOMEM;
		}
		leaf->calls += rows->rows[i].calls;
		leaf->total_ns += rows->rows[i].total_ns;
		tree->leaves[i] = leaf;
	}
	tree->list = calloc((size_t)HASH_COUNT(tree->nodes) + 1, sizeof(*tree->list));
	if (!tree->list) {
		return -ENOMEM;
	}
	tree->list[tree->count++] = &tree->root;
	HASH_ITER (hh, tree->nodes, node, next) {
		tree->list[tree->count++] = node;
	}
	sums_make(tree);
	qsort(tree->list, tree->count, sizeof(struct node *), by_cost);
	return 0;
}

static void values_free(struct tree *tree)
{
	struct value *value, *next;

	HASH_ITER (hh, tree->values, value, next) {
		HASH_DEL(tree->values, value);
		free(value);
	}
}

static void cuts_free(struct tree *tree)
{
	for (size_t i = 0; i < tree->count; i++) {
		free(tree->list[i]->more);
		tree->list[i]->more = NULL;
	}
}

static void places_free(struct tree *tree)
{
	struct places *places, *next;

	HASH_ITER (hh, tree->places, places, next) {
		HASH_DEL(tree->places, places);
		free(places);
	}
	free(tree->path.numbers);
}

static void tree_fini(struct tree *tree)
{
	struct node *node, *next;

	values_free(tree);
	cuts_free(tree);
	places_free(tree);
	HASH_ITER (hh, tree->nodes, node, next) {
		HASH_DEL(tree->nodes, node);
		free(node);
	}
	free(tree->list);
	free(tree->leaves);
	hk_report_strings_fini(&tree->texts);
	hk_report_strings_fini(&tree->functions);
}

/* ---- cutting ---- */

/* Returns where the calls of NODE are counted: in itself, or in what was cut off a caller. */
static struct node *place_of(struct node *node)
{
	return node->kept ? node : node->place;
}

static int value_add(struct tree *tree, struct node *node, const struct hk_stack_row *row)
{
	int64_t function = hk_report_strings_ordinal(&tree->functions, row->function);
	struct value_key key = {.node = node, .function = (uint64_t)function, .group = row->group};
	struct value *value;

	if (function < 0) {
		return -ENOMEM;
	}
	HASH_FIND(hh, tree->values, &key, sizeof(key), value);
	if (!value) {
		value = calloc(1, sizeof(*value));
		if (!value) {
			return -ENOMEM;
		}
		value->key = key;
		HASH_ADD(hh, tree->values, key, sizeof(key), value);
		if (!value->hh.tbl) {
			free(value);
			return -ENOMEM;
		}
	}
	value->calls += row->calls;
	value->total_ns += row->total_ns;
	return 0;
}

/* Keeps the COUNT most expensive frames, and sums the calls from each. */
static int tree_cut(struct tree *tree, const struct hk_stack_rows *rows, size_t count)
{
	values_free(tree);
	cuts_free(tree);
	for (size_t i = 0; i < tree->count; i++) {
		tree->list[i]->kept = i < count;
	}
	for (size_t i = count; i < tree->count; i++) {
		struct node *caller = tree->list[i]->key.caller;
		if (caller->kept && !caller->more) {
			caller->more = calloc(1, sizeof(*caller->more));
			if (!caller->more) {
				return -ENOMEM;
			}
			caller->more->key.caller = caller;
		}
		/* Callers come first in the list, so theirs is known. */
		tree->list[i]->place = caller->kept ? caller->more : caller->place;
		tree->list[i]->place->cut++;
	}
	for (size_t i = 0; i < rows->count; i++) {
		int r = value_add(tree, place_of(tree->leaves[i]), &rows->rows[i]);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

/* ---- writing ---- */

/* Numbers the nodes, callers first, and writes them by column. */
static int nodes_write(struct tree *tree, struct hk_json *json)
{
	struct hk_report_strings shown = {NULL};
	uint32_t number = 0;
	int64_t text = 0;

	hk_json_open(json, "caller", '[');
	for (size_t i = 0; i < tree->count && tree->list[i]->kept; i++) {
		struct node *node = tree->list[i];
		node->number = number++;
		hk_json_int(json, NULL, node->key.caller ? (int64_t)node->key.caller->number : -1);
		if (node->more) {
			node->more->number = number++;
			hk_json_uint(json, NULL, node->number);
		}
	}
	hk_json_close(json, ']');
	/* A text's number, or how many frames were cut off, below 0. */
	hk_json_open(json, "frame", '[');
	for (size_t i = 0; i < tree->count && tree->list[i]->kept && text >= 0; i++) {
		struct node *node = tree->list[i];
		text = hk_report_strings_ordinal(&shown, node->key.text);
		hk_json_int(json, NULL, text);
		if (node->more) {
			hk_json_int(json, NULL, -(int64_t)node->more->cut);
		}
	}
	hk_json_close(json, ']');
	hk_json_open(json, "texts", '[');
	int64_t next = 0;
	for (size_t i = 0; i < tree->count && tree->list[i]->kept && text >= 0; i++) {
		if (hk_report_strings_ordinal(&shown, tree->list[i]->key.text) == next) {
			hk_json_string(json, NULL,
				       tree->list[i]->key.text ? tree->list[i]->key.text : "");
			next++;
		}
	}
	hk_json_close(json, ']');
	hk_report_strings_fini(&shown);
	return text < 0 ? -ENOMEM : 0;
}

static void values_write(const struct tree *tree, struct hk_json *json)
{
	struct value *value, *next;

	/* Node, function, group, calls and time, one after the other. */
	hk_json_open(json, "values", '[');
	HASH_ITER (hh, tree->values, value, next) {
		hk_json_uint(json, NULL, value->key.node->number);
		hk_json_uint(json, NULL, value->key.function);
		hk_json_uint(json, NULL, value->key.group);
		hk_json_uint(json, NULL, value->calls);
		hk_json_uint(json, NULL, value->total_ns);
	}
	hk_json_close(json, ']');
}

/* Writes the functions in the order of their numbers. */
static void functions_write(struct tree *tree, const struct hk_stack_rows *rows,
			    struct hk_json *json)
{
	int64_t next = 0;

	hk_json_open(json, "functions", '[');
	for (size_t i = 0; i < rows->count; i++) {
		const struct hk_stack_row *row = &rows->rows[i];
		const struct hk_stack_share *share = rows->shares;
		if (hk_report_strings_ordinal(&tree->functions, row->function) != next) {
			continue;
		}
		next++;
		while (strcmp(share->function, row->function) != 0) {
			share++;
		}
		hk_json_open(json, NULL, '{');
		hk_json_string(json, "name", row->function);
		hk_json_string(json, "domain", row->domain);
		hk_json_uint(json, "calls", share->calls);
		hk_json_uint(json, "stacks", share->stacks);
		hk_json_uint(json, "total_ns", share->total_ns);
		hk_json_close(json, '}');
	}
	hk_json_close(json, ']');
}

int hk_html_stacks_write(const struct hk_stack_rows *rows, struct hk_json *json)
{
	struct tree tree = {.count = 0};
	size_t kept = HK_HTML_STACK_FRAMES;
	int r = tree_make(&tree, rows);

	do {
		r = r < 0 ? r : tree_cut(&tree, rows, kept);
		kept /= 2;
	} while (r == 0 && HASH_COUNT(tree.values) > HK_HTML_STACK_VALUES && kept > 0);
	if (r == 0) {
		hk_json_newline(json);
		hk_json_open(json, "stacks", '{');
		hk_json_uint(json, "records", rows->records);
		hk_json_uint(json, "records_there", rows->records_there);
		hk_json_uint(json, "refused", rows->refused);
		hk_json_uint(json, "frames_all", tree.count - 1);
		hk_json_int(json, "group_ranks", rows->group_ranks);
		hk_json_uint(json, "groups", HK_HTML_STACK_GROUPS);
		functions_write(&tree, rows, json);
		r = nodes_write(&tree, json);
		values_write(&tree, json);
		hk_json_close(json, '}');
	}
	tree_fini(&tree);
	return r;
}
