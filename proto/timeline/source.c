#include "timeline/source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "hooks/hook.h"
#include "wire/nodes.h"

int hk_source_open(const Hk__Job *job, const char *directory, const Hk__Process *process)
{
	static const char digits[] = "0123456789abcdef";
	char path[PATH_MAX], name[33] = {0};

	if (process->uid.len != 16) {
		return -EBADMSG;
	}
	for (size_t i = 0; i < 16; i++) {
		name[2 * i] = digits[process->uid.data[i] >> 4];
		name[2 * i + 1] = digits[process->uid.data[i] & 15];
	}
	if (snprintf(path, sizeof(path), "%s/%s/%s.chunks", directory,
		     hk_nodes_directory(job, process), name) >= (int)sizeof(path)) {
		return -ENAMETOOLONG;
	}
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	return fd < 0 ? -errno : fd;
}

/* Returns the ticks of DURATION_NS, rounded up, because the process rounded down when it converted
 * ticks to nanoseconds. */
static uint64_t ticks_of(uint64_t tick_ns_q32, uint64_t duration_ns)
{
	unsigned __int128 scaled = ((unsigned __int128)duration_ns << 32) + tick_ns_q32 - 1;
	unsigned __int128 ticks = scaled / tick_ns_q32;

	return ticks > UINT64_MAX ? UINT64_MAX : (uint64_t)ticks;
}

int64_t hk_source_end_ns(const struct hk_report_clock *clock, uint64_t tick_ns_q32,
			 const struct hk_record *record)
{
	uint64_t end;

	if (__builtin_add_overflow(record->start_ticks, ticks_of(tick_ns_q32, record->duration_ns),
				   &end)) {
		end = UINT64_MAX;
	}
	return hk_report_clock_ns(clock, end);
}

void hk_source_raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

void hk_source_slice(const struct hk_record *record, const struct hk_export_site *site,
		     struct hk_slice *slice)
{
	slice->site = site;
	slice->unwound = record->kind == HK_CHUNK_KIND_UNWOUND;
	slice->failed = record->kind == HK_CHUNK_KIND_FAILED;
	slice->word_count =
	    record->word_count < site->key_count ? record->word_count : site->key_count;
	memcpy(slice->words, record->words, slice->word_count * sizeof(slice->words[0]));
	slice->extra_count = 0;
	slice->stack = record->stack;
	slice->flow_out = slice->flow_joint = 0;
	slice->flow_first = false;
	slice->flow_held = NULL;
	slice->arrival_count = 0;
	if (record->word_count > site->key_count && site->signature) {
		slice->extra_count = (uint8_t)(record->word_count - site->key_count);
		memcpy(slice->extra, record->words + site->key_count,
		       slice->extra_count * sizeof(slice->extra[0]));
	}
}

bool hk_source_is_call(uint8_t kind)
{
	return kind == HK_CHUNK_KIND_CALL || kind == HK_CHUNK_KIND_UNWOUND ||
	       kind == HK_CHUNK_KIND_FAILED;
}

bool hk_source_is_instant(const struct hk_export_site *site)
{
	return hk_meaning_is_instant(site->meaning);
}
