#include "cli/compare/array/pickle_machine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MEMO_MAX 65536u /* a pickle of one tensor has about 30 */

static int push_to(struct hk_pickle_values *values, const struct hk_pickle_value *value)
{
	if (values->count == values->room) {
		size_t room = values->room ? values->room * 2 : 32;
		struct hk_pickle_value *list = reallocarray(values->list, room, sizeof(*list));
		if (!list) {
			return -ENOMEM;
		}
		values->list = list;
		values->room = room;
	}
	values->list[values->count++] = *value;
	return 0;
}

static int push(struct hk_pickle_machine *machine, struct hk_pickle_value value)
{
	return push_to(&machine->stack, &value);
}

static int push_kind(struct hk_pickle_machine *machine, enum hk_pickle_kind kind)
{
	return push(machine, (struct hk_pickle_value){.kind = kind});
}

static int push_int(struct hk_pickle_machine *machine, enum hk_pickle_kind kind, int64_t integer)
{
	return push(machine, (struct hk_pickle_value){.kind = kind, .integer = integer});
}

static bool pop(struct hk_pickle_machine *machine, struct hk_pickle_value *value)
{
	if (machine->stack.count == 0) {
		return false;
	}
	*value = machine->stack.list[--machine->stack.count];
	return value->kind != HK_PICKLE_MARK;
}

/* Drops the top COUNT values; a mark among them is an error. */
static int drop(struct hk_pickle_machine *machine, size_t count)
{
	struct hk_pickle_value value;

	for (; count > 0; count--) {
		if (!pop(machine, &value)) {
			return -EINVAL;
		}
	}
	return machine->stack.count > 0 ? 0 : -EINVAL;
}

/* The number of values above the topmost mark. */
static bool marked(const struct hk_pickle_machine *machine, size_t *ret_count)
{
	size_t count = 0;

	while (count < machine->stack.count &&
	       machine->stack.list[machine->stack.count - 1 - count].kind != HK_PICKLE_MARK) {
		count++;
	}
	*ret_count = count;
	return count < machine->stack.count;
}

/* Drops the values above the topmost mark and the mark. */
static int drop_marked(struct hk_pickle_machine *machine)
{
	size_t count;

	if (!marked(machine, &count)) {
		return -EINVAL;
	}
	machine->stack.count -= count + 1;
	return machine->stack.count > 0 ? 0 : -EINVAL;
}

/* Replaces the top COUNT values by a tuple of them. */
static int tuple(struct hk_pickle_machine *machine, size_t count)
{
	struct hk_pickle_values *stack = &machine->stack;

	if (count > stack->count || machine->items.count + count > UINT32_MAX) {
		return -EINVAL;
	}
	struct hk_pickle_value value = {.kind = HK_PICKLE_TUPLE,
					.tuple = {(uint32_t)machine->items.count, (uint32_t)count}};
	for (size_t i = stack->count - count; i < stack->count; i++) {
		if (stack->list[i].kind == HK_PICKLE_MARK) {
			return -EINVAL;
		}
		if (push_to(&machine->items, &stack->list[i]) < 0) {
			return -ENOMEM;
		}
	}
	stack->count -= count;
	return push(machine, value);
}

static int tuple_marked(struct hk_pickle_machine *machine)
{
	size_t count;

	if (!marked(machine, &count)) {
		return -EINVAL;
	}
	int r = tuple(machine, count);
	if (r == 0) { /* the mark is now below the tuple */
		machine->stack.list[machine->stack.count - 2] =
		    machine->stack.list[machine->stack.count - 1];
		machine->stack.count--;
	}
	return r;
}

/* Takes BYTES of the pickle, or returns NULL at its end. */
static const uint8_t *take(struct hk_pickle_machine *machine, uint64_t bytes)
{
	const uint8_t *at = machine->at;

	if ((uint64_t)(machine->end - at) < bytes) {
		return NULL;
	}
	machine->at += bytes;
	return at;
}

