/* The ranks, each with all its calls: as a map by node, and as rows. MPI%, WAIT%, I/O% and DEV% are
 * shares of the rank's time that its threads spend inside calls of that kind. INSIDE% is the share
 * of all calls but idle waits. CPU% is processor time. A late rank has the lowest MPI%: the others
 * wait for it in MPI. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/tui/view.h"
#include "report/model/domains.h"

/* clang-format off */
enum {
	RANK, HOST, RATE, CPU, MPI, WAIT, IO, DEVICE, BUSY, SPARK, ERRORS, HEAP, RSS, RECORDS, LOST, COST,
	STATE, COLUMNS
};
/* clang-format on */

static const struct hk_column columns[COLUMNS] = {
    [RANK] = {"RANK", NULL, HK_CELL_NAME, 0, 14, 9, true},
    [HOST] = {"NODE", NULL, HK_CELL_TEXT, 0, 8, 4, true},
    [RATE] = {"CALLS/s", "CALLS", HK_CELL_COUNT, HK_CELL_INTEGER, 7, 8, true},
    [CPU] = {"CPU%", "CPU", HK_CELL_PERCENT, HK_CELL_NS, 6, 7, true},
    [MPI] = {"MPI%", "MPI", HK_CELL_PERCENT, HK_CELL_NS, 6, 8, true},
    [WAIT] = {"WAIT%", "WAIT", HK_CELL_PERCENT, HK_CELL_NS, 6, 7, true},
    [IO] = {"I/O%", "I/O", HK_CELL_PERCENT, HK_CELL_NS, 6, 5, true},
    [DEVICE] = {"DEV%", "DEV", HK_CELL_PERCENT, HK_CELL_NS, 6, 6, true},
    [BUSY] = {"INSIDE%", "TIME", HK_CELL_PERCENT, HK_CELL_NS, 8, 3, true},
    [SPARK] = {"60s", NULL, HK_CELL_SPARK, 0, 10, 2, false},
    [ERRORS] = {"ERR", NULL, HK_CELL_INTEGER, 0, 5, 3, true},
    [HEAP] = {"HEAP", "HEAP PEAK", HK_CELL_BYTES, HK_CELL_BYTES, 9, 5, true},
    [RSS] = {"RSS PEAK", NULL, HK_CELL_BYTES, 0, 8, 3, true},
    [RECORDS] = {"RECORDS", NULL, HK_CELL_COUNT, 0, 7, 1, true},
    [LOST] = {"LOST", NULL, HK_CELL_INTEGER, 0, 5, 4, true},
    [COST] = {"COST%", NULL, HK_CELL_PERCENT, 0, 5, 2, true},
    [STATE] = {"STATE", NULL, HK_CELL_TEXT, 0, 9, 6, true},
};

/* The domains that have a column for their time; several may share one. */
static const struct {
	const char *domain;
	size_t column;
} shares[] = {
    {"mpi", MPI},     {"wait", WAIT},  {"thread", WAIT}, {"io", IO},
    {"cuda", DEVICE}, {"hip", DEVICE}, {"acl", DEVICE},	 {"xpu", DEVICE},
};
#define SHARES (sizeof(shares) / sizeof(shares[0]))
#define SHARE_FIRST CPU
#define SHARE_COUNT (DEVICE - CPU + 1u)

/* Sets CELL to the heap of the rank's main process, live and peak. */
static void set_heap(const struct hk_report *report, int32_t rank, struct hk_table_cell *cell)
{
	for (size_t i = hk_view_memory_of(report, rank);
	     i < report->memory_count && report->memory[i].rank == rank; i++) {
		const struct hk_report_memory *memory = &report->memory[i];
		if (memory->device < 0 && strcmp(memory->library, "*") == 0 &&
		    strcmp(memory->kind, "heap") == 0 && strcmp(memory->role, "main") == 0) {
			cell->now = (double)memory->live_bytes;
			cell->total = (double)memory->peak_bytes;
		}
	}
}

static const char *state_of(const struct hk_report_rank *rank, struct hk_rows *rows)
{
	const struct hk_report_exit *exit = &rank->exit;

	if (!exit->have_code || (strcmp(exit->kind, "exited") == 0 && exit->code == 0)) {
		return exit->kind;
	}
	return hk_rows_text(rows, "%s %" PRId32, exit->kind, exit->code);
}

static void set_rank(const struct hk_report_rank *rank, struct hk_rows *rows, struct hk_row *row)
{
	double wall = (double)(rank->end_ns - rank->start_ns);
	row->cells[HOST].text = rank->host;
	row->cells[RSS].now = rank->rss_peak_bytes > 0 ? (double)rank->rss_peak_bytes : NAN;
	row->cells[RECORDS].now = (double)rank->records;
	row->cells[LOST].now = (double)rank->lost_records;
	row->cells[COST].now = wall > 0 ? 100 * (double)rank->tracing_cost_ns / wall : NAN;
	row->cells[STATE].text = state_of(rank, rows);
	bool bad = rank->lost_records > 0 || strcmp(rank->exit.kind, "silent") == 0 ||
		   strcmp(rank->exit.kind, "signal") == 0 || strcmp(rank->exit.kind, "oom") == 0;
	row->mark = bad ? HK_ROW_ALERT : row->mark;
}

/* Activity of a rank's main process, or of its helpers. */
struct doing {
	struct hk_group group;		/* all calls */
	uint64_t share_ns[SHARE_COUNT]; /* by column, from SHARE_FIRST */
	bool have_share[SHARE_COUNT];
};

