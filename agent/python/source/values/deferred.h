/* deferred.h: rows of tensors on a device, which wait for its answer. Guarded by the GIL. */
#ifndef HK_VALUES_DEFERRED_H
#define HK_VALUES_DEFERRED_H

#include <Python.h>
#include <stdbool.h>

#include "dump/dump.h"

/* Has Python queue the statistics of TENSOR as it is now. Returns the number of a row that waits
 * for them, or HK_DUMP_NONE, which is counted. */
uint32_t hk_deferred_reserve(PyObject *tensor);

/* Keeps a copy of ROW as number NUMBER; a row that is never filled is dropped. */
void hk_deferred_fill(uint32_t number, const struct hk_dump_row *row);

/* The device's answer for row NUMBER: the row is written. Returns false if there is no such row. */
bool hk_deferred_write(uint32_t number, const struct hk_statistics *statistics);

/* Writes row NUMBER with the ELEMENTS, a copy of the tensor in memory. */
bool hk_deferred_write_elements(uint32_t number, const struct hk_tensor *elements);

/* Forgets all rows that still wait; those are counted. */
void hk_deferred_clear(void);

#endif
