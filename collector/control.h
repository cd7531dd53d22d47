/* control.h: changes the levels of a running job, or fires a trigger of it, on request. One thread.
 */
#ifndef HK_COLLECTOR_CONTROL_H
#define HK_COLLECTOR_CONTROL_H

#include "schema/wire.pb-c.h"

struct hk_collector;
struct hk_job;

#define HK_CONTROL_TEXT_BYTES 192u

/* Does what REQUEST asks for. Returns 1 with the reply, which borrows from JOB, 0 if REQUEST
 * changes nothing, or -errno with the reason in TEXT. */
int hk_control(struct hk_collector *collector, struct hk_job *job,
	       const Hk__ControlRequest *request, Hk__ControlReply *ret_reply,
	       char text[HK_CONTROL_TEXT_BYTES]);

#endif
