/* summary.h: shows the summary of `hookcli run` on standard error when the job has ended. Main
 * thread only. */
#ifndef HK_CLI_RUN_SUMMARY_H
#define HK_CLI_RUN_SUMMARY_H

struct hk_session;

/* Shows the job of SESSION, whose command COMMAND ended with STATUS, and writes its page
 * (job_page.h). If nodes share the job's directory or a root has the job, only the hookcli of the
 * lowest rank shows it, for all nodes. It waits for a limited time until all nodes have closed
 * their parts. */
void hk_summary_show(const struct hk_session *session, const char *command, int status);

#endif