static void add_domain(struct doing *doing, const struct hk_group *group)
{
	const struct hk_report_numbers *n = &group->numbers;

	doing->group.numbers.calls += n->calls;
	doing->group.numbers.errors += n->errors;
	if (n->have_total && !hk_domain_is_idle(group->domain)) {
		doing->group.numbers.have_total = true;
		doing->group.numbers.self_ns += n->self_ns;
	}
	for (size_t i = 0; i < SHARES && n->have_total; i++) {
		if (strcmp(shares[i].domain, group->domain) == 0) {
			doing->share_ns[shares[i].column - SHARE_FIRST] += n->outermost_ns;
			doing->have_share[shares[i].column - SHARE_FIRST] = true;
		}
	}
}

static void set_shares(const struct hk_scene *scene, struct hk_row *row, const struct doing *doing)
{
	char key[64];
	uint64_t counts[HK_TRACK_COUNTS] = {0};

	_Static_assert(SHARE_COUNT <= HK_TRACK_COUNTS, "a count for each share");
	memcpy(counts, doing->share_ns, sizeof(doing->share_ns));
	snprintf(key, sizeof(key), "shares of %" PRId32 " %s", doing->group.rank,
		 doing->group.role);
	const struct hk_track *track = hk_history_count(scene->history, key, counts);
	for (size_t i = 0; track && i < SHARE_COUNT; i++) {
		if (doing->have_share[i]) {
			row->cells[SHARE_FIRST + i].now = track->per_s[i] / 1e7;
			row->cells[SHARE_FIRST + i].total = (double)doing->share_ns[i];
		}
	}
}

/* Adds the row of one rank, also of a rank without calls. */
static void add(const struct hk_scene *scene, struct doing *doing, struct hk_rows *rows)
{
	const struct hk_report *report = scene->snapshot->report;
	const struct hk_group *group = &doing->group;
	const struct hk_report_rank *rank = hk_view_rank(report, group->rank);
	struct hk_row *row = hk_view_add(rows, "", group);
	struct hk_table_cell calls[HK_VIEW_CALLS];
	bool is_main = strcmp(group->role, "main") == 0;

	if (!row) {
		return;
	}
	hk_view_count(scene->history, row, group, 1, true, calls);
	row->expandable = true;
	row->aside = !is_main;
	row->pick = (struct hk_pick){.role = group->role, .have_rank = true, .rank = group->rank};
	row->cells[RANK].text =
	    hk_rows_text(rows, is_main ? "%" PRId32 : "%" PRId32 " %s", group->rank, group->role);
	row->cells[RANK].now = group->rank;
	row->cells[RATE] = calls[HK_VIEW_RATE];
	row->cells[BUSY] = calls[HK_VIEW_BUSY];
	row->cells[ERRORS] = calls[HK_VIEW_ERRORS];
	if (is_main && rank) {
		doing->share_ns[CPU - SHARE_FIRST] = rank->cpu_ns;
		doing->have_share[CPU - SHARE_FIRST] = rank->cpu_ns > 0;
		set_heap(report, group->rank, &row->cells[HEAP]);
		set_rank(rank, rows, row);
	}
	set_shares(scene, row, doing);
}

/* Adds the ranks without calls before number END, from *AT on. */
static void add_idle(const struct hk_scene *scene, size_t *at, int64_t end, struct hk_rows *rows)
{
	const struct hk_report *report = scene->snapshot->report;

	for (; *at < report->rank_count && report->ranks[*at].rank < end; (*at)++) {
		struct doing idle = {.group = {.role = "main", .rank = report->ranks[*at].rank}};
		add(scene, &idle, rows);
	}
}

static void fill(const struct hk_scene *scene, struct hk_rows *rows)
{
	const struct hk_groups *calls = &scene->snapshot->calls;
	const struct hk_report *report = scene->snapshot->report;
	size_t at = 0;

	/* Groups are by rank, in the order of the report's ranks, then by role, main first. */
	for (size_t i = 0, to; i < calls->count; i = to) {
		const struct hk_group *first = &calls->groups[i];
		struct doing doing = {.group = {.role = first->role, .rank = first->rank}};
		for (to = i; to < calls->count && calls->groups[to].rank == first->rank &&
			     strcmp(calls->groups[to].role, first->role) == 0;
		     to++) {
			add_domain(&doing, &calls->groups[to]);
		}
		add_idle(scene, &at, first->rank, rows);
		add(scene, &doing, rows);
		at += at < report->rank_count && report->ranks[at].rank == first->rank &&
		      strcmp(first->role, "main") == 0;
	}
	add_idle(scene, &at, INT64_MAX, rows);
}

static void name(const struct hk_scene *scene, const struct hk_group *group, struct hk_rows *rows,
		 struct hk_row *row)
{
	(void)scene;
	row->cells[RANK].text = hk_rows_text(rows, "%s", group->function);
	row->cells[HOST].text = hk_rows_text(rows, "%s", group->domain);
}

static void expand(const struct hk_scene *scene, const struct hk_row *parent, struct hk_rows *rows)
{
	static const struct hk_view_below below = {RATE, BUSY, ERRORS, 0, name};

	hk_view_expand(scene, parent, rows, &below);
}

const struct hk_view hk_view_ranks = {
    .name = "Ranks",
    .word = "ranks",
    .empty = "no rank seen yet",
    .keys = HK_GROUP_RANK | HK_GROUP_DOMAIN,
    .below = HK_GROUP_FUNCTION,
    .columns = columns,
    .column_count = COLUMNS,
    .sort = RANK,
    .fill = fill,
    .expand = expand,
    .rows_below = "functions",
    .heat = {MPI, BUSY},
};
