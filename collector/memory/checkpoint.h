/* checkpoint.h: a file with the ledger of a process, <job directory>/<uid>.ledger, as it was after
 * a certain chunk.
 *
 * The file is replaced by rename, so it is always complete. Its bytes are hostile and checked. It
 * begins with 48 bytes: u64 magic "HKLEDGR1", u16 major 2, u16 minor 0, u32 48, u8[16] uid, u64
 * number of the chunk, u64 0; the ledger follows (ledger_image.c), then XXH3-64 of all before.
 * Major 1, which is read too, has neither the bytes of libraries at the peak nor the values over
 * time.
 */
#ifndef HK_COLLECTOR_MEMORY_CHECKPOINT_H
#define HK_COLLECTOR_MEMORY_CHECKPOINT_H

#include <stdint.h>

#include "collector/memory/ledger.h"

#define HK_CHECKPOINT_SUFFIX ".ledger"

/* Writes LEDGER, which has all records up to chunk NUMBER and no others, to PATH. Returns 0,
 * -ENAMETOOLONG, or -errno of writing: the old file then stays. */
int hk_checkpoint_write(const char *path, const uint8_t uid[16], uint64_t number,
			const struct hk_ledger *ledger);

/* Fills the new LEDGER of process UID, whose last chunk is LAST_NUMBER. Returns 0, -ENOENT if there
 * is no file, -EBADMSG if it is damaged, of another process or of missing chunks, -EPROTO if it has
 * another major version, -ENOMEM, or another -errno. An error leaves LEDGER unchanged. */
int hk_checkpoint_read(const char *path, const uint8_t uid[16], uint64_t last_number,
		       struct hk_ledger *ledger, uint64_t *ret_number);

#endif
