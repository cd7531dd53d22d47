/* An interpreter without an interpreter (simulated). */
#include "interpreter.h"

#include <stddef.h>

unsigned long Py_Version;
uint64_t _PyRuntime[128];
uint64_t PyCode_Type[64], PyFrame_Type[64], PyUnicode_Type[64], PyBytes_Type[64];
struct simulated simulated;

void *PyGILState_GetThisThreadState(void)
{
	return (void *)simulated.thread;
}

void *_PyThreadState_UncheckedGet(void)
{
	simulated.asked++;
	return (void *)simulated.holder;
}

int _Py_IsFinalizing(void)
{
	return simulated.ends;
}

void *_PyEval_EvalFrameDefault(void)
{
	return NULL;
}
