/* launcher.h: commands that start other programs on other nodes, and how they are made to hand on
 * the environment. No state; may run the launcher to ask for its version.
 */
#ifndef HK_CLI_RUN_LAUNCHER_H
#define HK_CLI_RUN_LAUNCHER_H

/* The arguments to start Open MPI's launcher with so that it hands on `variables` (ended by NULL):
 * `-x NAME` for each. *ret_arguments is `arguments` itself when `program` needs nothing of the
 * kind; hk_launcher_free frees it in either case. A -x LD_PRELOAD=... of the user's keeps its
 * libraries, after `agent`; a -x ASAN_OPTIONS=... keeps its options. -ENOMEM. */
int hk_launcher_forward(const char *program, char **arguments, const char *const *variables,
			const char *agent, char ***ret_arguments);

/* Frees what hk_launcher_forward made of `arguments`. */
void hk_launcher_free(char **forwarded, char **arguments);

#endif
