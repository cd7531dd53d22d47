/* segment.h: layout of the shared-memory file that one process image writes and a collector reads.
 *
 * A segment is a tmpfs file <run directory>/<32 hex digits>.seg made of blocks of HK_BLOCK_BYTES.
 * Block 0 is the header. Each further block starts with struct hk_block and holds items of one kind
 * for ever; a block is valid as soon as header.blocks says so. All integers are little-endian and
 * naturally aligned; all offsets count from the file's start. Writers: "agent" fields only by the
 * traced process, "collector" fields only by the one collector of the run directory. A reader
 * copies a bounded range to private memory and then validates it (ring/reader.h); nothing here can
 * be trusted. The normative text is proto/PROTOCOL.md; any change raises HK_SEGMENT_MINOR (added
 * fields) or _MAJOR (changed ones).
 */
#ifndef HK_RING_SEGMENT_H
#define HK_RING_SEGMENT_H

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "ring/segment_kernels.h"

#define HK_SEGMENT_MAGIC 0x315345474b4f4f48ULL /* "HOOKGES1" */
#define HK_SEGMENT_MAJOR 1u
#define HK_SEGMENT_MINOR 5u
#define HK_SEGMENT_SUFFIX ".seg"

#define HK_BLOCK_BYTES 16384u
#define HK_BLOCK_MAGIC 0x4b4c4248u   /* "HBLK" */
#define HK_FIRST_BYTES (1u << 18)    /* file size from the first hooked call on */
#define HK_GROW_BYTES (1u << 20)     /* and its steps after that */
#define HK_SEGMENT_BLOCKS_MAX 65536u /* 1 GiB */

#define HK_OPEN_CALLS 16u /* kept per thread; deeper ones are only counted by `depth` */
#define HK_SITES_MAX (1u << 20)
#define HK_SITES_TIMED 16383u /* of a process; before 1.5 its further ones are counted only */
#define HK_SITE_COUNTED 0x80u /* flag of a site whose calls are counted only; since 1.5 */
#define HK_STRING_MAX 4095u   /* bytes of a string; before 1.5 1023 */
#define HK_SITE_KEYS 8u
#define HK_RULES_MAX 16u
#define HK_RULE_PATTERN_BYTES 120u /* with its NUL */
#define HK_REFUSALS_MAX 16u

/* Histogram geometry: v = d|32, s = msb(v)-5, index = (s<<5) + (d>>s); bucket i of octave index>>5.
 * Error <= 1/64. */
#define HK_OCTAVES 36u
#define HK_OCTAVE_BUCKETS 32u
#define HK_HISTOGRAM_INDEX_MAX (HK_OCTAVES * HK_OCTAVE_BUCKETS - 1u)

enum hk_block_kind {
	HK_BLOCK_THREADS = 1,  /* struct hk_thread_slot */
	HK_BLOCK_CELLS = 2,    /* struct hk_cell */
	HK_BLOCK_OCTAVES = 3,  /* uint64_t[HK_OCTAVE_BUCKETS] */
	HK_BLOCK_SITES = 4,    /* struct hk_site */
	HK_BLOCK_STRINGS = 5,  /* uint16_t length, bytes, NUL, padded to 2 */
	HK_BLOCK_PAGE = 6,     /* one struct hk_page of records */
	HK_BLOCK_FRAMES = 7,   /* struct hk_stack_frame; since 1.3 */
	HK_BLOCK_OBJECTS = 8,  /* struct hk_stack_object; since 1.3 */
	HK_BLOCK_CODES = 9,    /* struct hk_stack_code; since 1.4 */
	HK_BLOCK_ASKS = 10,    /* one struct hk_ask_python; since 1.4 */
	HK_BLOCK_KERNELS = 11, /* struct hk_kernel; since 1.4 */
};

struct hk_block {
	uint32_t magic;	       /* HK_BLOCK_MAGIC */
	uint32_t kind;	       /* enum hk_block_kind */
	uint32_t stride;       /* bytes of one item; 1 for strings, HK_BLOCK_BYTES for a page */
	uint32_t offset;       /* of the first item from the block's start */
	_Atomic uint32_t used; /* items (strings: bytes) in use, grows only */
	uint32_t reserved[11];
};
static_assert(sizeof(struct hk_block) == 64, "block header");

