#include "agent/hooks/regex.h"

#include <errno.h>
#include <string.h>

#define REPEAT_MAX 255u
#define DEPTH_MAX 32u

enum kind { BYTE, ANY, SET, SPLIT, JUMP, BEGIN, END, MATCH };

struct make {
	const char *at;
	struct hk_regex *regex;
	int status;
	uint32_t depth; /* groups open */
};

static void fail(struct make *make, int status)
{
	make->status = make->status < 0 ? make->status : status;
}

/* Inserts a step at PLACE. Later steps move by one. */
static void insert(struct make *make, uint32_t place, enum kind kind, uint32_t byte)
{
	struct hk_regex *regex = make->regex;

	if (regex->count == HK_REGEX_STEPS) {
		fail(make, -E2BIG);
		return;
	}
	memmove(&regex->steps[place + 1], &regex->steps[place],
		(regex->count - place) * sizeof(regex->steps[0]));
	regex->count++;
	for (uint32_t i = 0; i < regex->count; i++) {
		if (i != place && i > place) {
			regex->steps[i].to = (uint16_t)(regex->steps[i].to + 1);
			regex->steps[i].or = (uint16_t)(regex->steps[i].or +1);
		}
	}
	regex->steps[place].kind = (uint8_t)kind;
	regex->steps[place].byte = (uint8_t)byte;
	regex->steps[place].to = (uint16_t)(place + 1);
	regex->steps[place].or = 0;
}

static void add(struct make *make, enum kind kind, uint32_t byte)
{
	insert(make, make->regex->count, kind, byte);
}

/* ---- sets ---- */

static const struct {
	const char *name;
	const char *ranges; /* pairs of first and last byte */
} classes[] = {
    {"alpha", "azAZ"},	   {"digit", "09"},	{"alnum", "azAZ09"}, {"upper", "AZ"},
    {"lower", "az"},	   {"space", "\t\r  "}, {"blank", "\t\t  "}, {"xdigit", "09afAF"},
    {"punct", "!/:@[`{~"}, {"print", " ~"},	{"graph", "!~"},     {"cntrl", "\x01\x1f\x7f\x7f"},
};

static void set_range(uint32_t set[8], uint32_t first, uint32_t last)
{
	for (uint32_t byte = first; byte <= last; byte++) {
		set[byte / 32] |= 1u << byte % 32;
	}
}

/* Parses `[:name:]` at AT, after its `[:`. Returns its bytes, or 0. */
static uint32_t set_class(const char *at, uint32_t set[8])
{
	for (uint32_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		size_t length = strlen(classes[i].name);
		if (strncmp(at, classes[i].name, length) == 0 && at[length] == ':' &&
		    at[length + 1] == ']') {
			for (const char *range = classes[i].ranges; *range; range += 2) {
				set_range(set, (uint8_t)range[0], (uint8_t)range[1]);
			}
			return (uint32_t)length + 2;
		}
	}
	return 0;
}

/* Parses the inside of brackets and their end. */
static void read_set(struct make *make)
{
	struct hk_regex *regex = make->regex;
	const char *at = make->at;
	bool negated = *at == '^';

	if (regex->set_count == HK_REGEX_SETS) {
		fail(make, -E2BIG);
		return;
	}
	uint32_t *set = regex->sets[regex->set_count];
	memset(set, 0, sizeof(regex->sets[0]));
	at += negated;
	for (const char *first = at; *at && (*at != ']' || at == first);) {
		if (at[0] == '[' && (at[1] == ':' || at[1] == '.' || at[1] == '=')) {
			uint32_t bytes = at[1] == ':' ? set_class(at + 2, set) : 0;
			if (!bytes) {
				fail(make, -EINVAL);
				return;
			}
			at += 2 + bytes;
			continue;
		}
		bool range = at[1] == '-' && at[2] && at[2] != ']';
		if (range && (uint8_t)at[2] < (uint8_t)at[0]) {
			fail(make, -EINVAL);
			return;
		}
		set_range(set, (uint8_t)at[0], (uint8_t)at[range ? 2 : 0]);
		at += range ? 3 : 1;
	}
	if (*at != ']') {
		fail(make, -EINVAL);
		return;
	}
	for (uint32_t i = 0; negated && i < 8; i++) {
		set[i] = ~set[i];
	}
	make->at = at + 1;
	add(make, SET, regex->set_count++);
}

