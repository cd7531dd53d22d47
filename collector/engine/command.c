#include "collector/engine/command.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "collector/engine/lease.h"
#include "collector/engine/stream.h"
#include "collector/engine/subject.h"
#include "settings/keep.h"
#include "wire/access.h"

#define WAIT_MS 5000u

enum {
	KEY_PARTITIONS = 256,
	KEY_REPLICAS,
	KEY_KEEP,
	KEY_CREDENTIALS,
	KEY_CA,
	KEY_CERT,
	KEY_KEY,
	KEY_JSON
};

struct options {
	const char *word, *url;
	struct hk_stream_plan plan;
	struct hk_access access;
	bool json;
};

/* ---- command line ---- */

static unsigned number(struct argp_state *state, const char *name, const char *text, unsigned most)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);
	if (end == text || *end || value < 1 || value > most) {
		argp_error(state, "--%s wants a number from 1 to %u, not '%s'", name, most, text);
	}
	return (unsigned)value;
}

/* Days and hours are usual for a stream; the rest is as everywhere. */
static void take_keep(struct argp_state *state, struct options *options, const char *text)
{
	struct hk_keep keep;
	char *end;
	unsigned long count = strtoul(text, &end, 10);
	uint64_t unit = strcmp(end, "d") == 0 ? 86400u : strcmp(end, "h") == 0 ? 3600u : 0;
	if (unit && count > 0 && count < 100000) {
		options->plan.keep_ns = count * unit * UINT64_C(1000000000);
		return;
	}
	if (hk_keep_parse(text, &keep) < 0) {
		argp_error(state,
			   "--keep wants all, a time such as 7d, 12h or 600s, or a size such as "
			   "500G, not '%s'",
			   text);
		return;
	}
	options->plan.keep_bytes = keep.bytes == UINT64_MAX ? options->plan.keep_bytes : keep.bytes;
	options->plan.keep_ns = keep.ns == UINT64_MAX ? options->plan.keep_ns : keep.ns;
}

static void take_word(struct argp_state *state, struct options *options, const char *argument)
{
	if (!options->word) {
		options->word = argument;
		if (strcmp(argument, "setup") != 0 && strcmp(argument, "status") != 0) {
			argp_error(state, "what is '%s'? setup or status", argument);
		}
	} else if (!options->url) {
		options->url = argument;
	} else {
		argp_error(state, "one URL is enough: what is '%s'?", argument);
	}
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;
	switch (key) {
	case KEY_PARTITIONS:
		options->plan.partitions =
		    number(state, "partitions", argument, HK_SUBJECT_PARTITIONS_MAX);
		return 0;
	case KEY_REPLICAS:
		options->plan.replicas = number(state, "replicas", argument, 5);
		return 0;
	case KEY_KEEP:
		take_keep(state, options, argument);
		return 0;
	case KEY_CREDENTIALS:
		options->access.token_file = argument;
		return 0;
	case KEY_CA:
		options->access.authorities = argument;
		return 0;
	case KEY_CERT:
		options->access.certificate = argument;
		return 0;
	case KEY_KEY:
		options->access.key = argument;
		return 0;
	case KEY_JSON:
		options->json = true;
		return 0;
	case ARGP_KEY_ARG:
		take_word(state, options, argument);
		return 0;
	case ARGP_KEY_END:
		if (options->url && strchr(options->url, '@')) {
			argp_error(state, "no password belongs into a URL, which ps shows: "
					  "--credentials names a file with it");
		}
		if (!options->url || !strstr(options->url, "nats://")) {
			argp_error(state, "setup or status, and a URL such as "
					  "nats://HOST[:4222][,HOST...], are needed");
		}
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- setup ---- */

static int set_up(struct hk_engine *engine, struct options *options)
{
	char problem[HK_ENGINE_PROBLEM_BYTES] = "";
	int r = hk_stream_setup(engine, &options->plan, problem);
	if (r < 0) {
		hk_error("%s: %s", options->url, *problem ? problem : strerror(-r));
		return r;
	}
	printf("stream %s with %u %s is ready\n"
	       "on each node   hookcollector --upstream %s\n"
	       "roots          hookcollector --from %s --store DIR [--workers K/N]\n",
	       HK_SUBJECT_STREAM, options->plan.partitions,
	       options->plan.partitions == 1 ? "partition" : "partitions", options->url,
	       options->url);
	return 0;
}

/* ---- status ---- */

struct part {
	char owner[HK_LEASE_OWNER_BYTES];
	uint64_t position, behind;
};

static void print_size(const char *name, uint64_t bytes)
{
	printf("%s%.1f MiB", name, (double)bytes / (1u << 20));
}

static void print_text(const struct hk_stream_state *state, const struct part *parts,
		       unsigned count)
{
	printf("stream     %s, %u %s%s%s\n", HK_SUBJECT_STREAM, state->replicas,
	       state->replicas == 1 ? "replica" : "replicas", *state->leader ? ", led by " : "",
	       state->leader);
	printf("messages   %" PRIu64 ", %" PRIu64 " to %" PRIu64 "\n", state->messages,
	       state->first, state->last);
	print_size("size       ", state->bytes);
	if (state->keep_bytes) {
		print_size(" of ", state->keep_bytes);
	}
	if (state->keep_ns) {
		printf(", messages of the last %.0f s", (double)state->keep_ns / 1e9);
	}
	printf("\n\npartition  read to       behind  root\n");
	for (unsigned i = 0; i < count; i++) {
		printf("%-9u  %-10" PRIu64 "  %8" PRIu64 "  %s\n", i, parts[i].position,
		       parts[i].behind, *parts[i].owner ? parts[i].owner : "nobody");
	}
}

static int print_json(const struct hk_stream_state *state, const struct part *parts, unsigned count)
{
	json_t *list = json_array();
	for (unsigned i = 0; i < count; i++) {
		json_array_append_new(
		    list,
		    json_pack("{s:i, s:I, s:I, s:o}", "partition", (int)i, "position",
			      (json_int_t)parts[i].position, "behind", (json_int_t)parts[i].behind,
			      "root", *parts[i].owner ? json_string(parts[i].owner) : json_null()));
	}
	json_t *root =
	    json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:i, s:s, s:o}", "stream", HK_SUBJECT_STREAM,
		      "messages", (json_int_t)state->messages, "bytes", (json_int_t)state->bytes,
		      "keep_bytes", (json_int_t)state->keep_bytes, "keep_ns",
		      (json_int_t)state->keep_ns, "last", (json_int_t)state->last, "replicas",
		      (int)state->replicas, "leader", state->leader, "partitions", list);
	int r = root ? json_dumpf(root, stdout, JSON_INDENT(2)) : -1;
	putchar('\n');
	json_decref(root);
	return r < 0 ? -EIO : 0;
}