/* ---- header ---- */

enum hk_segment_state {
	HK_STATE_OPEN = 1,
	HK_STATE_EXITED = 2, /* exit() ran; exit_code is valid */
};

enum hk_clock_kind {
	HK_CLOCK_TSC = 1,
	HK_CLOCK_MONOTONIC = 2, /* ticks are nanoseconds */
};

/* The same instant on three clocks. */
struct hk_anchor {
	uint64_t ticks;
	uint64_t monotonic_ns;
	uint64_t realtime_ns;
};

enum hk_refusal {
	HK_REFUSED_PENDING = 0,	  /* object still being relocated when last seen */
	HK_REFUSED_DENIED = 1,	  /* deny list */
	HK_REFUSED_THUNKS = 2,	  /* no thunk left */
	HK_REFUSED_PROTECTED = 3, /* page could not be made writable */
	HK_REFUSED_MEMORY = 4,	  /* no room for the site */
	HK_REFUSED_DATA = 5,	  /* symbol is data, TLS or a weak undefined */
	HK_REFUSED_FOREIGN = 6,	  /* another patcher holds the slot */
	HK_REFUSED_POINTER = 7,	  /* the host may compare the function's address */
	HK_REFUSED_VARIANT = 8,	  /* aarch64: passes registers that no frame of ours keeps */
};

struct hk_coverage {
	uint32_t objects;	  /* objects scanned */
	uint32_t objects_pending; /* not relocated yet at the last scan */
	uint32_t slots_found;	  /* slots that a hook matched */
	uint32_t slots_patched;
	uint32_t slots_refused[HK_REFUSALS_MAX]; /* by enum hk_refusal */
	uint32_t namespaces_hidden;		 /* link-map namespaces the scan cannot see */
	uint32_t scans;
	uint32_t hook_lines_bad;  /* hooks-file lines that did not parse */
	uint32_t hooks;		  /* hooks in force */
	uint32_t symbols_escaped; /* hooked functions whose address was handed out without a hook */
	uint32_t objects_hidden;  /* objects in the hidden namespaces */
	uint32_t reserved[6];
};
static_assert(sizeof(struct hk_coverage) == 128, "coverage");

/* Level wanted for the sites whose "library:symbol" matches the defining object and the function,
 * or "symbol" the function alone; the last matching rule wins. */
struct hk_rule {
	char pattern[HK_RULE_PATTERN_BYTES];
	uint8_t level; /* enum hk_level; 0 = unused rule */
	uint8_t raise; /* 1: only raises lower levels other than off; since 1.5 */
	uint8_t reserved[2];
	uint32_t stack_rate; /* stacks kept a second at level record+stack, 0: all; since 1.4 */
};
static_assert(sizeof(struct hk_rule) == 128, "rule");
static_assert(offsetof(struct hk_rule, stack_rate) == 124, "1.3 reserved it");

struct hk_segment_header {
	/* -- agent, written once before the file gets its name -- */
	uint64_t magic;
	uint16_t major, minor;
	uint32_t header_bytes; /* sizeof(struct hk_segment_header) */
	uint64_t features;     /* bits a reader must know to read on; 0 in 1.0 */
	uint32_t block_bytes;
	uint32_t blocks_max; /* cap of this process */
	uint32_t cell_stride, thread_stride, site_stride, open_calls;
	uint8_t uid[16];		      /* random; also the file's name in hex */
	uint32_t pid, ppid;		      /* in the process's own pid namespace */
	uint64_t pid_namespace;		      /* inode of /proc/self/ns/pid */
	uint64_t pid_start;		      /* field 22 of /proc/self/stat: tells a reused pid */
	int32_t rank, world_size, local_rank; /* -1: unknown */
	uint32_t clock_kind;		      /* enum hk_clock_kind */
	uint64_t tick_ns_q32; /* ns = (ticks * tick_ns_q32) >> 32, as used for every duration of
				 this process */
	struct hk_anchor start;
	uint32_t default_level;	 /* enum hk_level of the job */
	uint32_t short_floor_ns; /* duration that an empty call shows, ns: unordered clock in the
				    low, ordered in the high 16 bits */
	char job[128];		 /* from HOOK_JOB or the launcher; empty: unknown */
	char job_source[32];	 /* the variable that gave the job id */
	char host[64];
	char program[512];  /* /proc/self/exe */
	char command[1024]; /* arguments joined by spaces, cut */
	char hooks[256];    /* HOOK_HOOKS as in force */
	char note[256];	    /* problems of the agent, and changed calls; empty: nothing to report */

