/* reader.h: reads a process's part of a dump. Files are hostile: everything is checked, a torn or
 * damaged tail is left out and said. A reader belongs to one thread. */
#ifndef HK_DUMP_READER_H
#define HK_DUMP_READER_H

#include "dump/dump.h"
#include "dump/writer.h"

struct hk_dump_file;

/* Opens FILE and reads all rows, not the elements. Returns NULL with the REASON in BYTES. */
struct hk_dump_file *hk_dump_file_open(const char *path, char *reason, size_t bytes);
void hk_dump_file_close(struct hk_dump_file *file);

const char *hk_dump_file_about(const struct hk_dump_file *file); /* the JSON object */
uint32_t hk_dump_file_rank(const struct hk_dump_file *file);
size_t hk_dump_file_rows(const struct hk_dump_file *file);

/* Row INDEX, in the order in which the process added them. Its texts live as long as FILE. */
void hk_dump_file_row(const struct hk_dump_file *file, size_t index, struct hk_dump_row *row);

/* The frames of STACK, innermost first, until the next call. Returns how many there are: 0 if there
 * is no such stack. */
uint32_t hk_dump_file_stack(struct hk_dump_file *file, uint32_t stack,
			    const char *const **ret_frames);

/* The elements of the row INDEX, contiguous, until the next call or close. Returns NULL with
 * *REASON: none were stored, or they are damaged. */
const void *hk_dump_file_elements(struct hk_dump_file *file, size_t index, const char **reason);

/* As the writer last wrote them. *RET_COMPLETE: the file was closed by its writer. *RET_DAMAGE: why
 * rows may be missing, or NULL. */
struct hk_dump_counts hk_dump_file_counts(const struct hk_dump_file *file, bool *ret_complete,
					  const char **ret_damage);

#endif
