/* reader.h: a collector's view of one segment (ring/segment.h), hostile bytes included.
 *
 * Every value is copied to private memory and checked before it is used; a segment that lies,
 * shrinks or disappears makes calls return -EBADMSG or -ESTALE, never a crash: reads of mapped
 * pages run under a SIGBUS guard that poisons this reader alone. One reader per segment and per
 * collector; not thread-safe. The collector also gives pages back here.
 */
#ifndef HK_RING_READER_H
#define HK_RING_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ring/segment.h"

struct hk_reader;

/* The immutable half of the header, copied and checked; strings are NUL-terminated and printable.
 */
struct hk_segment_identity {
	uint8_t uid[16];
	uint8_t parent[16]; /* of a fork without exec */
	bool forked;
	uint32_t pid, ppid;
	uint64_t pid_namespace, pid_start;
	int32_t rank, world_size, local_rank;
	uint32_t clock_kind;
	uint64_t tick_ns_q32;
	struct hk_anchor start;
	uint32_t default_level;
	uint32_t budget_ppm; /* at most a million */
	uint32_t short_floor_ns;
	char job[128], job_source[32], host[64], program[512], command[1024], hooks[256], note[256];
};

/* The changing half at one moment. */
struct hk_segment_status {
	uint32_t state; /* enum hk_segment_state */
	int32_t exit_code;
	uint32_t detached; /* 1: the process runs on without tracing */
	uint32_t blocks, sites;
	struct hk_anchor end;
	uint64_t call_cost_ps;
	uint32_t count_cost_ps, record_cost_ps, setup_ns;
	uint32_t ordered_extra_ps, copy_extra_ps, value_extra_ps, lost_extra_ps, row_extra_ps;
	uint64_t looks_ns;
	uint64_t end_rss_peak_bytes, end_cpu_ns; /* of a process that ended by exit(), else 0 */
	uint32_t untraced; /* processes without a segment that asked for an entry */
	uint32_t bare;	   /* programs without the agent that asked for an entry */
	uint64_t threads_started, calls_untracked, records_untracked, step;
	uint64_t stacks_refused; /* stacks that the process could not keep */
	uint32_t ask_signal;  /* by which threads are asked for their stacks; 0: they cannot be */
	uint32_t ask_refusal; /* why: enum hk_ask_refusal */
	uint64_t python;      /* its interpreter, as the segment has it */
	struct hk_coverage coverage;
	uint64_t bytes; /* of the file */
};

struct hk_site_info {
	uint32_t id, flags;
	uint8_t meaning, level, pinned, ceiling, key_count;
	uint8_t keys[HK_SITE_KEYS];
	char domain[16];
	/* owned by the reader, valid while it lives; what is not known is "" */
	const char *function, *library, *provider, *signature;
};

/* A cell copied out; octave[i] is 0 or a token for hk_reader_octave. */
struct hk_cell_copy {
	uint64_t calls, errors, total_ns, self_ns, outermost_ns, bytes, min_ns, max_ns;
	uint64_t sampled, sampled_ns, sampled_self_ns, sampled_outermost_ns, sampled_bytes;
	uint64_t device_ns;
	uint64_t stacks;
	uint64_t inner_calls;
	uint32_t site, slot;
	uint32_t octave[HK_OCTAVES];
};

/* A Python function; the texts are owned by the reader, "" if they are invalid. */
struct hk_code_copy {
	const char *file, *name;
	uint32_t first_line;
};

struct hk_open_call_copy {
	uint32_t site, depth; /* depth from 1, the outermost */
	uint64_t start_ticks;
};

struct hk_thread_copy {
	uint32_t slot, state, tid, depth;
	uint64_t uid;
	uint64_t lost[HK_STREAMS];
	uint64_t worked_ns, waited_ns, usual_ns;
	uint64_t calls_untimed;
	uint64_t pending_bytes[HK_STREAMS]; /* committed and not yet given back, from this reader's
					       position */
	uint32_t open_count;		    /* of `depth`, what is known: outermost first */
	struct hk_open_call_copy open[HK_OPEN_CALLS];
};

/* A forked process without a segment, as struct hk_untraced has it; `error` is negative. */
struct hk_untraced_copy {
	uint32_t state, pid, ppid;
	int32_t error, exit_code;
	uint64_t pid_start;
	struct hk_anchor start;
};

