#include "agent/stack/rules.h"

#include <stddef.h>

/* DWARF's numbers of registers. */
#if defined(__aarch64__)
#define FRAME_POINTER 29
#define STACK_POINTER 31
#define RETURN_ADDRESS 30
#define BASE 19 /* not used as one */
#else
#define FRAME_POINTER 6
#define STACK_POINTER 7
#define RETURN_ADDRESS 16
#define BASE 3
#endif

#define KEPT_STATES 8 /* DW_CFA_remember_state inside of each other */

/* DW_OP_breg of the two registers, and what else a known expression has. */
#define OP_BREG 0x70
#define OP_DEREF 0x06
#define OP_PLUS 0x23 /* plus_uconst */

enum rule {
	RULE_UNSET,	/* as the ABI has it: the register is unchanged */
	RULE_UNDEFINED, /* it has no value: for the return address, there is no caller */
	RULE_AT_CFA,	/* saved at the CFA + offset */
	RULE_AT_FRAME,	/* saved at the frame pointer + offset */
	RULE_OTHER,
};

struct place {
	enum rule rule;
	int64_t offset;
};

struct state {
	enum hk_row_kind kind; /* of the CFA; HK_ROW_COMPLEX: by another register or expression */
	int64_t cfa;
	struct place frame_pointer, return_address, base;
};

struct machine {
	const struct hk_entry *entry;
	uintptr_t address;  /* wanted */
	uintptr_t location; /* reached */
	struct state now, initial, kept[KEPT_STATES];
	uint32_t kept_count;
	bool failed;
};

static struct place *place_of(struct state *state, uint64_t column)
{
	return column == FRAME_POINTER	  ? &state->frame_pointer
	       : column == RETURN_ADDRESS ? &state->return_address
	       : column == BASE		  ? &state->base
					  : NULL;
}

static void set(struct machine *machine, uint64_t column, enum rule rule, int64_t offset)
{
	struct place *place = place_of(&machine->now, column);

	if (place) {
		*place = (struct place){rule, offset};
	}
}

static void restore(struct machine *machine, uint64_t column)
{
	struct place *place = place_of(&machine->now, column);

	if (place) {
		*place = *place_of(&machine->initial, column);
	}
}

static void set_cfa_register(struct machine *machine, uint64_t column)
{
	machine->now.kind = column == STACK_POINTER   ? HK_ROW_STACK
			    : column == FRAME_POINTER ? HK_ROW_FRAME
			    : column == BASE	      ? HK_ROW_BASE
						      : HK_ROW_COMPLEX;
}

/* Takes an expression's bytes. */
static struct hk_bytes take_block(struct hk_bytes *bytes)
{
	uint64_t length = hk_bytes_unsigned(bytes);
	struct hk_bytes block = *bytes;

	if (bytes->failed || length > (uint64_t)(bytes->end - bytes->at)) {
		bytes->failed = block.failed = true;
		return block;
	}
	block.end = bytes->at + length;
	bytes->at = block.end;
	return block;
}

/* Whether BLOCK is "register + offset", followed by the bytes REST. */
static bool is_sum(struct hk_bytes block, uint8_t column, int64_t *ret_offset, const uint8_t *rest,
		   size_t rest_count)
{
	if (hk_bytes_u8(&block) != OP_BREG + column) {
		return false;
	}
	*ret_offset = hk_bytes_signed(&block);
	for (size_t i = 0; i < rest_count; i++) {
		if (hk_bytes_u8(&block) != rest[i]) {
			return false;
		}
	}
	return !block.failed && block.at == block.end;
}

#if defined(__x86_64__)
/* The expression of linkers for their table of stubs of 16 bytes, of which the last ones come after
 * a push: stack pointer + 8, and 8 more from byte 11 or 10 on, which *ret_pushed says. */
static bool is_stub(struct hk_bytes block, int64_t *ret_offset, uint8_t *ret_pushed)
{
	uint8_t rest[] = {0x80, 0x00, 0x3f, 0x1a, 0x30, 0x2a, 0x33, 0x24, 0x22};

	for (*ret_pushed = 10; *ret_pushed < 12; ++*ret_pushed) {
		rest[4] = 0x30 + *ret_pushed;
		if (is_sum(block, STACK_POINTER, ret_offset, rest, sizeof(rest))) {
			return true;
		}
	}
	return false;
}
#endif

static void set_cfa_expression(struct machine *machine, struct hk_bytes block)
{
	static const uint8_t deref[] = {OP_DEREF}, deref_and_8[] = {OP_DEREF, OP_PLUS, 8};
	struct state *now = &machine->now;

	now->kind = HK_ROW_COMPLEX;
	/* Functions that realign their stack keep its old end in their frame. */
	if (is_sum(block, FRAME_POINTER, &now->cfa, deref, 1)) {
		now->kind = HK_ROW_REALIGNED;
		return;
	}
	/* Others, as OpenSSL's, keep the stack pointer that they began with on their stack. */
	if (is_sum(block, STACK_POINTER, &now->cfa, deref_and_8, sizeof(deref_and_8))) {
		now->kind = HK_ROW_KEPT;
		return;
	}
#if defined(__x86_64__)
	uint8_t pushed;
	if (is_stub(block, &now->cfa, &pushed)) {
		now->kind = HK_ROW_STACK;
		now->cfa += (machine->address & 15) >= pushed ? 8 : 0;
	}
#endif
}