	/* -- agent, running -- */
	_Atomic uint32_t blocks;	    /* blocks in the file and valid, block 0 included */
	_Atomic uint32_t state;		    /* enum hk_segment_state */
	int32_t exit_code;		    /* valid once state is HK_STATE_EXITED */
	_Atomic uint32_t sites;		    /* sites defined */
	struct hk_anchor end;		    /* taken at exit */
	_Atomic uint64_t threads_started;   /* thread uids handed out, 1.. */
	_Atomic uint64_t calls_untracked;   /* that found no room: the only calls not in cells */
	_Atomic uint64_t records_untracked; /* records lost before a thread slot could count them */
	struct hk_coverage coverage;
	_Atomic uint64_t step;	     /* reserved for hk_step: current step number + 1 */
	uint64_t end_rss_peak_bytes; /* at exit, as the kernel has it */
	uint64_t end_cpu_ns;	     /* at exit, user and system */
	uint64_t call_cost_ps;	     /* cost of a call at level time, measured; 0: not yet */
	uint32_t count_cost_ps, record_cost_ps; /* the same at levels count and record; since 1.1 */
	uint32_t budget_ppm; /* share of the time that tracing may cost; 0: any; since 1.1 */
	uint32_t setup_ns;   /* duration of the agent's start, hooks and first scan; since 1.1 */
	_Atomic uint32_t blocks_limit; /* blocks it may have now, 0: blocks_max; since 1.2 */
	_Atomic uint32_t untraced;     /* entries asked for of struct hk_untraced; since 1.2 */
	/* Further costs: an ordered clock read on return, an undescribed function, each named value
	 * of a record, and a record that finds no page; since 1.2. */
	uint32_t ordered_extra_ps, copy_extra_ps, value_extra_ps, lost_extra_ps;
	/* What the agent took beside its start and its part of calls: looks at how long a thread
	 * has run. Since 1.2. */
	_Atomic uint64_t looks_ns;
	_Atomic uint64_t stacks_refused; /* stacks that could not be kept; since 1.3 */
	/* What a call costs more among calls in a row than on average; since 1.4. */
	uint32_t row_extra_ps;
	uint32_t detached; /* 1: EXITED because tracing ended before the process; since 1.5 */
	/* By which signal a thread is asked for its stack; 0: it cannot be asked, enum
	 * hk_ask_refusal says why. Since 1.4. */
	_Atomic uint32_t ask_signal, ask_refusal;
	/* The Python interpreter as of the last scan: enum hk_python_state in the upper 32
	 * bits; below that its version, 0x030c: 3.12, 0: older than 3.8. Since 1.4. */
	_Atomic uint64_t python;
	uint8_t parent[16]; /* uid of the image this one was forked from, zeros: begun by exec;
				since 1.1 */