/* ---- the pattern ---- */

static void read_alternatives(struct make *make);

static bool is_at(const struct make *make, const char *sign)
{
	return strncmp(make->at, sign, strlen(sign)) == 0;
}

static bool at_branch_end(const struct make *make)
{
	return !*make->at || is_at(make, "\\|") || (make->depth && is_at(make, "\\)"));
}

static void read_atom(struct make *make, bool first)
{
	char c = *make->at++;

	if (c == '\\' && *make->at == '(') {
		make->at++;
		if (++make->depth > DEPTH_MAX) {
			fail(make, -E2BIG);
			return;
		}
		read_alternatives(make);
		make->depth--;
		if (!is_at(make, "\\)")) {
			fail(make, -EINVAL);
			return;
		}
		make->at += 2;
	} else if (c == '\\') {
		c = *make->at;
		if (!c || strchr("123456789(){}wWsSbB<>`'", c)) {
			fail(make, -EINVAL);
			return;
		}
		make->at++;
		add(make, BYTE, (uint8_t)c);
	} else if (c == '[') {
		read_set(make);
	} else if (c == '.') {
		add(make, ANY, 0);
	} else if (c == '^' && first) {
		add(make, BEGIN, 0);
	} else if (c == '$' && at_branch_end(make)) {
		add(make, END, 0);
	} else {
		add(make, BYTE, (uint8_t)c);
	}
}

/* Appends a copy of the steps from FROM on. */
static void copy_steps(struct make *make, uint32_t from, uint32_t count)
{
	struct hk_regex *regex = make->regex;
	uint32_t shift = regex->count - from;

	if (regex->count + count > HK_REGEX_STEPS) {
		fail(make, -E2BIG);
		return;
	}
	for (uint32_t i = 0; i < count; i++) {
		regex->steps[regex->count] = regex->steps[from + i];
		regex->steps[regex->count].to = (uint16_t)(regex->steps[from + i].to + shift);
		regex->steps[regex->count].or = (uint16_t)(regex->steps[from + i].or +shift);
		regex->count++;
	}
}

/* Makes the steps from FROM on optional. */
static void make_optional(struct make *make, uint32_t from)
{
	insert(make, from, SPLIT, 0);
	make->regex->steps[from].or = (uint16_t)make->regex->count;
}

static void make_star(struct make *make, uint32_t from)
{
	insert(make, from, SPLIT, 0);
	add(make, JUMP, 0);
	if (make->status == 0) {
		make->regex->steps[make->regex->count - 1].to = (uint16_t)from;
		make->regex->steps[from].or = (uint16_t)make->regex->count;
	}
}

static bool read_count(struct make *make, uint32_t *ret_count)
{
	uint32_t count = 0;
	const char *from = make->at;

	while (*make->at >= '0' && *make->at <= '9' && count <= REPEAT_MAX) {
		count = count * 10 + (uint32_t)(*make->at++ - '0');
	}
	*ret_count = count;
	return make->at > from;
}

/* `m\}`, `m,\}` or `m,n\}` */
static void read_interval(struct make *make, uint32_t from)
{
	uint32_t least, most, size = make->regex->count - from;
	bool open = false;

	if (!read_count(make, &least)) {
		fail(make, -EINVAL);
		return;
	}
	most = least;
	if (*make->at == ',') {
		make->at++;
		open = !read_count(make, &most);
	}
	if (!is_at(make, "\\}") || least > REPEAT_MAX ||
	    (!open && (most > REPEAT_MAX || most < least))) {
		fail(make, -EINVAL);
		return;
	}
	make->at += 2;
	uint32_t total = open ? least + 1 : most;
	for (uint32_t i = 1; i < total && make->status == 0; i++) {
		copy_steps(make, from, size);
	}
	if (total == 0) {
		make->regex->count = from;
	}
	/* The copies are changed from the last one, so that the positions of earlier ones stay
	 * valid. */
	for (uint32_t i = total; i > least && make->status == 0; i--) {
		if (open) {
			make_star(make, from + (i - 1) * size);
		} else {
			make_optional(make, from + (i - 1) * size);
		}
	}
}