static void set_expression(struct machine *machine, uint64_t column, struct hk_bytes block)
{
	int64_t offset;
	bool known = is_sum(block, FRAME_POINTER, &offset, NULL, 0);

	set(machine, column, known ? RULE_AT_FRAME : RULE_OTHER, known ? offset : 0);
}

static void advance(struct machine *machine, uint64_t delta)
{
	machine->location += delta * machine->entry->code_factor;
}

static void remember(struct machine *machine)
{
	if (machine->kept_count == KEPT_STATES) {
		machine->failed = true;
		return;
	}
	machine->kept[machine->kept_count++] = machine->now;
}

static void recall(struct machine *machine)
{
	if (machine->kept_count == 0) {
		machine->failed = true;
		return;
	}
	machine->now = machine->kept[--machine->kept_count];
}

static int64_t scaled(const struct machine *machine, struct hk_bytes *bytes)
{
	return (int64_t)hk_bytes_unsigned(bytes) * machine->entry->data_factor;
}

static int64_t scaled_signed(const struct machine *machine, struct hk_bytes *bytes)
{
	return hk_bytes_signed(bytes) * machine->entry->data_factor;
}

/* Instructions about the CFA. Returns false if CODE is none of them. */
static bool run_cfa(struct machine *machine, uint8_t code, struct hk_bytes *bytes)
{
	struct state *now = &machine->now;

	switch (code) {
	case 0x0c: /* def_cfa */
		set_cfa_register(machine, hk_bytes_unsigned(bytes));
		now->cfa = (int64_t)hk_bytes_unsigned(bytes);
		return true;
	case 0x12: /* def_cfa_sf */
		set_cfa_register(machine, hk_bytes_unsigned(bytes));
		now->cfa = scaled_signed(machine, bytes);
		return true;
	case 0x0d: /* def_cfa_register */
		set_cfa_register(machine, hk_bytes_unsigned(bytes));
		return true;
	case 0x0e: /* def_cfa_offset */
		now->cfa = (int64_t)hk_bytes_unsigned(bytes);
		return true;
	case 0x13: /* def_cfa_offset_sf */
		now->cfa = scaled_signed(machine, bytes);
		return true;
	case 0x0f: /* def_cfa_expression */
		set_cfa_expression(machine, take_block(bytes));
		return true;
	default:
		return false;
	}
}

/* Instructions about one register. Returns false if CODE is none of them. */
static bool run_register(struct machine *machine, uint8_t code, struct hk_bytes *bytes)
{
	if (code < 0x05 || (code > 0x09 && code != 0x10 && code != 0x11 && code != 0x2f &&
			    (code < 0x14 || code > 0x16))) {
		return false;
	}
	uint64_t column = hk_bytes_unsigned(bytes);
	switch (code) {
	case 0x05: /* offset_extended */
		set(machine, column, RULE_AT_CFA, scaled(machine, bytes));
		break;
	case 0x11: /* offset_extended_sf */
		set(machine, column, RULE_AT_CFA, scaled_signed(machine, bytes));
		break;
	case 0x2f: /* GNU_negative_offset_extended */
		set(machine, column, RULE_AT_CFA, -scaled(machine, bytes));
		break;
	case 0x06: /* restore_extended */
		restore(machine, column);
		break;
	case 0x07:
		set(machine, column, RULE_UNDEFINED, 0);
		break;
	case 0x08: /* same_value */
		set(machine, column, RULE_UNSET, 0);
		break;
	case 0x10:
		set_expression(machine, column, take_block(bytes));
		break;
	case 0x16: /* val_expression */
		take_block(bytes);
		set(machine, column, RULE_OTHER, 0);
		break;
	default: /* register, val_offset, val_offset_sf */
		hk_bytes_unsigned(bytes);
		set(machine, column, RULE_OTHER, 0);
	}
	return true;
}

/* All other instructions. */
static void run_rest(struct machine *machine, uint8_t code, struct hk_bytes *bytes)
{
	switch (code) {
	case 0x00: /* nop */
	case 0x2d: /* AARCH64_negate_ra_state: the signature is taken off every return address */
		break;
	case 0x01: /* set_loc */
		machine->location = hk_bytes_pointer(bytes, machine->entry->encoding);
		break;
	case 0x02:
		advance(machine, hk_bytes_u8(bytes));
		break;
	case 0x03:
		advance(machine, hk_bytes_take(bytes, 2));
		break;
	case 0x04:
		advance(machine, hk_bytes_u32(bytes));
		break;
	case 0x0a:
		remember(machine);
		break;
	case 0x0b:
		recall(machine);
		break;
	case 0x2e: /* GNU_args_size */
		hk_bytes_unsigned(bytes);
		break;
	default:
		machine->failed = true;
	}
}