	/* -- collector -- */
	_Atomic uint32_t
	    generation; /* raised when rules change or a rescan is wanted; the agent then checks */
	_Atomic uint32_t attached;     /* pid of the collector that drains this segment; a hint */
	_Atomic uint64_t heartbeat_ns; /* its CLOCK_MONOTONIC at the last pass */
	/* Odd while control_flags, rules or any site's ceiling change; since 1.1, as those are. */
	_Atomic uint32_t control_version;
	_Atomic uint32_t control_flags; /* HK_SEGMENT_* */
	/* Number of the last chunk written of this segment, as of `taken` of its chains; 0: none.
	 * Since 1.2. */
	uint64_t chunks;
	uint64_t reserved_collector[12];
	struct hk_rule rules[HK_RULES_MAX];
};
static_assert(sizeof(struct hk_segment_header) == 4912, "header");
static_assert(offsetof(struct hk_segment_header, blocks) == 2416, "what a running agent writes");
static_assert(offsetof(struct hk_segment_header, coverage) == 2480, "coverage");
static_assert(offsetof(struct hk_segment_header, count_cost_ps) == 2640, "1.0 reserved it");
static_assert(offsetof(struct hk_segment_header, blocks_limit) == 2656, "1.1 reserved it");
static_assert(offsetof(struct hk_segment_header, looks_ns) == 2680, "1.1 reserved it");
static_assert(offsetof(struct hk_segment_header, ask_signal) == 2704, "1.3 reserved it");
static_assert(offsetof(struct hk_segment_header, generation) == 2736, "what a collector writes");
static_assert(offsetof(struct hk_segment_header, control_version) == 2752, "1.0 reserved it");
static_assert(offsetof(struct hk_segment_header, chunks) == 2760, "1.1 reserved it");
static_assert(offsetof(struct hk_segment_header, reserved_collector) == 2768, "and this still");
static_assert(offsetof(struct hk_segment_header, rules) == 2864, "rules");

/* A process forked from the segment's, or from another such process, that has no segment of its
 * own. It writes its entry itself; entry I is its own once it raised header.untraced from I.
 * Since 1.2.
 */
struct hk_untraced {
	_Atomic uint32_t state; /* enum hk_segment_state, set last; 0: not complete */
	int32_t error;		/* -errno of the attempt to make a segment */
	uint32_t pid, ppid;	/* 0: the process may not query it */
	uint64_t pid_start;	/* as in the header */
	struct hk_anchor start; /* zeros: the process may not read its clocks */
	int32_t exit_code;	/* valid in state HK_STATE_EXITED */
	uint32_t reserved[3];
};
static_assert(sizeof(struct hk_untraced) == 64, "untraced process");
#define HK_UNTRACED_OFFSET 8192u /* of the first entry, in block 0 */
#define HK_UNTRACED_MAX 64u	 /* entries; further processes are only counted */
static_assert(HK_UNTRACED_OFFSET + HK_UNTRACED_MAX * sizeof(struct hk_untraced) <= HK_BLOCK_BYTES,
	      "in block 0");

/* Where a process's device time comes from. Agent; zeros: device time is not wanted, or the process
 * made no call of a device's API. Since 1.4. */
enum hk_device_state {
	HK_DEVICE_NONE = 0,
	HK_DEVICE_ON = 1,
	HK_DEVICE_SHARED = 2,	  /* read from the buffers of another tool */
	HK_DEVICE_YIELDED = 3,	  /* another tool has the library: nothing is read */
	HK_DEVICE_NO_LIBRARY = 4, /* it was not found */
	HK_DEVICE_NO_DRIVER = 5,  /* or no device */
	HK_DEVICE_OLD_DRIVER = 6,
	HK_DEVICE_NO_RIGHT = 7,	   /* the driver asks for a privilege */
	HK_DEVICE_NEW_LIBRARY = 8, /* records of its version are not known */
	HK_DEVICE_TAKEN = 9,	   /* a subscriber that cannot share was first */
	HK_DEVICE_FAILED = 10,	   /* `status` says why */
	HK_DEVICE_PARENT = 11,	   /* opened before a fork: of no use in the child */
};

struct hk_device_source {
	_Atomic uint32_t state;	     /* enum hk_device_state */
	uint32_t library;	     /* 1: CUPTI, 2: MSPTI */
	uint32_t version;	     /* as the library says; 0: not known */
	int32_t status;		     /* last result of the library that was a failure */
	_Atomic uint64_t activities; /* recorded */
	_Atomic uint64_t dropped;    /* by the library for lack of a buffer */
	_Atomic uint64_t unlinked;   /* of `activities`, without their call */
	_Atomic uint64_t skipped;    /* records without times, or in a busy buffer */
	_Atomic uint32_t yields;     /* times that another tool took over */
	uint32_t reserved[3];
};
static_assert(sizeof(struct hk_device_source) == 64, "device source");
#define HK_DEVICE_OFFSET 4928u /* in block 0, behind the header */
static_assert(HK_DEVICE_OFFSET >= sizeof(struct hk_segment_header), "behind the header");

