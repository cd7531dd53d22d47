#include "apis.h"
#include "beyond.h"
#include "stack.h"

/* CPython 3.11 runs calls between Python functions without their slots, unless a frame evaluator is
 * installed. Under one each call takes C stack, so this one ends a recursion before the stack. */

#define ONLY_ON(version) ((version) >> 16 == 0x30b)
#define FRAME_OWNER 69 /* _PyInterpreterFrame.owner of 3.11 */

static __thread struct hk_stack stack;

static hk_evaluate default_evaluator(void)
{
	return (hk_evaluate)(void (*)(void))_PyEval_EvalFrameDefault;
}

static PyObject *evaluate(PyThreadState *state, void *frame, int throwing)
{
	bool of_generator = ((const char *)frame)[FRAME_OWNER] != 0;

	if (!stack.low) {
		hk_stack_find(&stack);
	}
	if (!of_generator && hk_stack_is_short(&stack)) {
		hk_stack_refuse();
		return NULL;
	}
	return default_evaluator()(state, frame, throwing);
}

static unsigned long version(void)
{
	PyObject *number = PySys_GetObject("hexversion");

	return number ? PyLong_AsUnsignedLong(number) : 0;
}

static bool wanted;

bool hk_api_evaluator_begin(void)
{
	if (!ONLY_ON(version())) {
		return true;
	}
	wanted = true;
	if (!_PyInterpreterState_SetEvalFrameFunc || !_PyEval_EvalFrameDefault) {
		return false;
	}
	PyInterpreterState *interpreter = PyInterpreterState_Get();

	/* Any other evaluator will do: a tracer's, or a compiler's. */
	if (_PyInterpreterState_GetEvalFrameFunc(interpreter) == default_evaluator()) {
		_PyInterpreterState_SetEvalFrameFunc(interpreter, evaluate);
	}
	return true;
}

void hk_api_evaluator_keep(void)
{
	if (wanted) {
		hk_api_evaluator_begin();
	}
}

void hk_api_evaluator_end(void)
{
	wanted = false;
	if (!ONLY_ON(version()) || !_PyInterpreterState_SetEvalFrameFunc) {
		return;
	}
	PyInterpreterState *interpreter = PyInterpreterState_Get();

	if (_PyInterpreterState_GetEvalFrameFunc(interpreter) == evaluate) {
		_PyInterpreterState_SetEvalFrameFunc(interpreter, default_evaluator());
	}
}
