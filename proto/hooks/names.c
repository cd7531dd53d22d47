#include "hooks/names.h"

#include <errno.h>
#include <string.h>

#include "hooks/hook.h"

static const char level_words[][HK_NAMES_SIZE] = {
    [HK_LEVEL_DEFAULT] = "default",  [HK_LEVEL_OFF] = "off",
    [HK_LEVEL_COUNT] = "count",	     [HK_LEVEL_SAMPLE] = "sample",
    [HK_LEVEL_TIME] = "time",	     [HK_LEVEL_RECORD] = "record",
    [HK_LEVEL_ARGS] = "record+args", [HK_LEVEL_STACK] = "record+stack",
};

static const char type_words[][HK_NAMES_SIZE] = {
    [HK_TYPE_VOID] = "void",
    [HK_TYPE_INT] = "int",
    [HK_TYPE_UINT] = "uint",
    [HK_TYPE_LONG] = "long",
    [HK_TYPE_ULONG] = "ulong",
    [HK_TYPE_PTR] = "ptr",
    [HK_TYPE_STR] = "str",
    [HK_TYPE_FD] = "fd",
    [HK_TYPE_FLOAT] = "float",
    [HK_TYPE_DOUBLE] = "double",
    [HK_TYPE_MPI_DATATYPE] = "datatype",
    [HK_TYPE_MPI_COMM] = "comm",
    [HK_TYPE_NCCL_DATATYPE] = "nccl_datatype",
    [HK_TYPE_NCCL_COMM] = "nccl_comm",
    [HK_TYPE_STRUCT] = "struct",
    [HK_TYPE_HANDLE] = "handle",
    [HK_TYPE_DIM3] = "dim3",
    [HK_TYPE_TEXT] = "text",
};

static const char key_words[][HK_NAMES_SIZE] = {
    [HK_KEY_POINTER] = "pointer",
    [HK_KEY_SIZE] = "size",
    [HK_KEY_OLD_POINTER] = "old_pointer",
    [HK_KEY_OLD_SIZE] = "old_size",
    [HK_KEY_BYTES] = "bytes",
    [HK_KEY_PEER] = "peer",
    [HK_KEY_TAG] = "tag",
    [HK_KEY_COMM] = "comm",
    [HK_KEY_NEW_COMM] = "newcomm",
    [HK_KEY_M] = "m",
    [HK_KEY_N] = "n",
    [HK_KEY_K] = "k",
    [HK_KEY_FD] = "fd",
    [HK_KEY_COUNT] = "count",
    [HK_KEY_DEVICE] = "device",
    [HK_KEY_STREAM] = "stream",
    [HK_KEY_RESULT] = "result",
    [HK_KEY_STEP] = "step",
    [HK_KEY_VALUE] = "value",
    [HK_KEY_SUBMITTED] = "submitted_ago",
    [HK_KEY_BEGAN] = "began_ago",
    [HK_KEY_DURATION] = "duration",
    [HK_KEY_RANK] = "rank",
    [HK_KEY_REQUEST] = "request",
    [HK_KEY_INDEX] = "index",
    [HK_KEY_SOURCE] = "source",
    [HK_KEY_SOURCE_TAG] = "source_tag",
    [HK_KEY_THREAD] = "thread",
    [HK_KEY_KERNEL] = "kernel",
    [HK_KEY_GRID] = "grid",
    [HK_KEY_BLOCK] = "block",
    [HK_KEY_SHARED] = "shared",
    [HK_KEY_DIGEST] = "digest",
    [HK_KEY_EPOCH] = "epoch",
};

static const char meaning_words[][HK_NAMES_SIZE] = {
    [HK_MEANING_ALLOC] = "alloc",
    [HK_MEANING_FREE] = "free",
    [HK_MEANING_REALLOC] = "realloc",
    [HK_MEANING_MAP] = "map",
    [HK_MEANING_UNMAP] = "unmap",
    [HK_MEANING_REMAP] = "remap",
    [HK_MEANING_SEND] = "send",
    [HK_MEANING_RECV] = "recv",
    [HK_MEANING_COLLECTIVE] = "collective",
    [HK_MEANING_WAIT] = "wait",
    [HK_MEANING_COPY] = "copy",
    [HK_MEANING_LAUNCH] = "launch",
    [HK_MEANING_COMM] = "comm",
    [HK_MEANING_IO] = "io",
    [HK_MEANING_KERNEL] = "kernel",
};

