/* env_collectors.h: the part of `hookcli env` that starts collectors, before a job that `hookcli
 * run` does not start. Main thread only.
 */
#ifndef HK_CLI_RUN_ENV_COLLECTORS_H
#define HK_CLI_RUN_ENV_COLLECTORS_H

/* Prints the lines for one node, for nodes that share a directory, and for a root with a leaf on
 * each node. EVERYWHERE is the launcher's command that runs a program once on each node, or "" if
 * the user has to do that. RUN_DIRECTORY is the run directory of this node's collector. Returns
 * HK_EXIT_DONE, or another exit code after a line on stderr. */
int hk_env_collectors_print(const char *everywhere, const char *run_directory);

#endif
