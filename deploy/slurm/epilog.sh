#!/bin/sh
# Slurm's Epilog, as root on each node: ends the collector of the user once no other job of the user's is on the node.
# It stores what there is first; jobs it has not closed go on with the next one.
others="$(squeue -h -o %A -t running -u "$SLURM_JOB_USER" -w "$SLURMD_NODENAME" 2>/dev/null | grep -vxc "$SLURM_JOB_ID")"
lock="${HOOK_RUN_DIR:-/dev/shm/hooktrace-$SLURM_JOB_UID}/collector.lock"
if [ "${others:-0}" -eq 0 ] && [ -r "$lock" ]; then
	pid="$(tr -dc 0-9 <"$lock")"
	if [ -n "$pid" ] && [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = hookcollector ]; then
		kill "$pid"
	fi
fi
exit 0
