#!/bin/sh
# Slurm's TaskProlog, as the user before each task: traces the tasks of those who ask for it by HOOKTRACE=1.
# HOOK_HOOKS, HOOK_LEVEL and the other variables of hooktrace go to the tasks by themselves.
[ "${HOOKTRACE:-0}" = 1 ] || exit 0
for directory in ${HOOKTRACE_LIB:+"$HOOKTRACE_LIB"} /usr/local/lib*/hooktrace /usr/lib*/hooktrace; do
	if [ -r "$directory/libhookagent.so" ]; then
		echo "export LD_PRELOAD=$directory/libhookagent.so${LD_PRELOAD:+:$LD_PRELOAD}"
		break
	fi
done
exit 0
