#!/bin/sh
# Slurm's TaskProlog, as the user before each task: traces the tasks of those who ask for it by HOOKTRACE=1.
# HOOK_HOOKS, HOOK_LEVEL and the other variables of hooktrace go to the tasks by themselves.
if [ "${HOOKTRACE:-0}" = 1 ]; then
	echo "export LD_PRELOAD=${HOOKTRACE_LIB:-/usr/local/lib}/libhookagent.so${LD_PRELOAD:+:$LD_PRELOAD}"
fi
