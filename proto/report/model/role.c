#include "report/model/role.h"

uint64_t hk_report_records_of(const Hk__Process *process)
{
	uint64_t dropped = process->records_dropped;
	return process->records - (dropped < process->records ? dropped : process->records);
}

int32_t hk_report_rank_of(const Hk__Process *process)
{
	return process->rank < 0 && process->role != HK__ROLE__ROLE_LAUNCHER ? 0 : process->rank;
}

const char *hk_report_role_name(Hk__Role role)
{
	switch (role) {
	case HK__ROLE__ROLE_HELPER:
		return "helper";
	case HK__ROLE__ROLE_LAUNCHER:
		return "launcher";
	default:
		return "main";
	}
}

const char *hk_report_role_of(const Hk__Process *process)
{
	return hk_report_role_name(process->role);
}
