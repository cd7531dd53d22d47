#include "report/finding/share.h"
#include "report/model/lookup.h"

double hk_report_rank_wall_ns(const struct hk_report_rank *rank)
{
	return rank->end_ns > rank->start_ns ? (double)rank->end_ns - (double)rank->start_ns : 0;
}

double hk_report_wall_ns(const struct hk_report *report)
{
	double wall = 0;

	for (size_t i = 0; i < report->rank_count; i++) {
		wall += hk_report_rank_wall_ns(&report->ranks[i]);
	}
	return wall;
}

double hk_domain_share_of(const struct hk_report *report, const char *domain)
{
	double wall = hk_report_wall_ns(report), spent = 0;

	for (size_t i = 0; i < report->rank_count; i++) {
		spent += (double)hk_report_domain_ns(report, report->ranks[i].rank, domain);
	}
	return wall > 0 ? spent / wall : 0;
}
