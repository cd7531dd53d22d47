/* hook.h: what one line of a hooks file means once parsed. A hook says which symbol to wrap, how
 * its arguments lie in registers and on the stack, and what a call means: which argument is the
 * size of an allocation, which the peer of a send. The agent interprets these structs when a call
 * returns; it never needs a prototype compiled in. Shipped files become constant arrays of struct
 * hk_hook at build time; a user's file is parsed into caller-supplied memory by
 * hooks/language/parser.h. Plain values, no ownership, no locking. */
#ifndef HK_HOOKS_HOOK_H
#define HK_HOOKS_HOOK_H

#include <stdbool.h>
#include <stdint.h>

#define HK_HOOK_ARGS \
	20u /* described arguments of one function; MPI's longest has 11, its Fortran form 12 */
#define HK_HOOK_VALUES 7u	/* named values one record carries */
#define HK_HOOK_FACTORS 4u	/* factors of one value */
#define HK_HOOK_STACK_MOST 255u /* 8-byte stack words that a description can have */
/* Stack words assumed for an undescribed function, which may take any number, unless its line says
 * stack=0. */
#define HK_HOOK_STACK_UNKNOWN HK_HOOK_STACK_MOST

/* How much of a call is kept; each level includes the ones before it. Numbers are part of the
 * segment format. */
enum hk_level {
	HK_LEVEL_DEFAULT = 0, /* the level of the job */
	HK_LEVEL_OFF = 1,     /* slot restored */
	HK_LEVEL_COUNT = 2,   /* calls only, no clock */
	HK_LEVEL_SAMPLE = 3,  /* every call counted, 1 in N timed */
	HK_LEVEL_TIME = 4,    /* statistics of every call */
	HK_LEVEL_RECORD = 5,  /* and a record with the named values */
	HK_LEVEL_ARGS = 6,    /* and every argument and the result ("record+args") */
	HK_LEVEL_STACK = 7,   /* and the call stack ("record+stack") */
};

enum hk_hook_type {
	HK_TYPE_VOID = 0,
	HK_TYPE_INT,   /* 32-bit signed */
	HK_TYPE_UINT,  /* 32-bit unsigned */
	HK_TYPE_LONG,  /* 64-bit signed; off_t, ssize_t */
	HK_TYPE_ULONG, /* 64-bit unsigned; size_t */
	HK_TYPE_PTR,   /* any pointer, also handles such as MPI_Request */
	HK_TYPE_STR,   /* NUL-terminated text */
	HK_TYPE_FD,    /* file descriptor, int */
	HK_TYPE_FLOAT,
	HK_TYPE_DOUBLE,
	HK_TYPE_MPI_DATATYPE, /* MPI handles: an int with MPICH, a pointer with Open MPI; raw 64-bit
				 register here */
	HK_TYPE_MPI_COMM,
	HK_TYPE_NCCL_DATATYPE, /* ncclDataType_t, an int */
	HK_TYPE_NCCL_COMM,     /* ncclComm_t, a pointer */
	HK_TYPE_STRUCT,	       /* a struct of more than 16 bytes, by value: see `words` */
	HK_TYPE_HANDLE,	       /* an opaque word, in signatures only: 0 is no null pointer */
	HK_TYPE_DIM3, /* three 32-bit numbers by value, in two words: the first holds two of them */
	HK_TYPE_TEXT, /* like STR, but kept as long as the record has room */
};

/* Where an argument lies at the entry of the function (System V x86-64 and AAPCS64 agree on the
 * idea). */
enum hk_hook_location {
	HK_PLACE_INTEGER = 0, /* integer register number `index` (0..5 on x86-64) */
	HK_PLACE_FLOAT = 1,   /* vector register number `index` (0..7) */
	HK_PLACE_STACK = 2,   /* 8-byte word `index` above the return address */
};

struct hk_hook_arg {
	const char *name;
	uint8_t type;	   /* enum hk_hook_type */
	uint8_t reference; /* 1: the argument is the address of a value of this type (Fortran, or
			      written int* / out) */
	uint8_t place;	   /* enum hk_hook_location */
	uint8_t index;
	uint8_t words; /* of a struct: 8-byte words, from `index` on if on the stack; where the
			  calling convention passes its address, it is in a register. 2 of a DIM3,
			  from `index` on. Else 0. */
};

/* Domain of the sites whose records hold digests that ranks should agree on (agent/hooktrace.h,
 * hk_agree). The site's function is the tensor, its library the group. */