static void run_one(struct machine *machine, struct hk_bytes *bytes)
{
	uint8_t code = hk_bytes_u8(bytes), operand = code & 0x3f;

	switch (code & 0xc0) {
	case 0x40:
		advance(machine, operand);
		break;
	case 0x80:
		set(machine, operand, RULE_AT_CFA, scaled(machine, bytes));
		break;
	case 0xc0:
		restore(machine, operand);
		break;
	default:
		if (!run_cfa(machine, code, bytes) && !run_register(machine, code, bytes)) {
			run_rest(machine, code, bytes);
		}
	}
}

/* Runs instructions until one is for a later address. */
static void run(struct machine *machine, struct hk_bytes bytes)
{
	while (bytes.at < bytes.end && !machine->failed) {
		run_one(machine, &bytes);
		if (machine->location > machine->address) {
			return; /* an instruction that moves on does nothing else */
		}
		machine->failed |= bytes.failed;
	}
}

/* Sets *ret_words to OFFSET in words. Returns false if a row cannot hold it. LEAST is the row's
 * mark for something else. */
static bool in_words(int64_t offset, int64_t least, int64_t *ret_words)
{
	*ret_words = offset / 8;
	return offset % 8 == 0 && *ret_words > least && *ret_words < -least;
}

static bool put_frame_pointer(const struct state *state, struct hk_row *row)
{
	const struct place *place = &state->frame_pointer;
	int64_t words;

	if (row->kind == HK_ROW_BASE && place->rule == RULE_AT_FRAME) {
		row->kind = HK_ROW_BASE_FRAME;
	}
	bool in_frame = row->kind == HK_ROW_REALIGNED || row->kind == HK_ROW_BASE_FRAME;
	enum rule wanted = in_frame ? RULE_AT_FRAME : RULE_AT_CFA;

	row->fp = HK_ROW_UNCHANGED;
	if (place->rule == RULE_UNSET || place->rule == RULE_UNDEFINED) {
		return true;
	}
	if (place->rule != wanted || !in_words(place->offset, INT16_MIN, &words)) {
		return false;
	}
	row->fp = (int16_t)words;
	return true;
}

static bool put_return_address(const struct state *state, struct hk_row *row)
{
	const struct place *place = &state->return_address;
	int64_t words;

	row->ra = HK_ROW_IN_REGISTER;
	if (place->rule == RULE_UNSET) {
		return true;
	}
	if (place->rule != RULE_AT_CFA || !in_words(place->offset, INT8_MIN, &words)) {
		return false;
	}
	row->ra = (int8_t)words;
	return true;
}

static void run_entry(struct machine *machine, const struct hk_entry *entry, uintptr_t address)
{
	/* Cleared field by field: a whole struct might become a call of memset. */
	static const struct state empty = {.kind = HK_ROW_COMPLEX};

	machine->entry = entry;
	machine->address = address;
	machine->location = entry->start;
	machine->now = machine->initial = empty;
	machine->kept_count = 0;
	machine->failed = entry->return_column != RETURN_ADDRESS;
	run(machine, entry->common);
	machine->initial = machine->now;
	run(machine, entry->own);
}

struct hk_base hk_rules_base(const struct hk_entry *entry, uintptr_t address)
{
	struct machine machine;

	run_entry(&machine, entry, address);
	const struct place *place = &machine.now.base;
	if (machine.failed || entry->signal || place->rule > RULE_AT_CFA) {
		return (struct hk_base){.state = HK_BASE_OTHER};
	}
	return place->rule == RULE_AT_CFA ? (struct hk_base){HK_BASE_SAVED, place->offset}
					  : (struct hk_base){.state = HK_BASE_UNCHANGED};
}

struct hk_row hk_rules_row(const struct hk_entry *entry, uintptr_t address)
{
	struct machine machine;
	struct hk_row row = {.kind = HK_ROW_COMPLEX};

	if (entry->signal) {
		row.kind = HK_ROW_SIGNAL;
		return row;
	}
	run_entry(&machine, entry, address);
	const struct state *state = &machine.now;
	if (!machine.failed && state->return_address.rule == RULE_UNDEFINED) {
		row.kind = HK_ROW_OUTERMOST;
		return row;
	}
	row.kind = (uint8_t)state->kind;
	row.cfa = (int32_t)state->cfa;
	if (machine.failed || state->cfa != row.cfa || !put_frame_pointer(state, &row) ||
	    !put_return_address(state, &row)) {
		row.kind = HK_ROW_COMPLEX;
	}
	return row;
}