/* Why a program that the process started runs without the agent. */
enum hk_bare_reason {
	HK_BARE_ENVIRONMENT = 1, /* LD_PRELOAD of its environment lacks the agent */
	HK_BARE_STATIC = 2,	 /* it has no loader */
	HK_BARE_RIGHTS = 3,	 /* setuid, setgid or capabilities: its loader preloads nothing */
	HK_BARE_FOREIGN = 4,	 /* another C library or processor */
};
#define HK_BARE_REASONS 4u

/* A program that was started without the agent, by exec, posix_spawn, system or popen in the
 * segment's process or in one forked from it. Since 1.4. */
#define HK_BARE_PROGRAM_BYTES 112u
struct hk_bare {
	_Atomic uint32_t reason; /* enum hk_bare_reason, set last; 0: not complete */
	_Atomic uint32_t times;	 /* starts; those that failed are taken off again */
	uint32_t reserved[2];
	char program[HK_BARE_PROGRAM_BYTES]; /* as named; the end of a long name */
};
static_assert(sizeof(struct hk_bare) == 128, "program without the agent");
#define HK_BARE_MAX 24u
struct hk_bare_table {
	_Atomic uint32_t asked; /* entries asked for; further programs are only counted */
	uint32_t reserved[31];
	struct hk_bare entry[HK_BARE_MAX];
};
#define HK_BARE_OFFSET 4992u /* of the table, in block 0 */
static_assert(HK_BARE_OFFSET >= HK_DEVICE_OFFSET + sizeof(struct hk_device_source) &&
		  HK_BARE_OFFSET + sizeof(struct hk_bare_table) <= HK_UNTRACED_OFFSET,
	      "in block 0");

/* ---- stacks on request ---- */

/* Why no thread of a process can be asked for its stack. Since 1.4. */
enum hk_ask_refusal {
	HK_ASK_UNPREPARED = 0, /* the agent is older, or has not started or could not prepare */
	HK_ASK_TAKEN = 1,      /* the program handles or ignores the signal itself */
	HK_ASK_SEALED = 2,     /* the agent makes no system call any more */
};

/* A request to one thread. The collector writes the thread's id and HK_ASK_ASKED, and sends it
 * ask_signal. Its handler answers in place. Each side changes only a state that it expects. 1.4. */
enum hk_ask_state {
	HK_ASK_FREE = 0,
	HK_ASK_ASKED = 1,   /* collector */
	HK_ASK_WRITING = 2, /* the thread alone uses the request until it has answered */
	HK_ASK_ANSWERED = 3,
};
#define HK_ASK_FRAMES 250u

struct hk_ask {
	_Atomic uint64_t state; /* thread id in its pid namespace << 32 | enum hk_ask_state */
	uint64_t ticks;		/* when the thread answered */
	uint32_t count;		/* of frames; 0: no room on the stack */
	uint32_t end;		/* why they end (enum hk_walk_end) */
	uint32_t python_block;	/* number of the block with its Python frames; 0: there are none */
	uint32_t python_count;
	uint32_t python_missing; /* enum hk_ask_python_missing */
	uint32_t reserved[3];
	/* Innermost first: of an instruction under way; or HK_ASK_PYTHON and a frame's number. */
	uint64_t address[HK_ASK_FRAMES];
};
#define HK_ASK_PYTHON (1ull << 63)

enum hk_ask_python_missing {
	HK_ASK_PYTHON_THERE = 0,  /* it has them, or the thread has none */
	HK_ASK_PYTHON_BUSY = 1,	  /* another thread changes the segment: ask again */
	HK_ASK_PYTHON_FULL = 2,	  /* the segment has no room for them */
	HK_ASK_PYTHON_UNSEEN = 3, /* none was found for the interpreter's loop: ask again */
};

/* The Python frames of an answer. Since 1.4. */
#define HK_ASK_PYTHON_FRAMES 240u
#define HK_ASK_TEXT_BYTES 12480u
struct hk_ask_python {
	struct hk_ask_python_frame {
		uint32_t file, name;	   /* where these begin in `text`; 0: not known */
		uint32_t line, first_line; /* first_line: of the function */
	} frame[HK_ASK_PYTHON_FRAMES];
	char text[HK_ASK_TEXT_BYTES]; /* each text ends with a NUL; the first one is empty */
};
static_assert(sizeof(struct hk_ask_python) == HK_BLOCK_BYTES - sizeof(struct hk_block),
	      "one in a block");