#define HK_AGREEMENT_DOMAIN "agreement"
#define HK_AGREEMENT_TENSORS 1024u /* of a group at a step */
#define HK_AGREEMENT_GROUPS 64u	   /* of a process */

/* What the named value is; the number is stored in sites and chunks. */
enum hk_key {
	HK_KEY_NONE = 0,
	HK_KEY_POINTER = 1,	/* address allocated or freed */
	HK_KEY_SIZE = 2,	/* bytes allocated or mapped */
	HK_KEY_OLD_POINTER = 3, /* realloc, mremap: address before */
	HK_KEY_OLD_SIZE = 4,	/* mremap: bytes before */
	HK_KEY_BYTES = 5,	/* bytes moved: adds to the site's `bytes` */
	HK_KEY_PEER =
	    6, /* rank in the communicator sent to or received from; root of a rooted collective */
	HK_KEY_TAG = 7,
	HK_KEY_COMM = 8,     /* stable hash of the communicator; HK_COMM_WORLD */
	HK_KEY_NEW_COMM = 9, /* stable hash of a communicator this call created */
	HK_KEY_M = 10,
	HK_KEY_N = 11,
	HK_KEY_K = 12,
	HK_KEY_FD = 13,
	HK_KEY_COUNT = 14, /* elements, requests, events */
	HK_KEY_DEVICE = 15,
	HK_KEY_STREAM = 16,
	HK_KEY_RESULT = 17,
	HK_KEY_STEP = 18,  /* number of a step of the program's main loop */
	HK_KEY_VALUE = 19, /* of a counter: the bits of a double */
	/* Of a device's activity, in ns; the first two before the record's start. */
	HK_KEY_SUBMITTED = 20, /* 0: not known */
	HK_KEY_BEGAN = 21,
	HK_KEY_DURATION = 22,
	HK_KEY_RANK =
	    23, /* the caller's rank in the communicator that NEW_COMM names; -1 unknown */
	HK_KEY_REQUEST = 24, /* address of the first request started or completed; 0: none */
	HK_KEY_INDEX =
	    25, /* of the requests from that address on, the index of the completed one */
	HK_KEY_SOURCE = 26, /* of a call that also sends: rank received from, like PEER */
	HK_KEY_SOURCE_TAG = 27,
	/* Of a device's activity: the thread (uid) that submitted it; 0: not known. */
	HK_KEY_THREAD = 32,
	/* Of a launch. */
	HK_KEY_KERNEL = 40, /* its number in the process, 0 if another call around this one has it;
			       or HK_KERNEL_UNKNOWN of segment_kernels.h */
	HK_KEY_GRID = 41,   /* blocks: x, from bit 32 on y, from bit 48 on z */
	HK_KEY_BLOCK = 42,  /* threads of a block: like a grid */
	HK_KEY_SHARED = 43, /* bytes of shared memory that the launch asks for */
	/* Of values that several ranks should agree on. */
	HK_KEY_DIGEST = 48, /* of one tensor's elements */
	HK_KEY_EPOCH = 49,  /* how often the step numbers have begun again */
};

/* A grid or block as one word. Devices have no more than 2^31 - 1, 65535 and 65535. */
static inline uint64_t hk_dim3_pack(uint64_t x, uint64_t y, uint64_t z)
{
	return (uint32_t)x | (uint64_t)(uint16_t)y << 32 | (uint64_t)(uint16_t)z << 48;
}

#define HK_COMM_WORLD 0x9ae16a3b2f90404fULL /* COMM of MPI_COMM_WORLD */

/* Receiving peers that are not a rank. */
#define HK_PEER_ANY (-1)  /* any rank: the actual one is not known */
#define HK_PEER_NONE (-2) /* no message is received */

