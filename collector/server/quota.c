#include "collector/server/quota.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define FDS_OF_JOB 2u
#define SECOND_NS UINT64_C(1000000000)

/* ---- life ---- */

/* Returns the bytes of memory that the process may use: the machine's memory, or a lower limit of
 * the process. */
static uint64_t memory_bytes(void)
{
	const int limits[] = {RLIMIT_DATA, RLIMIT_AS};
	uint64_t least = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct rlimit limit;
		if (getrlimit(limits[i], &limit) == 0 && limit.rlim_cur < least) {
			least = limit.rlim_cur;
		}
	}
	return least;
}

struct hk_quota *hk_quota_new(const struct hk_policy *policy, struct hk_rejections *refusals)
{
	static const char *const names[] = {"local", "without a token", "loopback"};
	struct hk_quota *quota = calloc(1, sizeof(*quota));
	if (!quota) {
		return NULL;
	}
	quota->count = HK_ACCOUNT_TOKEN + hk_policy_accounts(policy);
	quota->accounts = calloc(quota->count, sizeof(*quota->accounts));
	if (!quota->accounts) {
		free(quota);
		return NULL;
	}
	for (size_t i = 0; i < quota->count; i++) {
		char *name = quota->accounts[i].name;
		size_t size = sizeof(quota->accounts[i].name);
		if (i < HK_ACCOUNT_TOKEN) {
			snprintf(name, size, "%s", names[i]);
		} else {
			hk_policy_account_name(policy, i - HK_ACCOUNT_TOKEN, name, size);
		}
	}
	struct rlimit files;
	quota->refusals = refusals;
	quota->jobs_max = getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < UINT32_MAX
			      ? (uint32_t)(files.rlim_cur / FDS_OF_JOB / HK_QUOTA_JOBS_FDS)
			      : UINT32_MAX;
	quota->values_max = memory_bytes() / HK_QUOTA_VALUES_PART;
	if (quota->values_max < HK_QUOTA_VALUES_MIN) {
		quota->values_max = HK_QUOTA_VALUES_MIN;
	}
	return quota;
}

struct hk_quota *hk_quota_free(struct hk_quota *quota)
{
	if (quota) {
		free(quota->accounts);
		free(quota);
	}
	return NULL;
}

/* ---- bytes of requests ---- */

static bool is_local(const struct hk_quota *quota, const struct hk_account *account)
{
	return account == &quota->accounts[HK_ACCOUNT_LOCAL];
}

bool hk_quota_fits(struct hk_quota *quota, struct hk_account *account, const void *owner,
		   enum hk_held kind, size_t more)
{
	if (more == 0 || account->leading == owner) {
		return true;
	}
	if (kind == HK_HELD_SHORT) {
		return account->held[kind] + more <= HK_QUOTA_HELD_SHORT;
	}
	bool others = is_local(quota, account) || quota->held_all + more <= HK_QUOTA_HELD_ALL;
	if (others && account->held[kind] + more <= HK_QUOTA_HELD_LONG) {
		return true;
	}
	if (account->leading) {
		return false;
	}
	account->leading = owner;
	return true;
}

void hk_quota_hold(struct hk_quota *quota, struct hk_account *account, enum hk_held kind,
		   size_t bytes)
{
	account->held[kind] += bytes;
	if (kind == HK_HELD_LONG && !is_local(quota, account)) {
		quota->held_all += bytes;
	}
}

void hk_quota_release(struct hk_quota *quota, struct hk_account *account, const void *owner,
		      enum hk_held kind, size_t bytes)
{
	account->held[kind] -= bytes;
	if (kind == HK_HELD_LONG && !is_local(quota, account)) {
		quota->held_all -= bytes;
	}
	if (owner && account->leading == owner) {
		account->leading = NULL;
	}
}

/* ---- others ---- */

bool hk_quota_directory(struct hk_account *account, uint64_t now_ns)
{
	uint64_t due = account->directories_due_ns > now_ns ? account->directories_due_ns : now_ns;
	if (due - now_ns > (HK_QUOTA_DIRECTORIES - 1) * SECOND_NS) {
		return false;
	}
	account->directories_due_ns = due + SECOND_NS;
	return true;
}

void hk_quota_refuse(struct hk_quota *quota, struct hk_account *account, const char *why)
{
	account->refused++;
	account->why = why;
	hk_rejections_add(quota->refusals, account->name, why);
}

int hk_quota_values(struct hk_quota *quota, struct hk_account *account, uint64_t bytes)
{
	if (account->values_bytes + bytes > quota->values_max) {
		hk_quota_refuse(quota, account, "too many values of processes");
		return -EDQUOT;
	}
	account->values_bytes += bytes;
	return 0;
}

struct hk_account *hk_quota_payer(struct hk_quota *quota, struct hk_account *account)
{
	return is_local(quota, account) ? NULL : account;
}

void hk_quota_cut(char *text, size_t most)
{
	if (strlen(text) > most) {
		/* The text is not cut inside a character. */
		while (most > 0 && ((unsigned char)text[most] & 0xc0) == 0x80) {
			most--;
		}
		text[most] = '\0';
	}
}

void hk_quota_show(const struct hk_account *account, Hk__Account *ret_account)
{
	const char *why = account->why;
	hk__account__init(ret_account);
	ret_account->jobs = account->open_jobs;
	ret_account->name = (char *)(uintptr_t)account->name;
	ret_account->connections = account->connections;
	ret_account->held_bytes = account->held[HK_HELD_SHORT] + account->held[HK_HELD_LONG];
	ret_account->unsent_bytes = account->unsent;
	ret_account->values_bytes = account->values_bytes;
	ret_account->loop_ns = account->loop_ns;
	ret_account->refused = account->refused;
	ret_account->why = (char *)(uintptr_t)(why ? why : "");
}
