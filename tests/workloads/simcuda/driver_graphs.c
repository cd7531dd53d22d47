/* Graphs of the simulated driver: a capture keeps launches and copies, a launch of the graph does
 * them. The arguments of a captured launch are gone by then, so its body does not run. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

#define CAPTURES 16
#define NODES 256

struct sim_node {
	const void *kernel; /* NULL: a copy */
	unsigned shape[7];
};

struct sim_graph {
	unsigned count;
	struct sim_node nodes[NODES];
};

static struct {
	CUstream stream;
	struct sim_graph *graph; /* NULL: free */
} captures[CAPTURES];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct sim_graph **capture_of(CUstream stream)
{
	for (unsigned i = 0; i < CAPTURES; i++) {
		if (captures[i].graph && captures[i].stream == stream) {
			return &captures[i].graph;
		}
	}
	return NULL;
}

bool sim_graph_capture(CUstream stream, const void *kernel, const unsigned shape[7])
{
	bool captured = false;

	pthread_mutex_lock(&mutex);
	struct sim_graph **graph = capture_of(stream);
	if (graph && (*graph)->count < NODES) {
		struct sim_node *node = &(*graph)->nodes[(*graph)->count++];
		node->kernel = kernel;
		memcpy(node->shape, shape, sizeof(node->shape));
		captured = true;
	}
	pthread_mutex_unlock(&mutex);
	return captured;
}

int cuStreamBeginCapture_v2(CUstream stream, int mode)
{
	int result = SIM_INVALID_VALUE;

	(void)mode;
	pthread_mutex_lock(&mutex);
	for (unsigned i = 0; stream && !capture_of(stream) && i < CAPTURES; i++) {
		if (!captures[i].graph) {
			captures[i].stream = stream;
			captures[i].graph = calloc(1, sizeof(*captures[i].graph));
			result = SIM_SUCCESS;
			break;
		}
	}
	pthread_mutex_unlock(&mutex);
	return result;
}

int cuStreamEndCapture(CUstream stream, struct sim_graph **ret_graph)
{
	pthread_mutex_lock(&mutex);
	struct sim_graph **graph = capture_of(stream);
	*ret_graph = graph ? *graph : NULL;
	if (graph) {
		*graph = NULL;
	}
	pthread_mutex_unlock(&mutex);
	return *ret_graph ? SIM_SUCCESS : SIM_INVALID_VALUE;
}

int cuStreamIsCapturing(CUstream stream, int *status)
{
	pthread_mutex_lock(&mutex);
	*status = capture_of(stream) ? 1 : 0;
	pthread_mutex_unlock(&mutex);
	return SIM_SUCCESS;
}

int cuGraphCreate(struct sim_graph **graph, unsigned flags)
{
	*graph = flags == 0 ? calloc(1, sizeof(**graph)) : NULL;
	return *graph ? SIM_SUCCESS : SIM_INVALID_VALUE;
}

int cuGraphDestroy(struct sim_graph *graph)
{
	free(graph);
	return graph ? SIM_SUCCESS : SIM_INVALID_VALUE;
}

int cuGraphInstantiateWithFlags(struct sim_graph **exec, const struct sim_graph *graph,
				uint64_t flags)
{
	(void)flags;
	*exec = graph ? malloc(sizeof(**exec)) : NULL;
	if (*exec) {
		**exec = *graph;
	}
	return *exec ? SIM_SUCCESS : SIM_INVALID_VALUE;
}

int cuGraphExecDestroy(struct sim_graph *exec)
{
	return cuGraphDestroy(exec);
}

int cuGraphLaunch(const struct sim_graph *exec, CUstream stream)
{
	int result = exec ? SIM_SUCCESS : SIM_INVALID_VALUE;

	for (unsigned i = 0; result == SIM_SUCCESS && i < exec->count; i++) {
		result = sim_graph_run(exec->nodes[i].kernel, exec->nodes[i].shape, stream);
	}
	return result;
}
