#include "collector/metrics/message.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "collector/link/node.h"
#include "collector/metrics/walk.h"
#include "collector/model/collector.h"
#include "schema/otlp.pb-c.h"
#include "text/name.h"

#define BLOCK_BYTES 65536u
#define METRICS_MAX 128u /* more than the table has */
#define BUCKETS (HK_AGGREGATE_BOUNDS + 1)
#define RESOURCE_ATTRIBUTES 4
#define HOST_COLUMNS 64
#define ID_TEXT_BYTES (2 * HK_NODE_ID_BYTES + 1)

/* Memory that is freed as a whole. */
struct block {
	struct block *next;
	size_t used, size;
	max_align_t bytes[];
};

struct message {
	struct block *blocks;
	bool failed;			    /* out of memory */
	double bounds[HK_AGGREGATE_BOUNDS]; /* of durations */
	uint64_t now_unix_ns;
	Hk__Otlp__Metric *metrics[METRICS_MAX];
	size_t count;
	/* Of the last metric. */
	void **points;
	size_t point_count, point_room;
};

/* ---- memory ---- */

/* Returns SIZE zeroed bytes, or NULL and marks the message as failed. */
static void *take(struct message *message, size_t size)
{
	struct block *block = message->blocks;
	size = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
	if (!block || block->size - block->used < size) {
		size_t room = size > BLOCK_BYTES ? size : BLOCK_BYTES;
		block = calloc(1, sizeof(*block) + room);
		if (!block) {
			message->failed = true;
			return NULL;
		}
		block->size = room;
		block->next = message->blocks;
		message->blocks = block;
	}
	void *bytes = (char *)block->bytes + block->used;
	block->used += size;
	return bytes;
}

static char *copy_of(struct message *message, const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = take(message, size);
	return copy ? memcpy(copy, text, size) : NULL;
}

static void free_blocks(struct message *message)
{
	while (message->blocks) {
		struct block *block = message->blocks;
		message->blocks = block->next;
		free(block);
	}
}

/* ---- points ---- */

struct attribute {
	Hk__Otlp__KeyValue pair;
	Hk__Otlp__AnyValue value;
};

static void set_attribute(struct attribute *attribute, const char *name, char *value)
{
	hk__otlp__any_value__init(&attribute->value);
	attribute->value.value_case = HK__OTLP__ANY_VALUE__VALUE_STRING_VALUE;
	attribute->value.string_value = value;
	hk__otlp__key_value__init(&attribute->pair);
	attribute->pair.key = (char *)name;
	attribute->pair.value = &attribute->value;
}

/* Returns the labels of SERIES. Their names are literals, but that of a fixed label. NULL if out of
 * memory. */
static Hk__Otlp__KeyValue **attributes_of(struct message *message, const struct hk_series *series)
{
	Hk__Otlp__KeyValue **list = take(message, series->labels * sizeof(*list));
	struct attribute *attributes = take(message, series->labels * sizeof(*attributes));
	for (uint32_t i = 0; list && attributes && i < series->labels; i++) {
		const char *name = series->label[i].name;
		name = name == series->fixed ? copy_of(message, name) : name;
		char *value = copy_of(message, series->label[i].value);
		if (!name || !value) {
			return NULL;
		}
		set_attribute(&attributes[i], name, value);
		list[i] = &attributes[i].pair;
	}
	return attributes ? list : NULL;
}

static double in_unit(enum hk_metric_unit unit, uint64_t value)
{
	return unit == HK_METRIC_SECONDS ? (double)value / 1e9 : (double)value;
}

static void *number_point(struct message *message, const struct hk_series *series)
{
	Hk__Otlp__NumberDataPoint *point = take(message, sizeof(*point));
	uint64_t value = *series->value;
	if (!point) {
		return NULL;
	}
	hk__otlp__number_data_point__init(point);
	point->time_unix_nano = message->now_unix_ns;
	if (series->metric->type == HK_METRIC_COUNTER) {
		point->start_time_unix_nano = series->start_ns;
	}
	if (series->metric->unit == HK_METRIC_SECONDS) {
		point->value_case = HK__OTLP__NUMBER_DATA_POINT__VALUE_AS_DOUBLE;
		point->as_double = in_unit(series->metric->unit, value);
	} else {
		point->value_case = HK__OTLP__NUMBER_DATA_POINT__VALUE_AS_INT;
		point->as_int = value > INT64_MAX ? INT64_MAX : (int64_t)value;
	}
	point->n_attributes = series->labels;
	point->attributes = attributes_of(message, series);
	return point->attributes ? point : NULL;
}

static void set_bounds(struct message *message)
{
	for (uint32_t i = 0; i < HK_AGGREGATE_BOUNDS; i++) {
		message->bounds[i] =
		    in_unit(HK_METRIC_SECONDS, UINT64_C(1) << (HK_AGGREGATE_BOUND_FIRST + i));
	}
}