enum hk_factor_kind {
	HK_FACTOR_NONE = 0,
	HK_FACTOR_CONST,     /* `constant` */
	HK_FACTOR_ARG,	     /* argument `arg` (dereferenced if it is a reference) */
	HK_FACTOR_RESULT,    /* the integer result */
	HK_FACTOR_POINTEE,   /* *(uint64_t *)argument `arg`, read after the call: posix_memalign's
				memptr */
	HK_FACTOR_TYPE_SIZE, /* MPI: bytes of datatype `arg` */
	HK_FACTOR_SUM, /* MPI: sum of the int array `arg` over the ranks of communicator `arg2` */
	HK_FACTOR_SUM_TYPED,	  /* MPI: sum over ranks of counts[arg] * size of types[arg3],
				     communicator `arg2` */
	HK_FACTOR_IS_ROOT,	  /* MPI: 1 on the rank `arg` of communicator `arg2`, else 0 */
	HK_FACTOR_SENT,		  /* MPI: 0 if buffer `arg` is MPI_IN_PLACE, else 1 */
	HK_FACTOR_COMM,		  /* MPI: stable hash of communicator `arg` */
	HK_FACTOR_NEW_COMM,	  /* MPI: hash given to the communicator written to `arg`, child of
				     communicator `arg2` */
	HK_FACTOR_NEW_RANK,	  /* MPI: the caller's rank in the communicator written to `arg` */
	HK_FACTOR_SENDER,	  /* MPI: rank `arg` of the sender; HK_PEER_ANY, HK_PEER_NONE */
	HK_FACTOR_STATUS_SENDER,  /* MPI: the same; if it is any rank, the one that status `arg2`
				     names */
	HK_FACTOR_WORD,		  /* the 64-bit word `constant` bytes into what `arg` points to */
	HK_FACTOR_INT,		  /* the same for a 32-bit signed one */
	HK_FACTOR_DEVICE,	  /* CUDA: number of the device that is current after the call */
	HK_FACTOR_STREAM_DEVICE,  /* CUDA: number of the device of stream `arg` */
	HK_FACTOR_NCCL_SIZE,	  /* NCCL: bytes of datatype `arg` */
	HK_FACTOR_NCCL_RANKS,	  /* NCCL: ranks of communicator `arg` */
	HK_FACTOR_NCCL_IS_ROOT,	  /* NCCL: 1 on the rank `arg` of communicator `arg2`, else 0 */
	HK_FACTOR_NCCL_COMM,	  /* NCCL: stable hash of communicator `arg` */
	HK_FACTOR_NCCL_NEW_COMM,  /* NCCL: hash given to the communicator written to `arg`, made
				     with the unique id `arg2` */
	HK_FACTOR_NCCL_NEW_COMMS, /* NCCL: the same for the `arg2` communicators of one process
				     written to the array `arg` */
	HK_FACTOR_NCCL_SPLIT,	  /* NCCL: the same for a child of communicator `arg2` with colour
				     `arg3` */
	HK_FACTOR_NCCL_NEW_RANK,  /* NCCL: the caller's rank in the communicator written to `arg` */
	HK_FACTOR_NCCL_SUM,	  /* NCCL: sum of the array of 64-bit words `arg` over the ranks of
				     communicator `arg2` */
	HK_FACTOR_SUM_WORDS,	  /* sum of the `arg2` 64-bit words that `arg` points to */
	HK_FACTOR_EXTENTS,    /* sum over the `arg2` structs that `arg` points to, of the product of
				 three 64-bit words; `constant`: bytes of a struct, offset << 16 */
	HK_FACTOR_DIM3_WORDS, /* three numbers: those of the dim3 `arg` */
	HK_FACTOR_DIM3,	      /* three numbers: arguments `arg`, `arg2`, `arg3` */
	HK_FACTOR_DIM3_AT,    /* three 32-bit numbers `constant` bytes into what `arg` points to */
	HK_FACTOR_KERNEL,     /* CUDA runtime: number of the kernel that function `arg` launches */
	HK_FACTOR_KERNEL_DRIVER, /* CUDA driver: number of the kernel with handle `arg` */
	HK_FACTOR_KERNEL_NAMED,	 /* CUDA: function `arg` launches the kernel of name `arg2`; 0 */
	HK_FACTOR_KERNEL_ALIAS,	 /* CUDA: `arg` is one more handle of kernel `arg2`; 0 */
	HK_FACTOR_KERNEL_GOT,	 /* CUDA: `arg` is a handle, of module `arg2`, of the kernel of name
				    `arg3`; 0 */
	HK_FACTOR_KERNEL_GONE,	 /* CUDA: the handles of module `arg` are gone; 0 */
	HK_FACTOR_CONTEXT,     /* gloo: stable hash of the context whose address `arg` points to */
	HK_FACTOR_NEW_CONTEXT, /* gloo: hash given to the context at `arg` */
	HK_FACTOR_KINDS,
};

