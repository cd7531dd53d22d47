#!/usr/bin/python3
"""status, ls, rm, doctor and env: they say what is there, remove what they may, and the lines of env do what they promise."""
import json
import os
import signal
import subprocess

import loop
from harness import TIMEOUT, Run, end_process, expect, expect_true, main, wait_for

FAILED, USAGE, ABSENT = 1, 2, 3


def status(run):
    return json.loads(run.cli("status", "--json").stdout)


def jobs(run, **options):
    return {job["id"]: job for job in json.loads(run.cli("ls", "--json", **options).stdout)}


def check_env(run: Run):
    """The lines for a shell, run by one: the collector keeps what the program does."""
    lines = run.cli("env", env={"HOOK_JOB": "lines", "HOOK_HOOKS": ",".join(loop.HOOKS)}).stdout
    expect_true(f"env: {lines}", lines.startswith("export LD_PRELOAD=" + run.agent()))
    program = f"{run.workload('calls_truth')} --loop {run.path('lines')} 100"
    done = run.command("sh", "-c", f"{lines}\nexec {program}")
    expect("env: output", (done.stdout, done.stderr), ("", ""))
    report = loop.closed_report(run, "lines")
    expect("env: ranks", len(report["ranks"]), 1)
    loop.expect_loop("env", report, loop.rows(run.path("lines")))
    for launcher, word in (("mpirun", "mpirun -x"), ("srun", "srun --export=ALL,LD_PRELOAD="), ("torchrun", "torchrun"),
                           ("docker", "docker run"), ("k8s", "- name: LD_PRELOAD")):
        text = run.cli("env", launcher, env={"HOOK_JOB": "named"}).stdout
        for wanted in (word, run.agent(), "HOOK_JOB", "named"):
            expect_true(f"env {launcher} has {wanted}: {text}", wanted in text)


def check_env_mpirun(run: Run):
    text = run.cli("env", "mpirun", env={"HOOK_JOB": "ranks", "HOOK_HOOKS": "mpi"}).stdout
    line = next(line for line in text.splitlines() if line.startswith("mpirun ") and line.endswith(" COMMAND"))
    os.mkdir(run.path("truth"))
    words = f"{run.workload('mpi_truth')} {run.path('truth')} 5"
    run.command("sh", "-c", line.replace("mpirun ", "mpirun -n 2 --oversubscribe ", 1).replace("COMMAND", "hostname"))
    run.command("sh", "-c", line.replace("mpirun ", "mpirun -n 4 ", 1).replace("COMMAND", words),
                env={"HOOK_JOB": "ranks", "HOOK_HOOKS": "mpi"})
    report = loop.closed_report(run, "ranks")
    expect("env mpirun: ranks", [row["rank"] for row in report["ranks"]], [0, 1, 2, 3])


def check_status(run: Run, collector):
    now = status(run)
    expect("its pid", now["pid"], collector.pid)
    expect("its run directory and store", (now["run_directory"], now["store"]), (run.run_directory, run.path("store")))
    expect("no jobs yet", (now["jobs"], now["segments"], now["drained_records"]), ([], 0, 0))
    path = run.path("progress")
    job = loop.start(run, run.workload("calls_truth"), "--loop", path, env=loop.agent_environment(run, "living"))
    loop.wait_rounds(path, 50)
    living = wait_for("the job", lambda: next((j for j in status(run)["jobs"] if j["id"] == "living"), None))
    expect("a living job", (living["closed"], living["processes_live"]), (False, 1))
    expect_true("its segment", status(run)["segments"] == 1)
    wait_for("its records", lambda: status(run)["drained_records"] > 0)
    text = run.cli("status").stdout
    for word in (f"pid {collector.pid}", run.run_directory, run.path("store"), "living", "running"):
        expect_true(f"status says {word}: {text}", word in text)
    expect("ls says it runs", jobs(run)["living"]["state"], "running")
    done = run.cli("rm", "--force", "living", check=False)
    expect("rm of a living job", (done.returncode, done.stderr.count("\n")), (FAILED, 1))
    expect_true(f"rm of a living job: {done.stderr}", "still running" in done.stderr)
    end_process(job)
    loop.closed_report(run, "living")
    expect("processes live", status(run)["segments"], 0)