static void *histogram_point(struct message *message, const struct hk_series *series)
{
	Hk__Otlp__HistogramDataPoint *point = take(message, sizeof(*point));
	uint64_t *counts = take(message, BUCKETS * sizeof(*counts));
	if (!point || !counts) {
		return NULL;
	}
	hk__otlp__histogram_data_point__init(point);
	memcpy(counts, series->value, BUCKETS * sizeof(*counts));
	for (uint32_t i = 0; i < BUCKETS; i++) {
		point->count += counts[i];
	}
	point->start_time_unix_nano = series->start_ns;
	point->time_unix_nano = message->now_unix_ns;
	point->total_case = HK__OTLP__HISTOGRAM_DATA_POINT__TOTAL_SUM;
	point->sum = in_unit(series->metric->unit, series->value[BUCKETS]);
	point->n_bucket_counts = BUCKETS;
	point->bucket_counts = counts;
	point->n_explicit_bounds = HK_AGGREGATE_BOUNDS;
	point->explicit_bounds = message->bounds;
	point->n_attributes = series->labels;
	point->attributes = attributes_of(message, series);
	return point->attributes ? point : NULL;
}

/* ---- metrics ---- */

static void set_sum(Hk__Otlp__Metric *metric, Hk__Otlp__Sum *sum)
{
	hk__otlp__sum__init(sum);
	sum->aggregation_temporality = HK__OTLP__AGGREGATION_TEMPORALITY__TEMPORALITY_CUMULATIVE;
	sum->is_monotonic = true;
	metric->data_case = HK__OTLP__METRIC__DATA_SUM;
	metric->sum = sum;
}

static void set_histogram(Hk__Otlp__Metric *metric, Hk__Otlp__Histogram *histogram)
{
	hk__otlp__histogram__init(histogram);
	histogram->aggregation_temporality =
	    HK__OTLP__AGGREGATION_TEMPORALITY__TEMPORALITY_CUMULATIVE;
	metric->data_case = HK__OTLP__METRIC__DATA_HISTOGRAM;
	metric->histogram = histogram;
}

static void set_gauge(Hk__Otlp__Metric *metric, Hk__Otlp__Gauge *gauge)
{
	hk__otlp__gauge__init(gauge);
	metric->data_case = HK__OTLP__METRIC__DATA_GAUGE;
	metric->gauge = gauge;
}

/* An entry of the table as a metric without points. */
struct family {
	Hk__Otlp__Metric metric;
	union {
		Hk__Otlp__Sum sum;
		Hk__Otlp__Gauge gauge;
		Hk__Otlp__Histogram histogram;
	};
};

static char *name_of(struct message *message, const struct hk_metric *metric)
{
	char name[128];
	/* The page's name of information, for which OTLP has no kind. */
	snprintf(name, sizeof(name), "%s%s", metric->name,
		 metric->type == HK_METRIC_INFO ? "_info" : "");
	return copy_of(message, name);
}

/* Units as UCUM writes them. A number of things has none: "1" would be read as a ratio. */
static const char *const units[] = {
    [HK_METRIC_NONE] = "",
    [HK_METRIC_SECONDS] = "s",
    [HK_METRIC_BYTES] = "By",
};

static void begin_metric(struct message *message, const struct hk_metric *metric)
{
	struct family *family =
	    message->count < METRICS_MAX ? take(message, sizeof(*family)) : NULL;
	if (!family) {
		message->failed = true;
		return;
	}
	hk__otlp__metric__init(&family->metric);
	family->metric.name = name_of(message, metric);
	family->metric.description = (char *)metric->help;
	family->metric.unit = (char *)units[metric->unit];
	if (metric->type == HK_METRIC_COUNTER) {
		set_sum(&family->metric, &family->sum);
	} else if (metric->type == HK_METRIC_HISTOGRAM) {
		set_histogram(&family->metric, &family->histogram);
	} else {
		set_gauge(&family->metric, &family->gauge);
	}
	message->failed |= !family->metric.name;
	message->metrics[message->count++] = &family->metric;
}

/* Gives the last metric its points. */
static void end_metric(struct message *message)
{
	size_t count = message->point_count;
	void **points = count > 0 ? take(message, count * sizeof(void *)) : NULL;
	if (!points) {
		return;
	}
	memcpy(points, message->points, count * sizeof(void *));
	message->point_count = 0;
	Hk__Otlp__Metric *metric = message->metrics[message->count - 1];
	if (metric->data_case == HK__OTLP__METRIC__DATA_SUM) {
		metric->sum->n_data_points = count;
		metric->sum->data_points = (Hk__Otlp__NumberDataPoint **)points;
	} else if (metric->data_case == HK__OTLP__METRIC__DATA_HISTOGRAM) {
		metric->histogram->n_data_points = count;
		metric->histogram->data_points = (Hk__Otlp__HistogramDataPoint **)points;
	} else {
		metric->gauge->n_data_points = count;
		metric->gauge->data_points = (Hk__Otlp__NumberDataPoint **)points;
	}
}