struct hk_factor {
	uint8_t kind; /* enum hk_factor_kind */
	uint8_t arg;
	uint8_t arg2;
	uint8_t arg3;
	uint32_t constant;
};

/* One named value: the product of its factors (those before the first HK_FACTOR_NONE). The reader
 * multiplies in order and stops at a factor of 0. The parser puts `sent` and `isroot` first: if one
 * of them is 0, what follows may be invalid. */
struct hk_value {
	uint8_t key; /* enum hk_key */
	uint8_t factor_count;
	struct hk_factor factors[HK_HOOK_FACTORS];
};

enum hk_meaning {
	HK_MEANING_NONE = 0,
	HK_MEANING_ALLOC = 1,	/* values POINTER, SIZE; POINTER 0: no block to count */
	HK_MEANING_FREE = 2,	/* value POINTER */
	HK_MEANING_REALLOC = 3, /* values OLD_POINTER, POINTER, SIZE */
	HK_MEANING_MAP = 4,	/* values POINTER, SIZE; POINTER ~0 failed */
	HK_MEANING_UNMAP = 5,	/* values POINTER, SIZE */
	HK_MEANING_REMAP = 6,	/* values OLD_POINTER, OLD_SIZE, POINTER, SIZE */
	HK_MEANING_SEND = 7,
	HK_MEANING_RECV = 8,
	HK_MEANING_COLLECTIVE = 9,
	HK_MEANING_WAIT = 10,
	HK_MEANING_COPY = 11,
	HK_MEANING_LAUNCH = 12,
	HK_MEANING_COMM = 13, /* creates or frees a communicator */
	HK_MEANING_IO = 14,
	/* An annotation of the program: no call, an instant. Not part of the hooks language. */
	HK_MEANING_MARK = 15,
	HK_MEANING_COUNTER = 16, /* value VALUE */
	/* An activity of a device, reported by a program or by the device's own tracing library:
	 * values DEVICE, STREAM, BYTES, SUBMITTED, BEGAN, DURATION, THREAD. */
	HK_MEANING_DEVICE_KERNEL = 17,
	HK_MEANING_DEVICE_COPY = 18,
	HK_MEANING_DEVICE_SET = 19,
	HK_MEANING_RANGE = 20,	/* a range of the program, treated like a call */
	HK_MEANING_KERNEL = 24, /* gives or takes a kernel's name or handle */
};

/* Whether a record of meaning MEANING describes a device's activity: its values then give the
 * times. */
static inline bool hk_meaning_is_activity(unsigned meaning)
{
	return meaning >= HK_MEANING_DEVICE_KERNEL && meaning <= HK_MEANING_DEVICE_SET;
}

/* Whether a record of meaning MEANING is an instant, which has no duration. */
static inline bool hk_meaning_is_instant(unsigned meaning)
{
	return meaning == HK_MEANING_MARK || meaning == HK_MEANING_COUNTER ||
	       hk_meaning_is_activity(meaning);
}

/* Which results count as errors. */
enum hk_error_rule {
	HK_ERROR_NEVER = 0,
	HK_ERROR_NONZERO = 1, /* int result not 0 (MPI, CUDA, pthread) */
	HK_ERROR_ERRNO =
	    2,		   /* result -1 and errno none of EAGAIN, EWOULDBLOCK, EINPROGRESS, EINTR */
	HK_ERROR_NULL = 3, /* pointer result 0 */
	HK_ERROR_FAILED = 4, /* pointer result -1 (MAP_FAILED) */
	HK_ERROR_IERR = 5, /* Fortran: the int the last argument points to (if not NULL) is not 0 */
};

/* Which libraries answer `current`, `device(STREAM)` and questions about an nccl_comm. */
enum hk_runtime {
	HK_RUNTIME_CUDA = 0, /* and NCCL */
	HK_RUNTIME_HIP,	     /* and RCCL */
	HK_RUNTIME_ACL,	     /* and HCCL */
	HK_RUNTIME_XPU,
};

#define HK_HOOK_TYPE_SIZES 31u /* most data types of a `types` line */

#define HK_HOOK_SHORT 1u /* may last less than a microsecond: read the clock in order */
#define HK_HOOK_SYNC_ALL \
	2u /* collective that no rank can leave before the last has entered (sync=all) */
