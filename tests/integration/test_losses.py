#!/usr/bin/python3
"""What collectors cannot keep: it waits for as long as there is room for it, and what is gone is counted, once, and said.

The truth is what the program was told to call."""
import concurrent.futures
import errno
import json
import os
import resource
import shutil

import loop
from harness import Failure, Run, end_process, expect, expect_true, main, wait_for
from nodes import Node, root_and_leaves
from told import Told, calls_of

FEW, MANY = 1000, 50_000
# Many times what a ring of a MiB holds.
STORM = 500_000
OPERATIONS = 8
AT_ONCE = 4
SMALL = {"HOOK_SEGMENT_BYTES": str(1 << 20)}


def report_of(node, job):
    done = node.cli("report", job, "--format", "json", check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def records_of(node, job):
    """Records that its report says are kept."""
    report = report_of(node, job)
    return sum(rank["records"] for rank in report["ranks"]) if report else 0


def told_on(run, node, job, **more):
    return Told(run, job, HOOK_RUN_DIR=node.run_directory, **more)


def expect_sums(run, node, job, made):
    """All calls are counted, and each record is kept or lost. Returns how many are lost."""
    report = node.closed_report(job)
    expect(f"{job}: calls", calls_of(report, "told_one"), made)
    kept, lost = (sum(rank[key] for rank in report["ranks"]) for key in ("records", "lost_records"))
    events = loop.events_of(node, job)
    loop.expect_once(events)
    expect(f"{job}: calls in the export", sum(map(len, events.values())), kept)
    expect(f"{job}: records and lost ones", (kept, lost), (kept, made - kept))
    said = node.cli("report", job).stdout
    expect(f"{job}: the report says that records are lost: {said}", "records lost" in said, lost > 0)
    return lost


def limits_of(node):
    return resource.prlimit(node.collector.pid, resource.RLIMIT_NOFILE)


def take_files(node):
    """Leaves its collector no descriptor but those that it has."""
    taken = set(map(int, os.listdir(f"/proc/{node.collector.pid}/fd")))
    free = min(set(range(len(taken) + 1)) - taken)
    resource.prlimit(node.collector.pid, resource.RLIMIT_NOFILE, (free, limits_of(node)[1]))


def give_files(node):
    most = limits_of(node)[1]
    resource.prlimit(node.collector.pid, resource.RLIMIT_NOFILE, (most, most))


def wait_refused(node, line):
    def refused():
        # One that it had open for a moment may have been among those that it has.
        take_files(node)
        return f"{line} error=Too many open files" in node.said()
    wait_for(f"its log to say: {line}", refused)


def without_files(run, node, job, calls, **more):
    """A process that makes CALLS when no descriptors are left for its first records, FEW before that and some after it; the sum of all."""
    made = FEW + calls
    with told_on(run, node, job, **more) as told:
        wait_for("the process", lambda: (report_of(node, job) or {"ranks": []})["ranks"])
        take_files(node)
        told.call("one", FEW)
        wait_refused(node, f"records not stored job={job}")
        told.call("one", calls)
        give_files(node)

        def stored():
            # An attempt that failed before may yet give up the whole ring, and a full ring takes no record until then.
            nonlocal made
            told.call("one", FEW)
            made += FEW
            return records_of(node, job) > 0
        wait_for("records to be stored", stored)
    return made


def check_files(run: Run):
    """Records that no file can be opened for wait in their ring; they are lost when it is full."""
    node = Node(run, "files").start()
    made = without_files(run, node, "waits", FEW)
    expect("waits: lost", expect_sums(run, node, "waits", made), 0)
    made = without_files(run, node, "full", STORM, **SMALL)
    lost = expect_sums(run, node, "full", made)
    expect_true(f"full: {lost} of {made} lost", 0 < lost < made)
    end_process(node.collector)


def check_late(run: Run):
    """Processes that begin, or begin and end, when no slot is left."""
    node = Node(run, "late").start()
    with told_on(run, node, "first") as first:
        first.call("one", FEW)
        wait_for("records", lambda: records_of(node, "first") == FEW)
        take_files(node)
        with told_on(run, node, "short", HOOK_KEEP_SEGMENT="1") as told:
            told.call("one", FEW)
        with told_on(run, node, "long") as told:
            told.call("one", FEW)
            wait_refused(node, "processes not looked for")
            give_files(node)
            told.call("one", FEW)
    for job, made in (("first", FEW), ("short", FEW), ("long", 2 * FEW)):
        expect(f"{job}: lost", expect_sums(run, node, job, made), 0)
    end_process(node.collector)


def check_lowered(run: Run):
    """The limit on open files is lowered below the number that the collector has, which then looks at each of them alone."""
    node = Node(run, "lowered").start()
    with told_on(run, node, "lowered") as told:
        told.call("one", FEW)
        wait_for("records", lambda: records_of(node, "lowered") == FEW)
        resource.prlimit(node.collector.pid, resource.RLIMIT_NOFILE, (1, limits_of(node)[1]))
        told.call("one", FEW)

        def runs_and(done):
            expect("lowered: its exit", node.collector.poll(), None)
            return done
        # It takes no connection now, so its log is asked, not the collector.
        wait_for("its log", lambda: runs_and("processes not looked for error=Too many open files" in node.said()))
        give_files(node)
        wait_for("more records", lambda: runs_and(records_of(node, "lowered") == 2 * FEW))
    expect("lowered: lost", expect_sums(run, node, "lowered", 2 * FEW), 0)
    expect("lowered: its exit", node.collector.poll(), None)
    end_process(node.collector)


def remove(node, job):
    """Removes it at once, not file by file."""
    os.rename(os.path.join(node.store, job), node.path("removed"))
    shutil.rmtree(node.path("removed"))


def check_wiped(run: Run, job, wipe):
    """What a root has is removed in mid-job: that is lost, what comes later is kept."""
    root, (leaf,) = root_and_leaves(run, [f"leaf-{job}"])
    with told_on(run, leaf, job) as told:
        told.call("one", FEW)
        wait_for("records on the root", lambda: records_of(root, job) == FEW)
        wipe(root)
        told.call("one", FEW)
    expect(f"{job}: lost", expect_sums(run, root, job, 2 * FEW), FEW)
    for node in (root, leaf):
        end_process(node.collector)


def wipe_store(root):
    os.rename(root.store, root.path("wiped"))
    os.mkdir(root.store, 0o700)


def remove_and_kill(node, job):
    remove(node, job)
    node.kill()
    node.start()


def kill_and_remove(node, job):
    node.kill()
    remove(node, job)
    node.start()


def check_begun_again(run: Run, again, names):
    """The directory is removed and its collector killed before it has written the next chunk, so that it begins with the first."""
    job = f"{again.__name__}-{len(names)}"
    whole, *others = [Node(run, "only").start()] if len(names) == 1 else root_and_leaves(run, names[1:])
    place = others[0][0] if others else whole
    with told_on(run, place, job) as told:
        told.call("one", MANY)
        wait_for("records", lambda: records_of(whole, job) == MANY)
        again(whole, job)
        told.call("one", MANY)
    # What was not overwritten in the ring is read once more.
    lost = expect_sums(run, whole, job, 2 * MANY)
    expect_true(f"{job}: {lost} lost", 0 < lost <= MANY)
    for node in {whole, place}:
        end_process(node.collector)


def check_leaf_begun_again(run: Run, again):
    """The same on a leaf, twice: its root has the stored part, and continues the same job."""
    job = f"leaf-{again.__name__}"
    root, (leaf,) = root_and_leaves(run, ["leaf"])
    with told_on(run, leaf, job) as told:
        for times in range(3):
            told.call("one", MANY)
            wait_for("records", lambda: records_of(root, job) == (times + 1) * MANY)
            if times < 2:
                again(leaf, job)
    lost = expect_sums(run, root, job, 3 * MANY)
    expect(f"{job}: directories and lost", (os.listdir(root.store), lost), ([job], 0))
    for node in (root, leaf):
        end_process(node.collector)


def check_leaf_unsent(run: Run):
    """What a leaf had not brought when its directory was removed is lost: its root says so."""
    root, (leaf,) = root_and_leaves(run, ["leaf"])
    with told_on(run, leaf, "unsent") as told:
        told.call("one", FEW)
        wait_for("records on the root", lambda: records_of(root, "unsent") == FEW)
        root.kill()
        told.call("one", MANY)
        wait_for("records on the leaf", lambda: records_of(leaf, "unsent") == FEW + MANY)
        kill_and_remove(leaf, "unsent")
        root.start()
        told.call("one", FEW)
    report = root.closed_report("unsent")
    expect("unsent: calls", calls_of(report, "told_one"), 2 * FEW + MANY)
    sums = tuple(sum(rank[key] for rank in report["ranks"]) for key in ("records", "lost_records"))
    expect("unsent: directories, records, lost ones", (os.listdir(root.store), sums), (["unsent"], (2 * FEW, MANY)))
    done = root.cli("export", "unsent", "--format", "chrome", "-o", run.path("unsent.json"), check=False)
    expect_true(f"unsent: the export says what is missing: {done.stderr}", "damaged parts" in done.stderr and str(MANY) in done.stderr)
    for node in (root, leaf):
        end_process(node.collector)


def set_fault(node, **fault):
    """What its next collector meets: tests/integration/faults."""
    words = {"LD_PRELOAD": f"{node.run.build}/tests/integration/faults/libfaults.so", **fault}
    node.before = ["env", *(f"{name}={value}" for name, value in words.items())]


def start_without_note(node, number):
    """Starts a collector that cannot write note NUMBER in its run directory at once; no later one has that."""
    set_fault(node, FAULT_ONLY="symlinkat", FAULT_AT=number, FAULT_ERRNO=errno.ENOSPC)
    node.start()
    node.before = []


def wait_noted(node, note):
    wait_for(f"{note} in the run directory", lambda: os.path.lexists(os.path.join(node.run_directory, note)))


def check_open_noted(run: Run):
    """The note of an open job comes when it can be written: the successor of a killed collector continues the job."""
    node = Node(run, "noted")
    start_without_note(node, 1)
    with told_on(run, node, "noted") as told:
        told.call("one", FEW)
        wait_for("records", lambda: records_of(node, "noted") == FEW)
        wait_noted(node, "job.noted")
        node.kill()
        node.start()
        told.call("one", FEW)
    lost = expect_sums(run, node, "noted", 2 * FEW)
    expect("noted: directories and lost", (os.listdir(node.store), lost), (["noted"], 0))
    end_process(node.collector)


def check_unsent_noted(run: Run):
    """A leaf closes no job before the note that its root has not got it: killed then, it brings the job all the same."""
    root, (leaf,) = root_and_leaves(run, ["leaf"])
    for node in (root, leaf):
        node.kill()
    start_without_note(leaf, 2)
    with told_on(run, leaf, "closed") as told:
        told.call("one", FEW)
    leaf.closed_report("closed")
    leaf.kill()
    root.start()
    leaf.start()
    expect("closed: lost", expect_sums(run, root, "closed", FEW), 0)
    for node in (root, leaf):
        end_process(node.collector)


def check_sent_noted(run: Run):
    """Of a job that its root has, too, a leaf's run directory tells as soon as that can be written."""
    root, (leaf,) = root_and_leaves(run, ["leaf"])
    leaf.kill()
    start_without_note(leaf, 3)
    with told_on(run, leaf, "brought") as told:
        told.call("one", FEW)
    expect("brought: lost", expect_sums(run, root, "brought", FEW), 0)
    wait_noted(leaf, "sent.brought")
    for node in (root, leaf):
        end_process(node.collector)


def check_taken_up(run: Run, number):
    """Operations NUMBER to NUMBER + 2 of a killed collector's successor fail: it continues the same job."""
    node = Node(run, "next").start()
    with told_on(run, node, "next", HOOK_KEEP_SEGMENT="1") as told:
        told.call("one", FEW)
        wait_for("records", lambda: records_of(node, "next") == FEW)
        node.kill()
        set_fault(node, FAULT_AT=number, FAULT_COUNT=3, FAULT_ERRNO=errno.EIO)
        try:
            node.start()
        except Failure:
            node.collector.wait()
            node.before = []
            node.start()
        node.before = []
        told.call("one", FEW)
    lost = expect_sums(run, node, "next", 2 * FEW)
    expect(f"taken up, {number}: directories and lost", (os.listdir(node.store), lost), (["next"], 0))
    end_process(node.collector)


def apart(run, check):
    """CHECK with directories of its own; why it failed."""
    try:
        with Run(run.build) as own:
            check(own)
    except Failure as failure:
        return str(failure)
    return None


def test(run):
    checks = [check_files, check_late, check_lowered, lambda own: check_wiped(own, "directory", lambda root: remove(root, "directory")),
              lambda own: check_wiped(own, "store", wipe_store)]
    for again in (remove_and_kill, kill_and_remove):
        checks += [lambda own, names=names, again=again: check_begun_again(own, again, names) for names in (["only"], ["root", "leaf"])]
        checks.append(lambda own, again=again: check_leaf_begun_again(own, again))
    checks += [check_leaf_unsent, check_open_noted, check_unsent_noted, check_sent_noted]
    checks += [lambda own, number=number: check_taken_up(own, number) for number in range(1, OPERATIONS + 1)]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        failures = [failure for failure in pool.map(lambda check: apart(run, check), checks) if failure]
    expect_true("\n".join(failures), not failures)


if __name__ == "__main__":
    main(test)
