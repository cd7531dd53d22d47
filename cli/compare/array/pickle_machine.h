/* pickle_machine.h: the stack machine of a pickle: values, memo, opcodes. It knows no function; its
 * owner says what a call gives. One owner. */
#ifndef HK_CLI_COMPARE_ARRAY_PICKLE_MACHINE_H
#define HK_CLI_COMPARE_ARRAY_PICKLE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hk_pickle_kind {
	HK_PICKLE_NONE,
	HK_PICKLE_BOOL,
	HK_PICKLE_INT,
	HK_PICKLE_TEXT,
	HK_PICKLE_TUPLE,
	HK_PICKLE_GLOBAL,
	HK_PICKLE_STORAGE, /* of the owner; `storage` is its number */
	HK_PICKLE_TENSOR,  /* of the owner */
	HK_PICKLE_OTHER,   /* a list, dictionary, number or object that no tensor needs */
	HK_PICKLE_MARK
};

struct hk_pickle_text {
	const char *text; /* within the pickle, not NUL-terminated */
	size_t length;
};

struct hk_pickle_value {
	enum hk_pickle_kind kind;
	union {
		int64_t integer; /* BOOL: 0 or 1 */
		struct hk_pickle_text text;
		struct {
			uint32_t first, count; /* in `items` */
		} tuple;
		struct {
			struct hk_pickle_text module, name;
		} global;
		uint32_t storage;
	};
};

struct hk_pickle_values {
	struct hk_pickle_value *list; /* malloc'd */
	size_t count, room;
};

struct hk_pickle_machine {
	const uint8_t *at, *end;
	struct hk_pickle_values stack, memo, items;
	/* Sets *RESULT to what FUNCTION called with ARGUMENTS gives, or to what the persistent ID
	 * names. Returns false for what the owner does not know. */
	bool (*call)(struct hk_pickle_machine *machine, const struct hk_pickle_value *function,
		     const struct hk_pickle_value *arguments, struct hk_pickle_value *result);
	bool (*persistent)(struct hk_pickle_machine *machine, const struct hk_pickle_value *id,
			   struct hk_pickle_value *result);
	void *context;
};

/* Runs until the pickle's end. Returns 0 with its value; -EINVAL if the pickle is damaged or `call`
 * or `persistent` returned false, -ENOTSUP with the opcode in *RET_OPCODE, or -ENOMEM. */
int hk_pickle_run(struct hk_pickle_machine *machine, struct hk_pickle_value *ret_value,
		  uint8_t *ret_opcode);
void hk_pickle_fini(struct hk_pickle_machine *machine);

/* Item INDEX of TUPLE, which is a tuple; NULL if it has no such item. */
const struct hk_pickle_value *hk_pickle_item(const struct hk_pickle_machine *machine,
					     const struct hk_pickle_value *tuple, size_t index);

bool hk_pickle_is(const struct hk_pickle_text *text, const char *expected);

#endif