static_assert(sizeof(struct hk_ask) == 2048, "request for a stack");
#define HK_ASK_OFFSET 12288u /* of the first request, in block 0 */
#define HK_ASKS 2u
static_assert(HK_ASK_OFFSET >= HK_UNTRACED_OFFSET + HK_UNTRACED_MAX * sizeof(struct hk_untraced) &&
		  HK_ASK_OFFSET + HK_ASKS * sizeof(struct hk_ask) <= HK_BLOCK_BYTES,
	      "in block 0");

#define HK_SEGMENT_OFF 1u /* every site is off, whatever the rules say */

/* ---- sites and strings ---- */

/* A call site: one function as called through one object's slot (or through a shared thunk).
 * Immutable once counted, but for `level`, `pinned` and `ceiling`. */
struct hk_site {
	uint32_t id;	   /* its index in order of creation, 0.. */
	uint32_t function; /* file offset of a string */
	uint32_t library;  /* file offset: path as loaded of the calling object, "*" when the thunk
			      is shared */
	uint32_t provider; /* file offset: path of the defining object, 0 unknown */
	char domain[16];
	uint32_t flags;		/* HK_HOOK_* of hooks/hook.h, HK_SITE_COUNTED */
	uint8_t meaning;	/* enum hk_meaning */
	_Atomic uint8_t level;	/* enum hk_level in force */
	_Atomic uint8_t pinned; /* level given by the user */
	uint8_t key_count;
	uint8_t keys[HK_SITE_KEYS]; /* enum hk_key of each payload word */
	_Atomic uint8_t ceiling;    /* highest enum hk_level the collector's governor grants a site
				       that is not pinned, 0: any. Collector; since 1.1 */
	uint8_t reserved[3];
	uint32_t signature; /* file offset: arguments and result in the text of hooks/signature.h,
			       0: not known; since 1.1 */
};
static_assert(sizeof(struct hk_site) == 56, "site");
static_assert(offsetof(struct hk_site, ceiling) == 48, "the first word that 1.0 reserved");
static_assert(offsetof(struct hk_site, signature) == 52, "its second half");

/* ---- stacks ---- */

/* A function that is open on a stack, as called by one other: a node of the tree of all stacks. A
 * stack is the number of its innermost frame. Immutable. Since 1.3. */
struct hk_stack_frame {
	uint32_t caller; /* number of the frame that called it, from 1 on; 0: not known */
	/* Number of the object, from 1 on; 0: code of no object; HK_FRAME_END; or, since 1.4, of
	 * the code object with HK_FRAME_PYTHON. */
	uint32_t object;
	/* Of the instruction under way: in the addresses of the object's file, in memory without an
	 * object; for HK_FRAME_END, why no further frame is known (enum hk_walk_end); for
	 * HK_FRAME_PYTHON the line, 0: not known. */
	uint64_t address;
};
static_assert(sizeof(struct hk_stack_frame) == 16, "stack frame");
#define HK_FRAME_END 0xffffffffu
#define HK_FRAME_PYTHON 0x80000000u
#define HK_FRAMES_MAX (1u << 20)

/* An object whose code is on a stack. Immutable. Since 1.3. */
#define HK_BUILD_ID_BYTES 32u
struct hk_stack_object {
	uint32_t path; /* file offset of a string: as loaded */
	uint32_t build_id_bytes;
	uint8_t build_id[HK_BUILD_ID_BYTES];
};
static_assert(sizeof(struct hk_stack_object) == 40, "stack object");
#define HK_STACK_OBJECTS_MAX 4096u

/* A Python function, as a code object describes it. Immutable. Since 1.4. */
struct hk_stack_code {
	uint32_t file, name; /* file offsets of strings */
	uint32_t first_line;
	uint32_t reserved;
};
static_assert(sizeof(struct hk_stack_code) == 16, "stack code");
#define HK_STACK_CODES_MAX (1u << 15)

