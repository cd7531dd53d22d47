/* record.h: the values of one call, from its begin until its rows are written. Guarded by the GIL.
 */
#ifndef HK_VALUES_RECORD_H
#define HK_VALUES_RECORD_H

#include "python/source/apis.h"
#include "tensor.h"

#define HK_SLOT_BYTES 56

struct hk_value {
	char slot[HK_SLOT_BYTES];
	enum hk_dump_role role;
	char *scalar;	  /* or NULL: a tensor; by malloc */
	PyObject *tensor; /* owned */
	void *copy;	  /* of the elements, contiguous, or NULL; by malloc */
	enum hk_values_class class;
	struct hk_view view;
	struct hk_statistics statistics;
	bool has_statistics;
	uint32_t deferred;   /* on a device: of hk_deferred_reserve() */
	bool takes_gradient; /* the next two are known */
	PyObject *node;	     /* that made the tensor, before the call; NULL: a leaf; owned */
	uint32_t output;     /* the tensor's number among the node's outputs */
};

struct hk_record {
	struct hk_api_seen seen; /* the first: what the call is known by */
	struct hk_record *next;	 /* of free ones */
	uint32_t epoch, place;	 /* of the API in hk_apis */
	enum hk_dump_kind kind;
	bool is_module, is_backward_pass; /* what the call is, beside an API */
	bool wanted;			  /* its values are taken */
	bool has_inputs;		  /* they were taken at its begin */
	bool early;			  /* the inputs' rows are written */
	PyObject *name, *of;		  /* texts; owned */
	PyObject *optimizer;		  /* whose step the call is, or NULL; owned */
	uint32_t number, stack, flags;
	uint64_t sequence, thread;
	size_t many, room, inputs; /* values; of these, inputs come first */
	struct hk_value *values;
};

/* A record without values, or NULL without memory. */
struct hk_record *hk_record_new(void);
void hk_record_free(struct hk_record *record);

/* A place for one more value of RECORD at SLOT, or NULL, which is counted. */
struct hk_value *hk_record_add(struct hk_record *record, enum hk_dump_role role, const char *slot);

/* What a row has of RECORD and of its VALUE, in phase FORWARD. The row refers to both. */
struct hk_dump_row hk_record_row(const struct hk_record *record, const struct hk_value *value);

/* Writes VALUE, which also has its elements where they are wanted and HAS_ELEMENTS. */
void hk_record_write(const struct hk_record *record, const struct hk_value *value,
		     bool has_elements);

/* Whether VALUE's elements, if they are to be stored, are still where they were: since then another
 * thread may have run, which gave the tensor another storage or size. That is counted. */
bool hk_record_has_memory(const struct hk_value *value);

/* Writes ROW of a tensor with VIEW now, or when its device has answered for DEFERRED. */
void hk_record_write_row(const struct hk_dump_row *row, const struct hk_view *view,
			 uint32_t deferred, bool has_elements);

/* Keeps a copy of VALUE's elements, as they are now; without memory they are counted as left out.
 */
void hk_record_copy(struct hk_value *value);

/* Has VALUE, if it is on a device, queued there for a row. A watch does so for finds only. */
void hk_record_defer(struct hk_value *value);

/* The same for the values of RECORD, which is a find. An input that the call has changed has no
 * elements. */
void hk_record_defer_find(struct hk_record *record);

/* Whether RECORD's call has changed VALUE, an input, in place. */
bool hk_record_is_changed(const struct hk_record *record, const struct hk_value *value);

/* Takes the STATISTICS of VIEW where its elements can be read. Returns whether it did. */
bool hk_record_measure(const struct hk_view *view, struct hk_statistics *statistics);

#endif