static void add_point(struct message *message, void *point)
{
	if (message->point_count == message->point_room) {
		size_t room = message->point_room > 0 ? 2 * message->point_room : 64;
		void **points = realloc(message->points, room * sizeof(void *));
		if (!points) {
			message->failed = true;
			return;
		}
		message->points = points;
		message->point_room = room;
	}
	message->points[message->point_count++] = point;
}

static void take_series(void *context, const struct hk_series *series)
{
	struct message *message = context;
	if (series->first && !message->failed) {
		end_metric(message);
		begin_metric(message, series->metric);
	}
	if (message->failed) {
		return;
	}
	void *point = series->metric->type == HK_METRIC_HISTOGRAM ? histogram_point(message, series)
								  : number_point(message, series);
	if (point) {
		add_point(message, point);
	}
	message->failed |= !point;
}

/* ---- the whole ---- */

/* Sets TEXT to the id of COLLECTOR's run directory, or to "" if it has none. */
static void instance_of(const struct hk_collector *collector, char text[ID_TEXT_BYTES])
{
	uint8_t id[HK_NODE_ID_BYTES];
	*text = '\0';
	if (hk_node_id(collector->dirfd[0], id) == 0) {
		for (size_t i = 0; i < HK_NODE_ID_BYTES; i++) {
			snprintf(text + 2 * i, 3, "%02x", id[i]);
		}
	}
}

/* Packs the metrics with RESOURCE, the attributes of their origin. */
static int pack(struct message *message, Hk__Otlp__KeyValue **resource, uint8_t **ret_bytes,
		size_t *ret_size)
{
	Hk__Otlp__InstrumentationScope scope = HK__OTLP__INSTRUMENTATION_SCOPE__INIT;
	Hk__Otlp__ScopeMetrics scoped = HK__OTLP__SCOPE_METRICS__INIT, *scopes[] = {&scoped};
	Hk__Otlp__Resource origin = HK__OTLP__RESOURCE__INIT;
	Hk__Otlp__ResourceMetrics one = HK__OTLP__RESOURCE_METRICS__INIT, *all[] = {&one};
	Hk__Otlp__ExportMetricsServiceRequest request =
	    HK__OTLP__EXPORT_METRICS_SERVICE_REQUEST__INIT;
	scope.name = (char *)"hooktrace";
	scope.version = (char *)HK_VERSION;
	scoped.scope = &scope;
	scoped.n_metrics = message->count;
	scoped.metrics = message->metrics;
	origin.n_attributes = RESOURCE_ATTRIBUTES;
	origin.attributes = resource;
	one.resource = &origin;
	one.n_scope_metrics = 1;
	one.scope_metrics = scopes;
	request.n_resource_metrics = 1;
	request.resource_metrics = all;
	uint8_t *bytes =
	    malloc(hk__otlp__export_metrics_service_request__get_packed_size(&request));
	if (!bytes) {
		return -ENOMEM;
	}
	*ret_size = hk__otlp__export_metrics_service_request__pack(&request, bytes);
	*ret_bytes = bytes;
	return 0;
}

int hk_metrics_message(struct hk_collector *collector, uint8_t **ret_bytes, size_t *ret_size)
{
	struct message message = {.now_unix_ns = hk_clock_now(collector->tsc).realtime_ns};
	struct attribute attributes[RESOURCE_ATTRIBUTES];
	Hk__Otlp__KeyValue *resource[RESOURCE_ATTRIBUTES];
	char instance[ID_TEXT_BYTES], host[HK_NAME_BYTES(HOST_COLUMNS)];
	set_bounds(&message);
	hk_name_print(host, HOST_COLUMNS, collector->host);
	instance_of(collector, instance);
	set_attribute(&attributes[0], "service.name", (char *)"hooktrace");
	set_attribute(&attributes[1], "service.version", (char *)HK_VERSION);
	set_attribute(&attributes[2], "service.instance.id", instance);
	set_attribute(&attributes[3], "host.name", host);
	for (int i = 0; i < RESOURCE_ATTRIBUTES; i++) {
		resource[i] = &attributes[i].pair;
	}
	int r = hk_metrics_walk(collector, "", take_series, &message);
	if (r == 0 && !message.failed) {
		end_metric(&message);
	}
	r = r == 0 && message.failed ? -ENOMEM : r;
	r = r < 0 ? r : pack(&message, resource, ret_bytes, ret_size);
	free_blocks(&message);
	free(message.points);
	return r;
}