enum hk_python_state {
	HK_PYTHON_NONE = 0,	     /* there is no interpreter */
	HK_PYTHON_READ = 1,	     /* its frames are in the stacks */
	HK_PYTHON_UNKNOWN = 2,	     /* its version's structures are not known */
	HK_PYTHON_FREE_THREADED = 3, /* a build without a global lock */
	HK_PYTHON_MISFIT = 4,	     /* it lacks what its version has */
};

/* ---- statistics ---- */

/* Cumulative statistics of one site as seen by one thread slot; only the slot's current thread
 * writes, each field by one read-modify-write instruction, so that a signal handler in the middle
 * loses nothing. A slot and its cells pass on to a later thread when theirs ends: values only grow.
 * The stride of 320 is odd in cache lines so that cells spread over all sets; `octave` holds file
 * offsets of bucket blocks, 0 until an octave is first touched. */
struct hk_cell {
	uint64_t calls; /* entered */
	uint64_t errors;
	uint64_t total_ns;
	uint64_t self_ns;      /* without hooked callees */
	uint64_t outermost_ns; /* only calls not inside another call of the same domain */
	uint64_t bytes;
	uint64_t min_ns; /* ~0 until a call returned */
	uint64_t max_ns;
	uint32_t site; /* site id + 1; 0: unused cell */
	uint32_t slot; /* thread slot that owns it */
	uint32_t octave[HK_OCTAVES];
	/* The part of the values above that comes from calls timed at level sample, which also
	 * stand for calls that were not timed. Since 1.2. */
	uint64_t sampled, sampled_ns, sampled_self_ns, sampled_outermost_ns, sampled_bytes;
	/* Time on devices: of an activity its own, of a call that of the work that it submitted.
	 * No part of the times above. Since 1.4. */
	uint64_t device_ns;
	uint64_t stacks;      /* calls whose stack was kept; since 1.4 */
	uint64_t inner_calls; /* in total_ns and not in outermost_ns; since 1.5 */
	uint64_t reserved[5];
};
static_assert(sizeof(struct hk_cell) == 320, "cell");
static_assert(offsetof(struct hk_cell, octave) == 72, "octaves");
static_assert(offsetof(struct hk_cell, device_ns) == 256, "1.3 reserved it");
static_assert(offsetof(struct hk_cell, inner_calls) == 272, "1.4 reserved it");

/* ---- threads, open calls, record pages ---- */

#define HK_OPEN_UNKNOWN 0xffffffffu /* as a site: the call at this depth is not known */

struct hk_open_call {
	_Atomic uint32_t site; /* id, or HK_OPEN_UNKNOWN */
	uint32_t frame;	       /* of the call's stack frame: (address >> 4) & 0xffffffff */
	_Atomic uint64_t start_ticks;
};
static_assert(sizeof(struct hk_open_call) == 16, "open call");

enum hk_stream {
	HK_STREAM_CALLS = 0,
	HK_STREAM_MEMORY =
	    1, /* memory meanings have pages of their own: no storm of other calls evicts them */
	HK_STREAM_NESTED =
	    2, /* records of signal handlers that interrupted the writing of a record */
};
#define HK_STREAMS 3u

/* A chain of pages with ever-growing byte positions. `released` counts the records in pages given
 * back, except for the low half of the count: that moves together with `first` by one store, so a
 * killed collector leaves both consistent. Since 1.2. */
struct hk_chain {
	union {
		struct {
			_Atomic uint32_t first; /* block number of the oldest page not yet given
						   back, 0: none yet */
			uint32_t released_low;	/* collector: low half of the count, exact */
		};
		_Atomic uint64_t first_and_released;
	};
	_Atomic uint64_t lost;	   /* records dropped because no page was free */
	_Atomic uint64_t released; /* collector: the count now, or before `first` last moved */
};
static_assert(sizeof(struct hk_chain) == 24, "chain");

enum hk_slot_state {
	HK_SLOT_FREE = 0,
	HK_SLOT_LIVE = 1,
	HK_SLOT_VACANT =
	    2, /* its thread ended; the next new thread takes it over, cells and pages included */
};

