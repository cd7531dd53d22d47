/* Loads an interpreter when it already runs, and calls getppid() without it, from Python, from a
 * signal handler that interrupts Python, after the interpreter's end, and after its library is
 * gone. Arguments: the path of libpython. */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void handle(int number)
{
	(void)number;
	getppid();
}

static void *find(void *library, const char *name)
{
	void *address = dlsym(library, name);

	if (!address) {
		fprintf(stderr, "no %s\n", name);
		exit(1);
	}
	return address;
}

static const char source[] = "import os\n"
			     "def inner():\n"
			     "    return os.getppid()\n"
			     "def outer():\n"
			     "    inner()\n"
			     "    os.kill(os.getpid(), 10)\n"
			     "outer()\n";

int main(int argc, char **argv)
{
	if (argc != 2) {
		return 2;
	}
	getppid();
	void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	void (*begin)(int);
	int (*run)(const char *, void *), (*end)(void);
	*(void **)&begin = find(library, "Py_InitializeEx");
	*(void **)&run = find(library, "PyRun_SimpleStringFlags");
	*(void **)&end = find(library, "Py_FinalizeEx");
	getppid();
	begin(0);
	signal(SIGUSR1, handle);
	if (run(source, NULL) != 0) {
		return 1;
	}
	getppid();
	end();
	getppid();
	dlclose(library);
	getppid();
	return 0;
}
