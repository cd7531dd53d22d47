#!/bin/bash
# From a fresh Debian 12 machine to a merged report of a real 4-rank MPI job: installs what is missing, builds hooktrace, starts
# a collector, runs HPCC under the agent, looks at it while it runs, and says where the report and the timeline lie.
# Everything it makes is below build/; running it again starts over with a new job.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
build="$root/build/quickstart"
job="hpcc-$(date +%Y%m%d-%H%M%S)-$$"
start_s=$SECONDS
collector_pid=
job_pid=
run_dir=

bold='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
	bold=$'\033[1m' plain=$'\033[0m'
fi

say() {
	printf '\n%s[%3d s] %s%s\n' "$bold" "$((SECONDS - start_s))" "$*" "$plain"
}

fail() {
	printf 'quickstart: %s\n' "$*" >&2
	exit 1
}

# Ends what this script started, and nothing else.
clean_up() {
	local pid
	for pid in $job_pid $collector_pid; do
		if kill -TERM "$pid" 2>/dev/null; then
			wait "$pid" 2>/dev/null || true
		fi
	done
	if [ -n "$run_dir" ]; then
		rm -rf "$run_dir"
	fi
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# The settings of the caller's own jobs have no place here.
for name in "${!HOOK_@}" LD_PRELOAD; do
	unset "$name"
done
# shellcheck source=deploy/mpi-env.sh
. "$root/deploy/mpi-env.sh"

say "1/4 packages"
"$root/deploy/install.sh" --quick
echo "all there"

say "2/4 build"
mkdir -p "$build"
if ! { cmake -S "$root" -B "$build" -G Ninja -DHK_TESTS=OFF && cmake --build "$build" -j "$(nproc)"; } \
	>"$build/build.log" 2>&1; then
	tail -n 40 "$build/build.log" >&2
	fail "the build failed, see $build/build.log"
fi
collector="$build/collector/hookcollector"
cli="$build/cli/hookcli"
echo "$collector"
echo "$cli"

say "3/4 HPCC, 4 ranks, under the agent with MPI, BLAS and libc hooks"
work="$build/$job"
store="$build/jobs"
mkdir -p "$work" "$store"
cp "$root/deploy/hpccinf.txt" "$work/hpccinf.txt"
# A run directory of our own: a collector that already runs for this user is not disturbed.
run_dir="$(mktemp -d -p "$(test -w /dev/shm && echo /dev/shm || echo "${TMPDIR:-/tmp}")" hooktrace-quickstart-XXXXXX)"
export HOOK_RUN_DIR="$run_dir"

"$collector" --store "$store" >"$work/collector.log" 2>&1 &
collector_pid=$!

# Tries a command every fifth of a second, as long as the process $1 lives; two minutes are for one that hangs.
await() {
	local pid="$1" until_s=$((SECONDS + 120))
	shift
	until "$@" >/dev/null 2>&1; do
		if [ "$SECONDS" -ge "$until_s" ] || ! kill -0 "$pid" 2>/dev/null; then
			return 1
		fi
		sleep 0.2
	done
}

if ! await "$collector_pid" "$cli" status; then
	cat "$work/collector.log" >&2
	fail "hookcollector did not answer, see $work/collector.log"
fi

cd "$work"
job_start_s=$SECONDS
"$cli" run --hooks mpi --hooks blas --hooks libc --job "$job" -- mpirun -n 4 hpcc 2>"$work/summary.txt" &
job_pid=$!

four_ranks() {
	# Past the start, which is one long MPI_Init: the fourth rank is there, and messages go to and fro.
	"$cli" top "$job" --once --json >"$work/top.json" 2>/dev/null &&
		grep -q '"rank": *3' "$work/top.json" && grep -Eq '"MPI_(Send|Recv|Testany|Bcast|Allreduce)"' "$work/top.json"
}
if await "$job_pid" four_ranks; then
	echo "while it runs, hookcli top --once shows:"
	echo
	"$cli" top "$job" --once || true
else
	echo "hookcli top saw no four ranks in time" >&2
fi

status=0
wait "$job_pid" || status=$?
job_pid=
from_s=$(((SECONDS - job_start_s) / 2)) to_s=$(((SECONDS - job_start_s) / 2 + 2))
cat "$work/summary.txt" >&2
if [ "$status" -ne 0 ]; then
	fail "the job ended with status $status"
fi
grep -q '^Success=1' "$work/hpccoutf.txt" || fail "HPCC did not report success, see $work/hpccoutf.txt"

say "4/4 report and timeline"
"$cli" report "$job" --format json -o "$work/report.json"
"$cli" report "$job" --format text -o "$work/report.txt"
"$cli" report "$job" --format html -o "$work/report.html"
# Two seconds out of the middle: the millions of calls of the whole job are more than a browser likes to show.
"$cli" export "$job" --format perfetto --from "${from_s}s" --to "${to_s}s" -o "$work/timeline.perfetto-trace"
for file in report.json report.txt report.html timeline.perfetto-trace; do
	[ -s "$work/$file" ] || fail "$work/$file is empty"
done

cat <<END

job          $store/$job
report       $work/report.txt
             $work/report.json
page         $work/report.html   (to be opened in a browser)
timeline     $work/timeline.perfetto-trace   (seconds $from_s to $to_s; open it at https://ui.perfetto.dev)
summary      $work/summary.txt

more         $cli report $store/$job --by rank
             $cli export $store/$job -o whole.perfetto-trace
done in $((SECONDS - start_s)) s
END
