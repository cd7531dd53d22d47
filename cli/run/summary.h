/* summary.h: what `hookcli run` shows on standard error when the job has ended. Main thread only.
 */
#ifndef HK_CLI_RUN_SUMMARY_H
#define HK_CLI_RUN_SUMMARY_H

struct hk_session;

/* Shows the job of KEEPER, whose command COMMAND ended with STATUS, and puts its page beside its
 * files (job_page.h). Of a job whose nodes share a
 * directory or bring it to a root only the lowest rank's hookcli shows it, of all nodes, once they
 * have closed their parts: it waits for them, though not for long. */
void hk_summary_show(const struct hk_session *session, const char *command, int status);

#endif