/* Where the process's device time comes from, as struct hk_device_source has it; state 0: none. */
struct hk_device_copy {
	uint32_t state, library, version, yields;
	int32_t status;
	uint64_t activities, dropped, unlinked, skipped;
};

/* A program without the agent, as struct hk_bare has it. */
struct hk_bare_copy {
	uint32_t reason, times;
	char program[HK_BARE_PROGRAM_BYTES];
};

/* A thread's answer. What HK_ASK_PYTHON marks in `address` is a frame of `python`, whose places of
 * texts are valid. */
struct hk_ask_copy {
	uint32_t count, end; /* frames, and why they end (enum hk_walk_end) */
	uint64_t ticks;
	uint32_t python_count, python_missing; /* enum hk_ask_python_missing */
	uint64_t address[HK_ASK_FRAMES];
	struct hk_ask_python python; /* valid if python_count is not 0 */
};

/* A run of committed record words of one chain, all of one thread, in private memory. */
struct hk_run {
	uint32_t slot, stream;
	uint64_t thread; /* uid of the thread that wrote them */
	uint32_t tid;
	const uint64_t *words; /* valid until the next call on this reader */
	size_t word_count;
	uint64_t
	    end_position; /* chain position after the run: what a chunk's POSITIONS section keeps */
};

/* Opens NAME in the run directory DIRFD. The file must be a regular file owned by this user (or
 * root reading), not a link. 0; -EAGAIN: still being made (or left so by a killed process);
 * -EPROTO: not a segment, damaged, or not named by its uid; -EPROTONOSUPPORT: a version this build
 * does not read; other -errno from open. */
int hk_reader_open(int dirfd, const char *name, struct hk_reader **ret_reader);
void hk_reader_free(struct hk_reader *reader);

/* Returns false if no process but this reader has the file open or mapped for writing, in any pid
 * namespace; true also where the kernel cannot tell. The caller ignores SIGIO: the kernel sends it
 * if the file is opened during the check. */
bool hk_reader_is_shared(const struct hk_reader *reader);

const struct hk_segment_identity *hk_reader_identity(const struct hk_reader *reader);

/* Reads the header again and maps new blocks. Returns 0, or -ESTALE if the file is truncated or
 * poisoned: nothing more can be read. */
int hk_reader_refresh(struct hk_reader *reader, struct hk_segment_status *ret_status);

/* Site ID, or NULL if not (validly) defined yet. Definitions are copied once and cached. */
const struct hk_site_info *hk_reader_site(struct hk_reader *reader, uint32_t id);

/* Iterates over used cells / thread slots; *cursor starts at 0. Returns 1 and a copy, 0 at the end,
 * or -ESTALE if the list is incomplete. Invalid items are skipped and counted in hk_reader_damage.
 * A thread's slot number is its ordinal. */
int hk_reader_next_cell(struct hk_reader *reader, uint64_t *cursor, struct hk_cell_copy *ret_cell);
int hk_reader_next_thread(struct hk_reader *reader, uint64_t *cursor,
			  struct hk_thread_copy *ret_thread);

/* The next frame of the process's stacks, and the next object whose code is on one. *number starts
 * at 0 and is the number of the last one, from 1 on. Returns 1 and a copy, 0 at the end so far, or
 * -ESTALE. A frame's caller is 0 or a lower number than its own, an invalid one reads as 0. The
 * object's path is owned by the reader; "" if it is invalid. */
int hk_reader_next_frame(struct hk_reader *reader, uint32_t *number,
			 struct hk_stack_frame *ret_frame);
int hk_reader_next_object(struct hk_reader *reader, uint32_t *number,
			  struct hk_stack_object *ret_object, const char **ret_path);

/* The next Python function that is on a stack, in the same way. */
int hk_reader_next_code(struct hk_reader *reader, uint32_t *number, struct hk_code_copy *ret_code);

/* The next kernel, like the next frame. Its name is owned by the reader until the next call; it is
 * cut to HK_KERNEL_NAME_BYTES, and "" if it has none or is invalid. */
int hk_reader_next_kernel(struct hk_reader *reader, uint32_t *number, struct hk_kernel *ret_kernel,
			  const char **ret_name);

/* Copies the 32 buckets of an octave token of a cell. Returns 0, -EBADMSG if there is no such
 * octave, or -ESTALE. */
int hk_reader_octave(struct hk_reader *reader, uint32_t token,
		     uint64_t ret_buckets[HK_OCTAVE_BUCKETS]);

/* Sets the position from which chain (slot, stream) is read; called once per chain after a restart,
 * before the first read. Older records that are still there are skipped. */