/* HK_ERROR_IERR has no word: only Fortran hooks derived from a C line carry it. */
static const char error_words[][HK_NAMES_SIZE] = {
    [HK_ERROR_NEVER] = "never", [HK_ERROR_NONZERO] = "nonzero", [HK_ERROR_ERRNO] = "errno",
    [HK_ERROR_NULL] = "null",	[HK_ERROR_FAILED] = "failed",
};

static const char memory_words[][HK_NAMES_SIZE] = {
    [HK_MEMORY_HOST] = "host",
    [HK_MEMORY_DEVICE] = "device",
    [HK_MEMORY_MANAGED] = "managed",
    [HK_MEMORY_PINNED] = "pinned",
};

static const char runtime_words[][HK_NAMES_SIZE] = {
    [HK_RUNTIME_CUDA] = "cuda",
    [HK_RUNTIME_HIP] = "hip",
    [HK_RUNTIME_ACL] = "acl",
    [HK_RUNTIME_XPU] = "xpu",
};

#define TABLE(words)                                                      \
	{                                                                 \
		.names = words, .count = sizeof(words) / sizeof(words[0]) \
	}

const struct hk_names hk_names_level = TABLE(level_words);
const struct hk_names hk_names_type = TABLE(type_words);
const struct hk_names hk_names_key = TABLE(key_words);
const struct hk_names hk_names_meaning = TABLE(meaning_words);
const struct hk_names hk_names_error = TABLE(error_words);
const struct hk_names hk_names_memory = TABLE(memory_words);
const struct hk_names hk_names_runtime = TABLE(runtime_words);

int hk_names_find(const struct hk_names *table, const char *text, size_t length)
{
	if (length == 0 || length >= HK_NAMES_SIZE) {
		return -EINVAL;
	}
	for (unsigned i = 0; i < table->count; i++) {
		if (memcmp(table->names[i], text, length) == 0 && table->names[i][length] == '\0') {
			return (int)i;
		}
	}
	return -EINVAL;
}

const char *hk_names_get(const struct hk_names *table, unsigned value)
{
	if (value >= table->count || table->names[value][0] == '\0') {
		return "?";
	}
	return table->names[value];
}

/* Reads ":N/s" of LENGTH bytes. Returns N, or 0 if TEXT is something else. */
static uint32_t read_rate(const char *text, size_t length)
{
	uint32_t rate = 0;

	if (length < 4 || text[0] != ':' || text[length - 2] != '/' || text[length - 1] != 's') {
		return 0;
	}
	for (size_t i = 1; i < length - 2; i++) {
		if (text[i] < '0' || text[i] > '9' || rate > HK_STACK_RATE_MAX) {
			return 0;
		}
		rate = rate * 10 + (uint32_t)(text[i] - '0');
	}
	return rate <= HK_STACK_RATE_MAX ? rate : 0;
}

int hk_level_read(const char *text, size_t length, uint32_t *ret_stack_rate)
{
	const char *colon = memchr(text, ':', length);
	size_t word = colon ? (size_t)(colon - text) : length;
	int level = hk_names_find(&hk_names_level, text, word);

	*ret_stack_rate = colon ? read_rate(colon, length - word) : 0;
	return colon && (level != HK_LEVEL_STACK || *ret_stack_rate == 0) ? -EINVAL : level;
}

int hk_level_parse(const char *text, uint32_t *ret_stack_rate)
{
	return hk_level_read(text, strlen(text), ret_stack_rate);
}

const char *hk_level_print(unsigned level, uint32_t stack_rate, char text[HK_LEVEL_BYTES])
{
	const char *name = hk_level_name(level);
	size_t at = HK_LEVEL_BYTES - 1, length = strlen(name);

	if (level != HK_LEVEL_STACK || stack_rate == 0) {
		return name;
	}
	memcpy(text + at - 2, "/s", 3);
	for (at -= 2; stack_rate > 0; stack_rate /= 10) {
		text[--at] = (char)('0' + stack_rate % 10);
	}
	text[--at] = ':';
	memcpy(text + at - length, name, length);
	return text + at - length;
}

const char *hk_level_name(unsigned level)
{
	return hk_names_get(&hk_names_level, level);
}

const char *hk_key_name(unsigned key)
{
	return hk_names_get(&hk_names_key, key);
}
