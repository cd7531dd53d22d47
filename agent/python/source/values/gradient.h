/* gradient.h: gradients of a call, seen by a hook of the node that the call left in autograd's
 * graph. The graph stays as it is. Needs the GIL, leaves no exception. */
#ifndef HK_VALUES_GRADIENT_H
#define HK_VALUES_GRADIENT_H

#include "record.h"

/* Has the gradients of the call of RECORD written when the backward pass comes by. */
void hk_gradient_watch(const struct hk_record *record);

#endif
