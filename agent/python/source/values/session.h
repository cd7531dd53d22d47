/* session.h: the dump that is on, as the files of values/ see it. All of it is guarded by the GIL.
 */
#ifndef HK_VALUES_SESSION_H
#define HK_VALUES_SESSION_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#include "dump/writer.h"

/* Why a value has no row, or none with statistics. */
#define HK_VALUES_REASONS(X)                                                              \
	X(WRAPPER, "tensors without memory of their own (functorch, fake, tracing)")      \
	X(DEVICE, "tensors of devices that were not collected")                           \
	X(DTYPE, "dtypes without statistics")                                             \
	X(LAYOUT, "sparse, quantized and other tensors that are not strided")             \
	X(FREED, "tensors whose storage is smaller than they are")                        \
	X(DEPTH, "containers nested deeper than 4")                                       \
	X(MANY, "values beyond 4096 of one call")                                         \
	X(UNREADABLE, "tensors that raised an error when they were read")                 \
	X(TRACING, "calls while torch.jit traces")                                        \
	X(MODE, "calls under a TorchFunctionMode that cannot be set aside")               \
	X(CHANGED, "elements that changed before they were stored")                       \
	X(FIRST, "inputs of an API that had returned no tensor before")                   \
	X(RAISED, "calls that raised an exception")                                       \
	X(SAME_NODE, "gradients of calls that return their input")                        \
	X(NO_EDGE, "gradients of inputs that another call shares, or that are not known") \
	X(MEMORY, "values without memory for them")

enum hk_values_reason {
#define X(name, text) HK_LEFT_##name,
	HK_VALUES_REASONS(X)
#undef X
	    HK_VALUES_REASONS_MANY
};

/* What Python passes; each is owned, or NULL where the framework has none. */
#define HK_VALUES_FUNCTIONS(X)                                                                    \
	X(classify) /* (type) -> enum hk_values_class */                                          \
	X(read)	    /* (tensor) -> (address, dtype, shape, strides, device, requires_grad, view,  \
		       storage, version, offset, owner of the memory), or None */                 \
	X(queue)    /* (tensor, number of the row) -> None: a tensor of a device */               \
	X(look)	    /* (tensor) -> (least, most), NaN if one is, or None: waits for its device */ \
	X(strided)  /* torch.strided */                                                           \
	X(tracing)  /* () -> None if torch.jit does not trace */                                  \
	X(modes)    /* () -> how many TorchFunctionModes are active */                            \
	X(guard)    /* () -> a context manager that suspends them */                              \
	X(graph_task) /* () -> -1 unless this thread runs a backward pass */                      \
	X(notify)     /* (name, object) -> None: a method of OBJECT is called */                  \
	X(found) /* (name, of, number, phase, slots that were bad, that are) -> whether to save,  \
		    or None */                                                                    \
	X(react) /* () -> None: the find before is saved */

enum hk_values_class {
	HK_CLASS_OTHER = 0,
	HK_CLASS_TENSOR = 1,  /* has torch.Tensor's own methods */
	HK_CLASS_READ = 2,    /* is read by `read` */
	HK_CLASS_WRAPPER = 3, /* has no memory of its own */
	HK_CLASS_SCALAR = 4,  /* str() says all: a dtype, a device */
	HK_CLASS_FIELDS = 5   /* a dataclass, whose fields are visited */
};

struct hk_values {
	bool on;	    /* a dump exists */
	bool taking;	    /* this step is wanted */
	bool payloads;	    /* elements too */
	bool apis, modules; /* levels */
	bool scalars, stacks, backward;
	bool watching;	    /* rows only of calls whose outputs are not finite */
	bool loss_scaled;   /* gradients are multiplied by a loss scale now */
	bool simulated;	    /* all tensors are treated as a device's: for tests without one */
	uint32_t epoch;	    /* counts dumps: what began under another one is dropped */
	uint32_t backwards; /* backward passes that are open */
	uint64_t step, sequence, step_sequence; /* the latter: of the step's first call */
	struct hk_dump_writer *writer;
	PyObject *numbers;    /* {name: calls in this step} */
	PyObject *types;      /* {type: enum hk_values_class} */
	PyObject *dtypes;     /* {dtype: enum hk_dtype} */
	PyObject *node_types; /* {type of a node of autograd: whether it adds up gradients} */
	uint64_t left[HK_VALUES_REASONS_MANY];
	uint64_t calls, backward_calls;
	uint64_t offered_bytes; /* of elements, also of those that are there already */
#define X(name) PyObject *name;
	HK_VALUES_FUNCTIONS(X)
#undef X
};

extern struct hk_values hk_values;

static inline void hk_values_leave(enum hk_values_reason reason)
{
	hk_values.left[reason]++;
}

/* Returns how many calls of NAME this step had before, and counts one more. */
uint32_t hk_values_number(PyObject *name);

/* Calls FUNCTION, one of the above or NULL, with ARGUMENTS, a tuple whose reference is taken. The
 * function lives until it returns, also if the dump ends meanwhile. Returns what it returned, or
 * NULL perhaps with an exception. */
PyObject *hk_values_call(PyObject *function, PyObject *arguments);

/* The text of TEXT as long as TEXT lives, or "" without an exception. */
const char *hk_values_text(PyObject *text);

/* CLOCK_MONOTONIC in ns. */
uint64_t hk_values_now(void);

/* The kernel's number of this thread. */
uint64_t hk_values_thread(void);

#endif
