#include "cli/export/kineto/kineto_file.h"

#include <errno.h>

int hk_kineto_check(const struct hk_kineto_file *file)
{
	if (!ferror_unlocked(file->json.output)) {
		return 0;
	}
	return errno > 0 ? -errno : -EIO; /* errno as the failed write left it */
}

/* Writes a time. In whole microseconds starts and ends are both rounded down, so that nesting is
 * kept. */
void hk_kineto_time(struct hk_kineto_file *file, const char *key, uint64_t time_ns)
{
	int64_t since_ns = (int64_t)(time_ns - file->base_ns);

	if (file->whole_us) {
		hk_json_int(&file->json, key, since_ns / 1000);
	} else {
		hk_json_microseconds(&file->json, key, since_ns);
	}
}

void hk_kineto_span(struct hk_kineto_file *file, uint64_t start_ns, uint64_t end_ns)
{
	hk_kineto_time(file, "ts", start_ns);
	if (file->whole_us) {
		hk_json_int(
		    &file->json, "dur",
		    (int64_t)((end_ns - file->base_ns) / 1000 - (start_ns - file->base_ns) / 1000));
	} else {
		hk_json_microseconds(&file->json, "dur", (int64_t)(end_ns - start_ns));
	}
}

void hk_kineto_row(struct hk_kineto_file *file, const char *kind, const char *category,
		   const char *name, uint64_t pid, uint64_t tid)
{
	struct hk_json *json = &file->json;

	hk_json_newline(json);
	hk_json_open(json, NULL, '{');
	hk_json_string(json, "ph", kind);
	if (category) {
		hk_json_string(json, "cat", category);
	}
	hk_json_string(json, "name", name);
	hk_json_uint(json, "pid", pid);
	hk_json_uint(json, "tid", tid);
}

/* Opens a row of metadata. It has a time too, without which readers turn all times into
 * fractions. */
static void metadata_open(struct hk_kineto_file *file, const char *name, uint64_t pid, uint64_t tid)
{
	hk_kineto_row(file, "M", NULL, name, pid, tid);
	hk_kineto_time(file, "ts", file->base_ns);
	hk_json_open(&file->json, "args", '{');
}

void hk_kineto_row_end(struct hk_kineto_file *file)
{
	hk_json_close(&file->json, '}'); /* args */
	hk_json_close(&file->json, '}');
}

void hk_kineto_text(struct hk_kineto_file *file, const char *name, uint64_t pid, uint64_t tid,
		    const char *key, const char *text)
{
	metadata_open(file, name, pid, tid);
	hk_json_string(&file->json, key, text);
	hk_kineto_row_end(file);
}

void hk_kineto_index(struct hk_kineto_file *file, const char *name, uint64_t pid, uint64_t tid,
		     uint64_t index)
{
	metadata_open(file, name, pid, tid);
	hk_json_uint(&file->json, "sort_index", index);
	hk_kineto_row_end(file);
}

void hk_kineto_flow(struct hk_kineto_file *file, const char *kind, uint64_t correlation,
		    uint64_t pid, uint64_t tid, uint64_t time_ns)
{
	hk_kineto_row(file, kind, "ac2g", "ac2g", pid, tid);
	hk_kineto_time(file, "ts", time_ns);
	hk_json_uint(&file->json, "id", correlation);
	if (*kind == 'f') {
		hk_json_string(&file->json, "bp", "e");
	}
	hk_json_close(&file->json, '}');
}