#define HK_HOOK_FORTRAN 4u   /* Fortran name: handles are ints, arguments are addresses */
#define HK_HOOK_DESCRIBED 8u /* the arguments are known; stack_words is exact */
#define HK_HOOK_DENY 16u     /* never touch this symbol */
/* Result or argument frees memory at the start of the call: an open call delays the ledger. */
#define HK_HOOK_OPEN_FREE 32u
#define HK_HOOK_TRUSTED \
	0x40u /* shipped: no correct program passes a bad address where the line declares one */
#define HK_HOOK_TABLES 0x800u	 /* also hooked where its address lies in a table of pointers */
#define HK_HOOK_MEMORY_SHIFT 12u /* four bits: enum hk_memory of an alloc or free */
#define HK_HOOK_MEMORY_MASK 0xf000u

/* Which memory a call allocates or frees. Pointers of HK_MEMORY_HOST are matched among themselves,
 * those of all others among themselves. Numbers are part of the segment and chunk formats. */
enum hk_memory {
	HK_MEMORY_HOST = 0,    /* the C heap and mappings */
	HK_MEMORY_DEVICE = 1,  /* on a device */
	HK_MEMORY_MANAGED = 2, /* moves between a device and the host by itself */
	HK_MEMORY_PINNED = 3,  /* the host's, locked for devices */
};

static inline enum hk_memory hk_hook_memory(uint32_t flags)
{
	return (enum hk_memory)((flags & HK_HOOK_MEMORY_MASK) >> HK_HOOK_MEMORY_SHIFT);
}

/* What happens in place of the call. */
enum hk_action {
	HK_ACTION_NONE = 0,
	HK_ACTION_REPLACE = 1, /* another function is called */
	HK_ACTION_SKIP = 2,    /* no call; the result is 0 */
	HK_ACTION_RETURN = 3,  /* no call; the result is `returns` */
};

struct hk_hook {
	const char *library; /* glob over the defining object's path or base name; "*" for any */
	const char *symbol;  /* glob */
	const char *domain;  /* "mpi", "blas", "memory", "io", "thread", ... at most 15 bytes */
	const char *from;    /* glob over the calling object like `library`; NULL: any */
	const char *with_library; /* library of the replacement, as dlopen takes it */
	const char *with_symbol;  /* function of the replacement; NULL: the same name */
	const char *type_sizes;	  /* of each nccl_datatype, from 0 on: bytes + '0'; NULL: NCCL's */
	uint64_t returns; /* result of HK_ACTION_RETURN: bits of an integer, pointer or double; a
			     float in the lower half */
	uint8_t action;	  /* enum hk_action */
	uint16_t flags;	  /* HK_HOOK_* */
	uint8_t level;	  /* enum hk_level that the line asks for; DEFAULT if the line has none */
	uint32_t stack_rate; /* stacks that record+stack keeps a second; 0: all */
	uint8_t auto_level;  /* level under `--hooks auto`; OFF: not part of auto */
	uint8_t meaning;     /* enum hk_meaning */
	uint8_t error;	     /* enum hk_error_rule */
	uint8_t result;	     /* enum hk_hook_type */
	uint8_t arg_count;
	uint8_t value_count;
	uint8_t stack_words; /* 8-byte words of stack arguments; if not described, 0: no stack
				arguments */
	uint16_t pending;    /* with HK_ERROR_NONZERO: a further result that is no error, 0: no such
				result */
	uint16_t line;	     /* line in its file, for messages */
	uint8_t runtime;     /* enum hk_runtime */
	struct hk_hook_arg args[HK_HOOK_ARGS];
	struct hk_value values[HK_HOOK_VALUES];
};

#define HK_HOOK_DOMAINS 8u /* most domains of a file that say how they are shown */

/* How views show the calls of a domain. */
struct hk_domain {
	const char *name;     /* at most 15 bytes */
	const char *title;    /* as headers name its share of the time; "": they leave it out */
	uint32_t light, dark; /* 0xrrggbb on light and on dark ground; both 0: the view chooses */
	uint8_t order;	      /* of the share, from 1 to 99; 0: none */
	bool idle;	      /* its calls only wait, for an event or another thread */
};

/* A parsed file: `name` is "mpi", "libc", ... or the path of a user's file. */
struct hk_hook_file {
	const char *name;
	const struct hk_hook *hooks;
	uint32_t hook_count;
	uint32_t bad_lines; /* lines ignored because they did not parse */
	uint32_t domain_count;
	struct hk_domain domains[HK_HOOK_DOMAINS]; /* those with attributes */
};

#endif
