#!/bin/sh
# Slurm's Prolog, as root on each node of an allocation: a collector of the user's, unless there is one. Never fails a job.
# Where jobs are kept says the user's hooktrace.conf or /etc/hooktrace.conf; by default a directory in the user's home, which the
# nodes share.
PATH="${HOOKTRACE_BIN:+$HOOKTRACE_BIN:}/usr/local/bin:/usr/bin:/bin:$PATH"
collector="$(command -v hookcollector)" || exit 0
# shellcheck disable=SC2016 # the shell it starts is to expand it
start='"$0" --quiet --ready-fd 3 "$@" </dev/null 3>&1 >/dev/null 2>&1 &'

set -- --per-node
if [ -n "$HOOKTRACE_UPSTREAM" ]; then
	set -- --upstream "$HOOKTRACE_UPSTREAM"
fi
if [ -n "$HOOKTRACE_STORE" ]; then
	set -- "$@" --store "$HOOKTRACE_STORE"
fi

# In a session of its own: what belongs to the prolog may be ended with it. Until it is ready, or has seen that there is one.
if [ "$(id -un)" = "$SLURM_JOB_USER" ]; then
	setsid sh -c "$start" "$collector" "$@"
else
	setsid runuser -u "$SLURM_JOB_USER" -- sh -c "$start" "$collector" "$@"
fi | timeout 20 head -c 1 >/dev/null
exit 0
