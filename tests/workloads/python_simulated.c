/* A simulated interpreter: exports what CPython exports, of a version that the agent does not know,
 * or with data that does not fit its version. Calls getppid() and waits for the end of its input.
 * Arguments: the version in hexadecimal, as PY_VERSION_HEX has it, then its description: 0 for
 * none, 1 for a free-threaded one. */
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#pragma GCC visibility push(default)
unsigned long Py_Version;
uint64_t _PyRuntime[128];
uint64_t PyCode_Type[64], PyFrame_Type[64], PyUnicode_Type[64], PyBytes_Type[64];
void *PyGILState_GetThisThreadState(void);
void *_PyThreadState_UncheckedGet(void);
int _Py_IsFinalizing(void);
void *_PyEval_EvalFrameDefault(void *frame);
#pragma GCC visibility pop

void *PyGILState_GetThisThreadState(void)
{
	abort(); /* its thread states are of no known form, so that no call may ask for one */
}

void *_PyThreadState_UncheckedGet(void)
{
	abort();
}

int _Py_IsFinalizing(void)
{
	abort();
}

void *_PyEval_EvalFrameDefault(void *frame)
{
	return frame;
}

/* These are constants of a real interpreter: they are there before any code runs. */
static void describe(int argc, char **argv)
{
	if (argc != 3) {
		_exit(2);
	}
	Py_Version = strtoul(argv[1], NULL, 16);
	if (atoi(argv[2]) == 1) {
		_PyRuntime[0] = 0x7970677562656478; /* "xdebugpy" */
		_PyRuntime[2] = 1;
	}
}
__attribute__((section(".preinit_array"), used)) static void (*const first)(int,
									    char **) = describe;

int main(void)
{
	char byte;

	getppid();
	return read(STDIN_FILENO, &byte, 1) < 0;
}