struct hk_thread_slot {
	_Atomic uint32_t state; /* enum hk_slot_state */
	_Atomic uint32_t tid;	/* kernel thread id of the current or last owner */
	_Atomic uint64_t uid;	/* ordinal of the current or last owner within the process, 1.. */
	_Atomic uint32_t depth; /* open hooked calls */
	uint32_t reserved;
	struct hk_chain chain[HK_STREAMS];
	struct hk_open_call open[HK_OPEN_CALLS]; /* [depth - 1] is innermost */
	/* Times between outermost MPI calls, from the first such call on, since 1.2: work, time
	 * runnable without a processor, and the work that undisturbed steps need. */
	uint64_t worked_ns, waited_ns, usual_ns;
	/* Calls in the cells that are not timed for lack of room: calls of undescribed functions
	 * from too many return addresses, or inside too many open calls. Since 1.2. */
	uint64_t calls_untimed;
	/* Collector: where each chain had been read to when a chunk was written last. Since 1.2. */
	uint64_t taken[HK_STREAMS];
};
static_assert(sizeof(struct hk_thread_slot) == 408, "thread slot");

enum hk_page_state {
	HK_PAGE_FREE = 0,   /* set by the collector when everything in it is spooled */
	HK_PAGE_ACTIVE = 1, /* a thread writes into it */
	HK_PAGE_FULL = 2,   /* sealed: `written` is final, `next` is the chain's next page */
};

/* One page: a block whose body is records. `written` moves after a record is complete (release;
 * pairs with the reader's acquire), so everything below it is committed. */
struct hk_page {
	struct hk_block block;
	_Atomic uint32_t state;
	uint32_t slot;		  /* owner */
	uint32_t stream;	  /* enum hk_stream */
	_Atomic uint32_t next;	  /* block number of the chain's next page, 0: none */
	uint64_t position;	  /* chain position of the body's first byte */
	_Atomic uint64_t written; /* bytes committed in the body */
	uint64_t thread;	  /* uid of the thread that writes the body's first record */
	uint32_t tid;
	uint32_t reserved[5];
	uint64_t body[];
};
#define HK_PAGE_HEADER_BYTES 128u
#define HK_PAGE_BODY_BYTES (HK_BLOCK_BYTES - HK_PAGE_HEADER_BYTES)
static_assert(sizeof(struct hk_page) == HK_PAGE_HEADER_BYTES, "page header");

/* ---- records ---- */

enum hk_record_kind {
	HK_RECORD_CALL = 1,
	HK_RECORD_UNWOUND = 2, /* left by an exception, longjmp or thread exit; its words are 0 */
	HK_RECORD_FAILED = 4,  /* a call whose result is a failure by its hooks line */
	HK_RECORD_THREAD = 3,  /* words: uid, tid. The chain belongs to this thread from here on */
	/* A call, and a failed one, whose last word is its caller's stack. Since 1.3. */
	HK_RECORD_CALL_STACK = 5,
	HK_RECORD_FAILED_STACK = 6,
};

/* Word 0: start ticks. Word 1: duration ns (32 bits) | site (20) | kind (4) | payload words (8). A
 * duration of HK_DURATION_ESCAPE means that payload word 0 holds the real one. A record never
 * crosses a page. */
#define HK_RECORD_HEADER_WORDS 2u
#define HK_RECORD_WORDS_MAX 32u
#define HK_DURATION_ESCAPE 0xffffffffu
#define HK_RECORD_SITE_SHIFT 32
#define HK_RECORD_KIND_SHIFT 52
#define HK_RECORD_WORDS_SHIFT 56

static inline uint64_t hk_record_word1(uint32_t duration, uint32_t site, uint32_t kind,
				       uint32_t words)
{
	return duration | (uint64_t)site << HK_RECORD_SITE_SHIFT |
	       (uint64_t)kind << HK_RECORD_KIND_SHIFT | (uint64_t)words << HK_RECORD_WORDS_SHIFT;
}

static inline uint32_t hk_histogram_index(uint64_t duration_ns)
{
	uint32_t shift = 58u - (uint32_t)__builtin_clzll(duration_ns | 32u);
	uint64_t index = ((uint64_t)shift << 5) + (duration_ns >> shift);
	return index > HK_HISTOGRAM_INDEX_MAX ? HK_HISTOGRAM_INDEX_MAX : (uint32_t)index;
}

#endif
