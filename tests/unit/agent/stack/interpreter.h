/* interpreter.h: what an interpreter exports (simulated), and what its functions answer. */
#ifndef HK_UNIT_AGENT_STACK_INTERPRETER_H
#define HK_UNIT_AGENT_STACK_INTERPRETER_H

#include <stdint.h>

#pragma GCC visibility push(default)
extern unsigned long Py_Version;
extern uint64_t _PyRuntime[128];
extern uint64_t PyCode_Type[64], PyFrame_Type[64], PyUnicode_Type[64], PyBytes_Type[64];
void *PyGILState_GetThisThreadState(void);
void *_PyThreadState_UncheckedGet(void);
int _Py_IsFinalizing(void);
void *_PyEval_EvalFrameDefault(void);

extern struct simulated {
	uint64_t thread, holder;
	int ends;
	unsigned asked; /* for the holder */
} simulated;
#pragma GCC visibility pop

#endif