static void read_piece(struct make *make, bool first)
{
	uint32_t from = make->regex->count;
	bool anchor = first && *make->at == '^';

	read_atom(make, first);
	/* After an anchor, a star stands for itself. */
	while (make->status == 0 && !anchor) {
		if (*make->at == '*') {
			make->at++;
			make_star(make, from);
		} else if (is_at(make, "\\?")) {
			make->at += 2;
			make_optional(make, from);
		} else if (is_at(make, "\\+")) {
			make->at += 2;
			copy_steps(make, from, make->regex->count - from);
			make_star(make, from + (make->regex->count - from) / 2);
		} else if (is_at(make, "\\{")) {
			make->at += 2;
			read_interval(make, from);
		} else {
			return;
		}
	}
}

static void read_branch(struct make *make)
{
	const char *start = make->at;

	while (make->status == 0 && !at_branch_end(make)) {
		bool first = make->at == start;
		read_piece(make, first);
	}
}

static void read_alternatives(struct make *make)
{
	uint32_t from = make->regex->count;

	read_branch(make);
	while (make->status == 0 && is_at(make, "\\|")) {
		make->at += 2;
		insert(make, from, SPLIT, 0);
		add(make, JUMP, 0);
		uint32_t jump = make->regex->count - 1;
		if (make->status < 0) {
			return;
		}
		make->regex->steps[from].or = (uint16_t)make->regex->count;
		read_branch(make);
		make->regex->steps[jump].to = (uint16_t)make->regex->count;
	}
}

int hk_regex_make(const char *pattern, struct hk_regex *regex)
{
	struct make make = {.at = pattern, .regex = regex};

	regex->count = regex->set_count = 0;
	read_alternatives(&make);
	add(&make, MATCH, 0);
	if (make.status == 0 && *make.at) {
		make.status = -EINVAL;
	}
	return make.status;
}

/* ---- matching ---- */

struct states {
	uint32_t count;
	uint16_t list[HK_REGEX_STEPS];
	uint32_t seen[HK_REGEX_STEPS / 32];
};

/* Follows the steps that consume no byte. Returns true if the end of the expression is reached. */
static bool enter(const struct hk_regex *regex, struct states *states, uint32_t first, bool begin,
		  bool end)
{
	uint16_t open[HK_REGEX_STEPS * 2];
	uint32_t depth = 0;

	open[depth++] = (uint16_t)first;
	while (depth) {
		uint32_t at = open[--depth];
		if (states->seen[at / 32] >> at % 32 & 1) {
			continue;
		}
		states->seen[at / 32] |= 1u << at % 32;
		switch (regex->steps[at].kind) {
		case MATCH:
			return true;
		case SPLIT:
			open[depth++] = regex->steps[at].or ;
			open[depth++] = regex->steps[at].to;
			break;
		case JUMP:
			open[depth++] = regex->steps[at].to;
			break;
		case BEGIN:
			if (begin) {
				open[depth++] = regex->steps[at].to;
			}
			break;
		case END:
			if (end) {
				open[depth++] = regex->steps[at].to;
			}
			break;
		default:
			states->list[states->count++] = (uint16_t)at;
			break;
		}
	}
	return false;
}

static bool takes(const struct hk_regex *regex, uint32_t at, uint8_t byte)
{
	switch (regex->steps[at].kind) {
	case BYTE:
		return regex->steps[at].byte == byte;
	case SET:
		return regex->sets[regex->steps[at].byte][byte / 32] >> byte % 32 & 1;
	default:
		return true;
	}
}

bool hk_regex_search(const struct hk_regex *regex, const char *text)
{
	struct states states[2];
	uint32_t now = 0;

	memset(states, 0, sizeof(states));
	for (const char *at = text;; at++) {
		struct states *here = &states[now], *next = &states[now ^= 1];
		if (enter(regex, here, 0, at == text, !*at)) {
			return true;
		}
		if (!*at) {
			return false;
		}
		next->count = 0;
		memset(next->seen, 0, sizeof(next->seen));
		for (uint32_t i = 0; i < here->count; i++) {
			uint32_t step = here->list[i];
			if (takes(regex, step, (uint8_t)*at) &&
			    enter(regex, next, regex->steps[step].to, false, !at[1])) {
				return true;
			}
		}
	}
}