/* Takes a number of BYTES bytes, at most 8, without sign. */
static bool take_number(struct hk_pickle_machine *machine, unsigned bytes, uint64_t *ret_number)
{
	const uint8_t *at = take(machine, bytes);

	*ret_number = 0;
	for (unsigned i = 0; at && i < bytes; i++) {
		*ret_number |= (uint64_t)at[i] << (8 * i);
	}
	return at != NULL;
}

static int push_number(struct hk_pickle_machine *machine, unsigned bytes)
{
	uint64_t value;

	if (!take_number(machine, bytes, &value)) {
		return -EINVAL;
	}
	return push_int(machine, HK_PICKLE_INT, bytes == 4 ? (int32_t)value : (int64_t)value);
}

/* LONG1: a number in two's complement of at most 8 bytes. */
static int push_long(struct hk_pickle_machine *machine)
{
	uint64_t bytes, value;

	if (!take_number(machine, 1, &bytes) || bytes > 8 ||
	    !take_number(machine, (unsigned)bytes, &value)) {
		return -EINVAL;
	}
	unsigned unused = 64 - 8 * (unsigned)bytes;
	int64_t integer = bytes ? (int64_t)(value << unused) >> unused : 0;
	return push_int(machine, HK_PICKLE_INT, integer);
}

static int push_text(struct hk_pickle_machine *machine, unsigned length_bytes)
{
	uint64_t length;
	const uint8_t *text;

	if (!take_number(machine, length_bytes, &length) || !(text = take(machine, length))) {
		return -EINVAL;
	}
	return push(machine,
		    (struct hk_pickle_value){.kind = HK_PICKLE_TEXT,
					     .text = {(const char *)text, (size_t)length}});
}

static bool take_line(struct hk_pickle_machine *machine, struct hk_pickle_text *line)
{
	const uint8_t *newline = memchr(machine->at, '\n', (size_t)(machine->end - machine->at));

	if (!newline) {
		return false;
	}
	*line = (struct hk_pickle_text){(const char *)machine->at, (size_t)(newline - machine->at)};
	machine->at = newline + 1;
	return true;
}

static int push_global(struct hk_pickle_machine *machine)
{
	struct hk_pickle_value value = {.kind = HK_PICKLE_GLOBAL};

	if (!take_line(machine, &value.global.module) || !take_line(machine, &value.global.name)) {
		return -EINVAL;
	}
	return push(machine, value);
}

static int stack_global(struct hk_pickle_machine *machine)
{
	struct hk_pickle_value module, name;

	if (!pop(machine, &name) || !pop(machine, &module) || name.kind != HK_PICKLE_TEXT ||
	    module.kind != HK_PICKLE_TEXT) {
		return -EINVAL;
	}
	return push(machine, (struct hk_pickle_value){.kind = HK_PICKLE_GLOBAL,
						      .global = {module.text, name.text}});
}

static int memo_put(struct hk_pickle_machine *machine, uint64_t index)
{
	struct hk_pickle_values *memo = &machine->memo, *stack = &machine->stack;

	if (stack->count == 0 || index >= MEMO_MAX) {
		return -EINVAL;
	}
	while (memo->count <= index) {
		const struct hk_pickle_value none = {.kind = HK_PICKLE_NONE};
		if (push_to(memo, &none) < 0) {
			return -ENOMEM;
		}
	}
	memo->list[index] = stack->list[stack->count - 1];
	return 0;
}

static int memo_put_taken(struct hk_pickle_machine *machine, unsigned bytes)
{
	uint64_t index;

	return take_number(machine, bytes, &index) ? memo_put(machine, index) : -EINVAL;
}

static int memo_get(struct hk_pickle_machine *machine, unsigned bytes)
{
	uint64_t index;

	if (!take_number(machine, bytes, &index) || index >= machine->memo.count) {
		return -EINVAL;
	}
	return push(machine, machine->memo.list[index]);
}

static int reduce(struct hk_pickle_machine *machine)
{
	struct hk_pickle_value function, arguments, result;

	if (!pop(machine, &arguments) || !pop(machine, &function) ||
	    arguments.kind != HK_PICKLE_TUPLE || function.kind != HK_PICKLE_GLOBAL ||
	    !machine->call(machine, &function, &arguments, &result)) {
		return -EINVAL;
	}
	return push(machine, result);
}

