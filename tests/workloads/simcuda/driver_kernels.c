/* Kernels of the simulated driver: modules, libraries and the handles of their functions. An image
 * is not read: a module has every function that it is asked for, but those whose name begins with
 * "missing". A function does what the program's exported sim_body_<name> does, or nothing. Handles
 * that are given back are the next ones to be given out. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

#define FUNCTIONS 32768
#define MODULES 4096

struct sim_module {
	bool used;
};

struct sim_function {
	struct sim_module *module; /* NULL: free */
	char *name;
	sim_kernel *body; /* NULL: none */
	bool is_kernel;	  /* of a library, and no function of a module or context */
};

static struct sim_module modules[MODULES];
static struct sim_function functions[FUNCTIONS];
static unsigned most; /* functions at once, so far */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int load(struct sim_module **module, const void *image)
{
	int result = image ? SIM_OUT_OF_MEMORY : SIM_INVALID_VALUE;

	pthread_mutex_lock(&mutex);
	for (unsigned i = 0; image && i < MODULES; i++) {
		if (!modules[i].used) {
			modules[i].used = true;
			*module = &modules[i];
			result = SIM_SUCCESS;
			break;
		}
	}
	pthread_mutex_unlock(&mutex);
	return result;
}

static int unload(struct sim_module *module)
{
	if (module < modules || module >= modules + MODULES || !module->used) {
		return SIM_INVALID_HANDLE;
	}
	pthread_mutex_lock(&mutex);
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		if (functions[i].module == module) {
			/* Its name stays: records of its launches refer to it, and come later. */
			functions[i] = (struct sim_function){0};
		}
	}
	module->used = false;
	pthread_mutex_unlock(&mutex);
	return SIM_SUCCESS;
}

static sim_kernel *body_of(const char *name)
{
	char symbol[256];

	snprintf(symbol, sizeof(symbol), "sim_body_%s", name);
	return (sim_kernel *)dlsym(RTLD_DEFAULT, symbol);
}

/* Finds the function of MODULE, or makes it. */
static struct sim_function *function_of(struct sim_module *module, const char *name, bool is_kernel)
{
	struct sim_function *made = NULL;

	for (unsigned i = 0; i < most && i < FUNCTIONS; i++) {
		struct sim_function *function = &functions[i];
		if (!function->module) {
			made = made ? made : function;
		} else if (function->module == module && function->is_kernel == is_kernel &&
			   strcmp(function->name, name) == 0) {
			return function;
		}
	}
	if (!made && most < FUNCTIONS) {
		made = &functions[most++];
	}
	if (made) {
		*made = (struct sim_function){module, strdup(name), body_of(name), is_kernel};
	}
	return made;
}

static int get(struct sim_function **function, struct sim_module *module, const char *name,
	       bool is_kernel)
{
	bool valid = module >= modules && module < modules + MODULES && module->used;

	if (!valid || !name || !*name) {
		return SIM_INVALID_HANDLE;
	}
	if (strncmp(name, "missing", strlen("missing")) == 0) {
		return SIM_NOT_FOUND;
	}
	pthread_mutex_lock(&mutex);
	*function = function_of(module, name, is_kernel);
	pthread_mutex_unlock(&mutex);
	return *function ? SIM_SUCCESS : SIM_OUT_OF_MEMORY;
}

static bool is_function(const struct sim_function *function)
{
	return function >= functions && function < functions + FUNCTIONS && function->module;
}

bool sim_function_run(const void *kernel, void **arguments, const unsigned *shape)
{
	const struct sim_function *function = kernel;

	if (!is_function(function)) {
		return false;
	}
	if (function->body && arguments) {
		function->body(arguments, shape);
	}
	return true;
}

const char *sim_function_name(const void *kernel)
{
	const struct sim_function *function = kernel;

	return is_function(function) ? function->name : "simulated kernel";
}

static int name_of(const char **name, const struct sim_function *function, bool is_kernel)
{
	if (!is_function(function) || function->is_kernel != is_kernel) {
		return SIM_INVALID_HANDLE;
	}
	*name = function->name;
	return SIM_SUCCESS;
}

int cuModuleLoad(struct sim_module **module, const char *file)
{
	return load(module, file);
}

int cuModuleLoadData(struct sim_module **module, const void *image)
{
	return load(module, image);
}

int cuModuleLoadDataEx(struct sim_module **module, const void *image, unsigned count, void *options,
		       void **values)
{
	(void)count;
	(void)options;
	(void)values;
	return load(module, image);
}

int cuModuleUnload(struct sim_module *module)
{
	return unload(module);
}

int cuModuleGetFunction(struct sim_function **function, struct sim_module *module, const char *name)
{
	return get(function, module, name, false);
}

int cuLibraryLoadData(struct sim_module **library, const void *code, void *options, void **values,
		      unsigned count, void *library_options, void **library_values,
		      unsigned library_count)
{
	(void)options;
	(void)values;
	(void)count;
	(void)library_options;
	(void)library_values;
	(void)library_count;
	return load(library, code);
}

int cuLibraryUnload(struct sim_module *library)
{
	return unload(library);
}

int cuLibraryGetKernel(struct sim_function **kernel, struct sim_module *library, const char *name)
{
	return get(kernel, library, name, true);
}

int cuKernelGetFunction(struct sim_function **function, struct sim_function *kernel)
{
	return is_function(kernel) && kernel->is_kernel
		   ? get(function, kernel->module, kernel->name, false)
		   : SIM_INVALID_HANDLE;
}

int cuFuncGetName(const char **name, struct sim_function *function)
{
	return name_of(name, function, false);
}

int cuKernelGetName(const char **name, struct sim_function *kernel)
{
	return name_of(name, kernel, true);
}