void hk_reader_seek(struct hk_reader *reader, uint32_t slot, uint32_t stream, uint64_t position);

/* Notes in the segment that chunk NUMBER is written, and how far all chains are read. */
void hk_reader_note(struct hk_reader *reader, uint64_t number);

/* The number that was noted last, by any reader; 0: no number. */
uint64_t hk_reader_noted(const struct hk_reader *reader);

/* Seeks in each chain what was noted last: for a reader that finds no chunks, because they are
 * elsewhere. To be called before the first read. */
void hk_reader_resume(struct hk_reader *reader);

/* Next run of committed records of chain (slot, stream), at most one page. Returns 1, 0 if there is
 * no new record, -EBADMSG if the chain is invalid (it is abandoned: later calls return 0 and the
 * damage is counted), or -ESTALE. Advances this reader's position only. Records of kind
 * HK_RECORD_THREAD are consumed here, not delivered. */
int hk_reader_next_run(struct hk_reader *reader, uint32_t slot, uint32_t stream,
		       struct hk_run *ret_run);

/* Puts back the last WORDS words of RUN, whole records: they are delivered again. Call it before
 * any other call for that chain. */
void hk_reader_put_back(struct hk_reader *reader, const struct hk_run *run, size_t words);

/* Records delivered so far by this reader, or by an earlier one that gave pages back. Lower for a
 * segment from which collectors before 1.2 gave pages back. */
uint64_t hk_reader_records(struct hk_reader *reader);

/* Gives back to the agent every page that lies wholly before the position read so far, in all
 * chains. Call it only after the chunk with those records is safely written. */
void hk_reader_release(struct hk_reader *reader);

/* Bytes of record pages in use, and the most the agent may have; the collector seals a chunk early
 * when the pool runs short. Of the two pools (calls, memory) the fuller one counts, as of the last
 * hk_reader_next_thread over all threads. */
void hk_reader_pool(struct hk_reader *reader, uint64_t *ret_used_bytes, uint64_t *ret_cap_bytes);

/* Writes the collector's pid and heartbeat, and asks the agent to look for new objects and rules at
 * its next hooked call. */
void hk_reader_beat(struct hk_reader *reader, uint32_t collector_pid, uint64_t monotonic_ns);
void hk_reader_raise_generation(struct hk_reader *reader);

/* Copies entry NUMBER (below HK_UNTRACED_MAX) of the processes without a segment. Returns false if
 * the entry is incomplete or invalid. */
bool hk_reader_untraced(struct hk_reader *reader, uint32_t number,
			struct hk_untraced_copy *ret_entry);

/* Copies where the process's device time comes from. Returns false if it has none. */
bool hk_reader_device(struct hk_reader *reader, struct hk_device_copy *ret_source);

/* Copies entry NUMBER (below HK_BARE_MAX) of the programs without the agent. Returns false if the
 * entry is incomplete or invalid, or was withdrawn. */
bool hk_reader_bare(struct hk_reader *reader, uint32_t number, struct hk_bare_copy *ret_entry);

/* Replaces the rules by COUNT (at most HK_RULES_MAX) RULES, sets FLAGS (HK_SEGMENT_*), applies the
 * ceilings set since the last call, and raises the generation. */
void hk_reader_publish(struct hk_reader *reader, const struct hk_rule *rules, uint32_t count,
		       uint32_t flags);

/* Grants site ID, which is defined, at most LEVEL (enum hk_level, 0: any) from the next
 * hk_reader_publish on. */
void hk_reader_set_ceiling(struct hk_reader *reader, uint32_t id, uint8_t level);

/* Puts the request for the stack of thread TID, in the process's pid namespace, into place NUMBER
 * (below HK_ASKS). Returns 0, -EBUSY if another thread is writing its answer there, or -ESTALE. */
int hk_reader_ask(struct hk_reader *reader, uint32_t number, uint32_t tid);

/* Copies the answer of thread TID from place NUMBER. Returns 1, 0 if there is none yet, or -ESTALE.
 */
int hk_reader_answer(struct hk_reader *reader, uint32_t number, uint32_t tid,
		     struct hk_ask_copy *ret_answer);

/* Takes a request back. Returns false if the thread is writing its answer. */
bool hk_reader_unask(struct hk_reader *reader, uint32_t number);

/* Number of items skipped because they were invalid. */
uint64_t hk_reader_damage(const struct hk_reader *reader);

#endif
