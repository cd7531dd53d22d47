/* checkpoint.h: the ledger of a process in a file of its own, <job directory>/<uid>.ledger, as it
 * was when a certain chunk had been written.
 *
 * The file is replaced by rename, so it is always a whole one, and checked like anybody's bytes. It
 * begins with 48 bytes: u64 magic "HKLEDGR1", u16 major 2, u16 minor 0, u32 48, u8[16] uid, u64
 * number of the chunk, u64 0; the ledger follows (ledger_image.c), then XXH3-64 of all before.
 * Major 1, which is read too, ends before what libraries had at the peak and the values over time.
 */
#ifndef HK_COLLECTOR_MEMORY_CHECKPOINT_H
#define HK_COLLECTOR_MEMORY_CHECKPOINT_H

#include <stdint.h>

#include "collector/memory/ledger.h"

#define HK_CHECKPOINT_SUFFIX ".ledger"

/* Writes PATH: LEDGER has been shown all records up to chunk NUMBER, and no others. -ENAMETOOLONG;
 * -errno of writing: what was there before is still there. */
int hk_checkpoint_write(const char *path, const uint8_t uid[16], uint64_t number,
			const struct hk_ledger *ledger);

/* Fills the new LEDGER of process UID, whose last chunk is LAST_NUMBER. -ENOENT: there is none;
 * -EBADMSG: damaged, of another process or of chunks that are not there; -EPROTO: of another major
 * version; -ENOMEM; -errno. After any error LEDGER is as it was. */
int hk_checkpoint_read(const char *path, const uint8_t uid[16], uint64_t last_number,
		       struct hk_ledger *ledger, uint64_t *ret_number);

#endif
