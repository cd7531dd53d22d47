#include "cli/run/env_collectors.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/command.h"
#include "cli/job/collector_process.h"
#include "cli/run/collector_start.h"
#include "cli/shell_word.h"

#define PORT "4440" /* the same as in the output of `hookcollector keygen` */
#define KEYS ".hooktrace-keys"
#define SHARED "hook-jobs"

struct places {
	char collector[PATH_MAX], keys[PATH_MAX], shared[PATH_MAX], root_directory[PATH_MAX];
	char url[512]; /* address of the root for its leaves */
};

static void print_option(const char *option, const char *value)
{
	printf(" %s ", option);
	hk_shell_word_print(value);
}

static void print_key(const char *option, const struct places *places, const char *name)
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s/%s", places->keys, name);
	print_option(option, path);
}

static void print_command(const char *before, const struct places *places)
{
	fputs(before, stdout);
	hk_shell_word_print(places->collector);
}

static void print_store(const char *otherwise)
{
	const char *store = hk_command_setting("store");

	if (store || otherwise) {
		print_option("--store", store ? store : otherwise);
	}
}

static int find_places(const char *run_directory, struct places *places)
{
	const char *home = getenv("HOME"), *upstream = hk_command_setting("upstream");
	char here[PATH_MAX], found[PATH_MAX], host[256] = "localhost";
	bool fits = getcwd(here, sizeof(here)) != NULL;

	if (hk_collector_find(found) < 0 || !realpath(found, places->collector)) {
		snprintf(places->collector, sizeof(places->collector), "hookcollector");
	}
	gethostname(host, sizeof(host) - 1);
	fits = fits && snprintf(places->keys, PATH_MAX, "%s/" KEYS, home ? home : "") < PATH_MAX;
	fits = fits && snprintf(places->shared, PATH_MAX, "%s/" SHARED, here) < PATH_MAX;
	fits =
	    fits && snprintf(places->root_directory, PATH_MAX, "%s-root", run_directory) < PATH_MAX;
	if (!fits) {
		hk_error("the path of this directory is too long");
		return HK_EXIT_FAILED;
	}
	if (upstream) {
		snprintf(places->url, sizeof(places->url), "%s", upstream);
	} else {
		snprintf(places->url, sizeof(places->url), "tls+tcp://%s:" PORT, host);
	}
	return HK_EXIT_DONE;
}

/* Prints the line that starts the root, on this machine. The root has a run directory of its own,
 * because a leaf may run here too. */
static void print_root(const struct places *places)
{
	const char *port = strrchr(places->url, ':');
	char listen[64];

	snprintf(listen, sizeof(listen), "tls+tcp://0.0.0.0%.16s", port ? port : "");
	fputs("HOOK_RUN_DIR=", stdout);
	hk_shell_word_print(places->root_directory);
	print_command(" ", places);
	print_store(NULL);
	print_option("--listen", listen);
	print_key("--token-file", places, "tokens");
	print_key("--tls-cert", places, "collector.crt");
	print_key("--tls-key", places, "collector.key");
	puts(" &");
}

int hk_env_collectors_print(const char *everywhere, const char *run_directory)
{
	struct places places;
	int code = find_places(run_directory, &places);

	if (code != HK_EXIT_DONE) {
		return code;
	}
	puts("# Before the job a collector; for one node:");
	print_command("", &places);
	print_store(NULL);
	puts(" &");
	printf("# or, for nodes that share a directory, one on each of them%s:\n",
	       *everywhere ? "" : " (run this there)");
	print_command(everywhere, &places);
	print_store(places.shared);
	puts(" --per-node &");
	puts("# or, without one, a root on this machine, with keys that are made once,");
	print_command("", &places);
	print_option("keygen", places.keys);
	putchar('\n');
	print_root(&places);
	printf("# and on each node a leaf, which can read these keys%s:\n",
	       *everywhere ? "" : " (run this there)");
	print_command(everywhere, &places);
	print_option("--upstream", places.url);
	print_key("--token-file", &places, "control.token");
	print_key("--tls-ca", &places, "collector.crt");
	puts(" &");
	puts("# Then the job:");
	return HK_EXIT_DONE;
}