def check_rm(run: Run):
    with open(run.path("store", "living", "mine"), "w", encoding="utf-8") as file:
        file.write("not hooktrace's\n")
    done = run.cli("rm", "--force", "living", check=False)
    expect("rm beside somebody's file", (done.returncode, os.listdir(run.path("store", "living"))), (FAILED, ["mine"]))
    os.unlink(run.path("store", "living", "mine"))
    os.rmdir(run.path("store", "living"))
    done = run.cli("rm", "lines", check=False)
    expect("rm with nobody to ask", (done.returncode, "--force" in done.stderr), (USAGE, True))
    run.cli("rm", "--force", "lines")
    expect_true("lines is gone", not os.path.exists(run.path("store", "lines")))
    expect("report of what was removed", run.cli("report", "lines", check=False).returncode, ABSENT)
    expect_true("ls leaves it out", "lines" not in jobs(run))


def check_config(run: Run):
    """Flag, variable, file of the user, default: each setting says where it comes from."""
    os.makedirs(run.path(".config"), exist_ok=True)
    with open(run.path(".config", "hooktrace.conf"), "w", encoding="utf-8") as file:
        file.write("level = count\non-full = wait:5\n")

    def settings(**more):
        table = json.loads(run.cli("status", "--config", "--json", env=more).stdout)
        return {row["name"]: (row["value"], row["from"]) for row in table}
    table = settings(HOOK_LEVEL="time")
    expect("level", table["level"], ("time", "HOOK_LEVEL"))
    expect_true(f"on-full: {table['on-full']}", table["on-full"][0] == "wait:5" and "hooktrace.conf" in table["on-full"][1])
    expect("hooks", table["hooks"], ("auto", "default"))
    run.cli("run", "-q", "--store", run.path("store"), "--job", "configured", "--hooks", "libc", "--",
            run.workload("calls_truth"), "--count", run.path("out"))
    report = run.report(run.path("store", "configured"))
    rows = report["calls"]
    expect_true("the file's level holds for run", rows and all(row["total_ns"] is None for row in rows))
    os.unlink(run.path(".config", "hooktrace.conf"))


def check_doctor(run: Run):
    told = json.loads(run.cli("doctor", "--json", "--", run.workload("calls_truth"), "--count", run.path("out")).stdout)
    checks = told["checks"]
    expect_true(f"doctor's checks: {checks}", checks and all(check["state"] in ("ok", "note", "warning") for check in checks))
    expect("doctor's trial", (told["exit"], [row["agent"] for row in told["processes"]]), (0, ["on"]))
    expect_true("it reached something", told["processes"][0]["objects"] >= 3 and told["processes"][0]["slots_patched"] >= 5)


def check_second(run: Run, collector):
    """One collector per run directory."""
    second = subprocess.run([run.binary("hookcollector"), "--store", run.path("other")], env=run.environment(), check=False,
                            capture_output=True, text=True, timeout=TIMEOUT)
    expect("a second collector", (second.returncode, second.stdout, second.stderr.count("\n")), (1, "", 1))
    said = f"already serves {run.run_directory} (pid {collector.pid})"
    expect_true(f"a second collector: {second.stderr}", said in second.stderr)
    collector.terminate()
    expect("the first ends", collector.wait(TIMEOUT), 0)
    # The next one serves the same store: what ended before it began is still there by name.
    collector = run.start_collector()
    expect("ls after a restart", jobs(run)["ranks"]["live"], False)
    expect("report after a restart", run.report("ranks")["job"]["id"], "ranks")
    end_process(collector, signal.SIGTERM)
    expect("its socket is gone", [name for name in os.listdir(run.run_directory) if name.endswith(".sock")], [])


def test(run):
    collector = run.start_collector()
    check_status(run, collector)
    check_env(run)
    check_env_mpirun(run)
    check_rm(run)
    check_config(run)
    check_doctor(run)
    check_second(run, collector)


if __name__ == "__main__":
    main(test)
