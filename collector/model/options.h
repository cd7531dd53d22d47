/* options.h: the collector's options: command line, HOOK_* variables, configuration files.
 *
 * One table in options.c holds every option. One that settings/settings.c knows too may be set by
 * its variable and in the files; the others are for the command line only.
 */
#ifndef HK_COLLECTOR_MODEL_OPTIONS_H
#define HK_COLLECTOR_MODEL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "settings/keep.h"
#include "trigger/plan.h"

struct hk_settings;

/* Texts live until hk_options_free; NULL: not given. */
struct hk_collector_options {
	const char *store;	  /* NULL: $XDG_STATE_HOME or ~/.local/state, + /hooktrace */
	const char *listen;	  /* further URL */
	const char *http;	  /* ADDRESS:PORT of /metrics */
	const char *upstream;	  /* of the root */
	const char *from;	  /* stream engine that is read */
	unsigned worker, workers; /* of --workers: this one, from 1, of so many */
	unsigned partition;	  /* of the stream, of a process that reads one */
	bool one_partition;	  /* this is such a process */
	const char *replay;	  /* key of the one job that is read, from the stream's beginning */
	const char *otlp;	  /* http[s]://HOST[:PORT][/PATH] that metrics are pushed to */
	const char *otlp_headers; /* file of further headers */
	const char *otlp_authorities; /* PEM; NULL: the system's */
	uint64_t otlp_interval_ns;
	const char *job_key; /* of --job-dir KEY=DIR */
	const char *job_dir;
	const char *token_file;
	const char *credentials;     /* for a stream engine */
	const char *tls_certificate; /* of this collector, PEM */
	const char *tls_key;
	const char *tls_authorities; /* certificates of the authorities for peers, PEM */
	uint64_t keep_store; /* bytes of all jobs in the store, 0: a part of its file system */
	struct hk_keep keep; /* of one job's records */
	struct hk_plan_options trigger_options;
	struct hk_plan *triggers; /* of jobs without a plan of their own; owned */
	enum hk_log_level log_level;
	bool per_node; /* a directory of this node's own in each job's */
	bool exit_with_job;
	int ready_fd;	      /* -1: none */
	char *job_key_memory; /* owned, as are the settings, which hold the other texts */
	struct hk_settings *settings;
};

/* Reads all options. Exits with status 2 after a message about a wrong one. Returns 0 or -ENOMEM.
 */
int hk_options_parse(int argc, char **argv, struct hk_collector_options *ret_options);

/* Frees what OPTIONS owns. */
void hk_options_free(struct hk_collector_options *options);

#endif