static int show(struct hk_engine *engine, const struct options *options)
{
	char problem[HK_ENGINE_PROBLEM_BYTES] = "";
	struct hk_stream_state state;
	unsigned count = 0;
	int r = hk_stream_state(engine, &state, problem);
	r = r < 0 ? r : hk_stream_partitions(engine, &count, problem);
	struct part *parts = calloc(count + 1, sizeof(*parts));
	r = parts ? r : -ENOMEM;
	for (unsigned i = 0; r == 0 && i < count; i++) {
		r = hk_lease_look(engine, i, parts[i].owner, &parts[i].position, problem);
		r = r < 0
			? r
			: hk_stream_behind(engine, i, parts[i].position, &parts[i].behind, problem);
	}
	if (r < 0) {
		hk_error("%s: %s", options->url, *problem ? problem : strerror(-r));
	} else if (options->json) {
		r = print_json(&state, parts, count);
	} else {
		print_text(&state, parts, count);
	}
	free(parts);
	return r;
}

int hk_stream_main(int argc, char **argv)
{
	static const struct argp_option table[] = {
	    {"partitions", KEY_PARTITIONS, "N", 0,
	     "Spread nodes over N partitions, each of which one root process reads (setup; default "
	     "1). It stays as it is while the stream exists",
	     0},
	    {"replicas", KEY_REPLICAS, "N", 0, "Keep everything on N servers (setup; default 1)",
	     0},
	    {"keep", KEY_KEEP, "SIZE|TIME", 0,
	     "Keep so much, such as 500G, or so long, such as 7d; repeats (setup; default all)", 0},
	    {"credentials", KEY_CREDENTIALS, "FILE", 0,
	     "Show what FILE has: user:password, a token, or credentials of the engine's format",
	     0},
	    {"tls-ca", KEY_CA, "FILE", 0, "Trust certificates that those of FILE have signed", 0},
	    {"tls-cert", KEY_CERT, "FILE", 0, "Show this certificate", 0},
	    {"tls-key", KEY_KEY, "FILE", 0, "Its private key", 0},
	    {"json", KEY_JSON, NULL, 0, "Print JSON (status)", 0},
	    {0}};
	static const struct argp parser = {
	    .options = table,
	    .parser = parse_option,
	    .args_doc = "setup URL\nstatus URL",
	    .doc = "Makes the stream in the NATS JetStream servers at URL that keeps what leaves "
		   "send, or changes its limits; or shows how far roots have read it.\v"
		   "A full stream takes nothing more, and leaves keep what it does not take.\n\n"
		   "hookcollector stream setup nats://n1,n2,n3 --replicas 3 --keep 7d",
	};
	struct options options = {.word = NULL};
	char problem[HK_ACCESS_PROBLEM_BYTES] = "", why[HK_ENGINE_PROBLEM_BYTES] = "";
	struct hk_engine *engine = NULL;
	argp_err_exit_status = 2;
	argp_parse(&parser, argc, argv, 0, NULL, &options);
	int r = hk_engine_open(options.url, &options.access, NULL, NULL, &engine, problem);
	if (r < 0) {
		hk_error("%s: %s", options.url, *problem ? problem : strerror(-r));
		return 1;
	}
	if (!hk_engine_await(engine, WAIT_MS)) {
		hk_engine_problem(engine, why);
		hk_error("%s: no connection%s%s", options.url, *why ? ": " : "", why);
		r = -EAGAIN;
	}
	r = r < 0				 ? r
	    : strcmp(options.word, "setup") == 0 ? set_up(engine, &options)
						 : show(engine, &options);
	hk_engine_free(engine);
	return r < 0 ? 1 : 0;
}