static int persistent(struct hk_pickle_machine *machine)
{
	struct hk_pickle_value id, result;

	if (!pop(machine, &id) || !machine->persistent(machine, &id, &result)) {
		return -EINVAL;
	}
	return push(machine, result);
}

/* Opcodes that push one value. */
static int run_value(struct hk_pickle_machine *machine, uint8_t opcode)
{
	switch (opcode) {
	case 'N':
		return push_kind(machine, HK_PICKLE_NONE);
	case 0x88: /* NEWTRUE */
	case 0x89: /* NEWFALSE */
		return push_int(machine, HK_PICKLE_BOOL, opcode == 0x88);
	case 'K':
		return push_number(machine, 1);
	case 'M':
		return push_number(machine, 2);
	case 'J':
		return push_number(machine, 4);
	case 0x8a:
		return push_long(machine);
	case 'G': /* a double */
		return take(machine, 8) ? push_kind(machine, HK_PICKLE_OTHER) : -EINVAL;
	case 0x8c: /* SHORT_BINUNICODE */
		return push_text(machine, 1);
	case 'X':
		return push_text(machine, 4);
	case 0x8d: /* BINUNICODE8 */
		return push_text(machine, 8);
	case 'c':
		return push_global(machine);
	case '}':
	case ']':
		return push_kind(machine, HK_PICKLE_OTHER);
	case '(':
		return push_kind(machine, HK_PICKLE_MARK);
	default:
		return -ENOTSUP;
	}
}

/* Opcodes that take values off the stack, or the memo's. */
static int run_other(struct hk_pickle_machine *machine, uint8_t opcode)
{
	switch (opcode) {
	case ')':
		return tuple(machine, 0);
	case 0x85: /* TUPLE1 to TUPLE3 */
	case 0x86:
	case 0x87:
		return tuple(machine, opcode - 0x84u);
	case 't':
		return tuple_marked(machine);
	case 0x93:
		return stack_global(machine);
	case 'q':
	case 'r':
		return memo_put_taken(machine, opcode == 'q' ? 1 : 4);
	case 0x94: /* MEMOIZE */
		return memo_put(machine, machine->memo.count);
	case 'h':
	case 'j':
		return memo_get(machine, opcode == 'h' ? 1 : 4);
	case 'R':
		return reduce(machine);
	case 'Q':
		return persistent(machine);
	case 'a': /* APPEND */
	case 'b': /* BUILD */
		return drop(machine, 1);
	case 's': /* SETITEM */
		return drop(machine, 2);
	case 'e': /* APPENDS */
	case 'u': /* SETITEMS */
		return drop_marked(machine);
	case 0x80: /* PROTO */
		return take(machine, 1) ? 0 : -EINVAL;
	case 0x95: /* FRAME */
		return take(machine, 8) ? 0 : -EINVAL;
	default:
		return -ENOTSUP;
	}
}

int hk_pickle_run(struct hk_pickle_machine *machine, struct hk_pickle_value *ret_value,
		  uint8_t *ret_opcode)
{
	const uint8_t *opcode;

	while ((opcode = take(machine, 1))) {
		*ret_opcode = *opcode;
		if (*opcode == '.') {
			return pop(machine, ret_value) ? 0 : -EINVAL;
		}
		int r = run_value(machine, *opcode);
		if (r == -ENOTSUP) {
			r = run_other(machine, *opcode);
		}
		if (r < 0) {
			return r;
		}
	}
	return -EINVAL;
}

void hk_pickle_fini(struct hk_pickle_machine *machine)
{
	free(machine->stack.list);
	free(machine->memo.list);
	free(machine->items.list);
}

const struct hk_pickle_value *hk_pickle_item(const struct hk_pickle_machine *machine,
					     const struct hk_pickle_value *tuple, size_t index)
{
	return index < tuple->tuple.count ? &machine->items.list[tuple->tuple.first + index] : NULL;
}

bool hk_pickle_is(const struct hk_pickle_text *text, const char *expected)
{
	return text->length == strlen(expected) && !memcmp(text->text, expected, text->length);
}
