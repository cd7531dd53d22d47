/* launcher.h: makes launchers, which start programs on other nodes, forward the environment. No
 * state; may run the launcher to ask for its version. */
#ifndef HK_CLI_RUN_LAUNCHER_H
#define HK_CLI_RUN_LAUNCHER_H

/* Sets *ret_arguments to `arguments` with `-x NAME` for each of `variables` (ended by NULL), so
 * that Open MPI's launcher forwards them. It is `arguments` itself if `program` is another one. The
 * caller frees it with hk_launcher_free. The user's -x LD_PRELOAD=... keeps its libraries, after
 * `agent`, and the user's -x ASAN_OPTIONS=... keeps its options. Returns 0 or -ENOMEM. */
int hk_launcher_forward(const char *program, char **arguments, const char *const *variables,
			const char *agent, char ***ret_arguments);

/* Frees the result of hk_launcher_forward of `arguments`. */
void hk_launcher_free(char **forwarded, char **arguments);

#endif
