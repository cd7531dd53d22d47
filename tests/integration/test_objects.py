#!/usr/bin/python3
"""Every kind of object and slot: the program behaves the same, and every call that can be seen is counted once."""
import glob
import os
import re

from harness import Run, calls_of, expect, expect_true, main, total_calls

KINDS = {"lazy", "now", "norelro", "noplt", "sysv", "mixed", "own", "symbolic", "many", "other"}
PROGRAMS = {"pie", "pie_now", "pie_noplt", "nopie", "nopie_now", "nopie_noplt"}
# Programs whose tables hold their own PLT entries: a call through one goes through a slot after all.
CANONICAL = {"nopie", "nopie_now", "nopie_noplt", "gold", "lld"}
HOOKS = "long callee_add(long a, long b){0}\nlong callee_chosen(long a){0}\nlong callee_own(long a){0}\n"
CALLS, TABLE_CALLS = 7, 6
EXIT = 3


class Objects:
    def __init__(self, run: Run):
        self.run = run
        self.directory = os.path.join(run.build, "tests", "integration", "objects")
        self.jobs = 0
        for name, attributes, more in ("plain", "", ""), ("tables", " tables", ""), ("data", "", "long program_data(long a)\n"):
            with open(run.path(name + ".hooks"), "w", encoding="ascii") as file:
                file.write(HOOKS.format(attributes) + more)

    def path(self, name):
        return os.path.join(self.directory, name)

    def caller(self, kind):
        return self.path(f"libcaller_{kind}.so")

    def same(self, what, *command, hooks="plain", preload=None, **env):
        """The output with and without the agent, and the report."""
        env = {**env, "LD_PRELOAD": preload} if preload else env
        alone = self.run.command(*command, env=env, check=False)
        self.jobs += 1
        job = f"job{self.jobs}"
        traced = self.run.trace(*command, hooks=[self.run.path(hooks + ".hooks")], env=env, check=False,
                                options=("-q", "--job", job))
        expect(f"{what}: exit and output", (traced.returncode, traced.stdout, traced.stderr),
               (EXIT, alone.stdout, alone.stderr))
        report = self.run.report(self.run.path("store", job))
        coverage = report["coverage"][0]
        expect(f"{what}: slots, {coverage}", coverage["slots_found"], coverage["slots_patched"] + coverage["slots_refused"])
        return alone.stdout, report


def seen(report):
    totals = total_calls(report)
    return {name: totals[0, "callee_" + name] for name in ("add", "chosen", "own")}


def counted(output):
    """What the callees counted themselves."""
    return {name: int(number) for name, number in re.findall(r"^(add|chosen|own) (\d+)$", output, re.MULTILINE)}


def visible(output, runs=1, tables=False, symbolic=False):
    """What of that goes through slots that are patched."""
    truth = counted(output)
    return {"add": truth["add"] - (0 if tables else runs * TABLE_CALLS), "chosen": truth["chosen"],
            "own": 0 if symbolic else truth["own"]}


def kinds(objects, pattern):
    prefix, suffix = pattern.split("*")
    return {os.path.basename(path)[len(prefix):len(os.path.basename(path)) - len(suffix)]
            for path in glob.glob(objects.path(pattern))}


def check_callers(objects):
    """Loaded before the agent starts, and opened later."""
    found = kinds(objects, "libcaller_*.so")
    expect_true(f"built: {sorted(found)}", KINDS <= found)
    for kind in sorted(found):
        for mode in "run", "open", "now":
            what = f"{kind}, {mode}"
            loaded = {"preload": objects.caller(kind)} if mode == "run" else {}
            output, report = objects.same(what, objects.path("objects"), mode, *([] if loaded else [objects.caller(kind)]), **loaded)
            # With the second callee's names hidden behind the first's, its own are not called.
            expect(f"{what}: counted", counted(output)["add"], CALLS + TABLE_CALLS)
            expect(f"{what}: seen", seen(report), visible(output, symbolic=kind == "symbolic"))
            rows = calls_of(report)
            if "noplt" not in kind:
                expect(f"{what}: by library", rows[0, f"libcaller_{kind}.so", "callee_add"]["calls"], CALLS)


def check_programs(objects):
    found = kinds(objects, "objects_*")
    expect_true(f"built: {sorted(found)}", PROGRAMS <= found)
    for kind in sorted(found):
        output, report = objects.same(kind, objects.path("objects_" + kind))
        expect(f"{kind}: seen", seen(report), visible(output, tables=kind in CANONICAL))


def check_canonical(objects):
    """A library's slots and tables hold the program's PLT entry: once through the library's, once through the program's."""
    for kind in "noplt", "lazy":
        output, report = objects.same(f"canonical, {kind}", objects.path("objects_nopie"), "open", objects.caller(kind))
        expect(f"canonical, {kind}: seen", seen(report), visible(output, tables=True))


def check_tables(objects):
    """Tables of addresses are left alone unless a hooks line asks for them."""
    for kind in "lazy", "now", "norelro", "noplt":
        for mode in "run", "open":
            loaded = {"preload": objects.caller(kind)} if mode == "run" else {}
            output, report = objects.same(f"tables, {kind}, {mode}", objects.path("objects"), mode,
                                          *([] if loaded else [objects.caller(kind)]), hooks="tables", **loaded)
            expect(f"tables, {kind}, {mode}: seen", seen(report), visible(output, tables=True))


def check_scopes(objects):
    """Whose function a lazy slot leads to is the loader's to say."""
    output, report = objects.same("deep", objects.path("objects"), "deep", objects.caller("other"))
    expect("deep: nothing of the first callee", counted(output)["add"], 0)
    expect("deep: seen", (seen(report)["add"], seen(report)["chosen"]), (CALLS, CALLS))
    output, report = objects.same("deep, one callee", objects.path("objects"), "deep", objects.caller("lazy"))
    expect("deep, one callee: seen", seen(report), visible(output))


def check_binding(objects):
    """What the environment makes of lazy slots: resolved at once, never written, the first strong definition."""
    for setting in "LD_BIND_NOW", "LD_BIND_NOT", "LD_DYNAMIC_WEAK":
        for kind in "lazy", "own":
            output, report = objects.same(f"{setting}, {kind}", objects.path("objects"), "open", objects.caller(kind),
                                          **{setting: "1"})
            expect(f"{setting}, {kind}: seen", seen(report), visible(output))


def check_audit(objects):
    """An audit module has the last word on where a lazy slot leads."""
    audit = objects.path("libaudit.so")
    for kind, mode in ("lazy", "open"), ("sysv", "open"), ("own", "deep"), ("now", "open"):
        output, report = objects.same(f"audit, {kind}", objects.path("objects"), mode, objects.caller(kind), LD_AUDIT=audit)
        expect(f"audit, {kind}: counted", counted(output)["add"], TABLE_CALLS)
        if kind != "now":
            expect(f"audit, {kind}: seen", seen(report)["add"], CALLS)


def check_reload(objects):
    for kind in "lazy", "now", "noplt", "relr":
        if not os.path.exists(objects.caller(kind)):
            continue
        output, report = objects.same(f"reload, {kind}", objects.path("objects"), "reload", objects.caller(kind))
        expect_true(f"reload, {kind}: at the same place and at another: {output}", "same 1 moved 1" in output)
        expect(f"reload, {kind}: seen", seen(report), visible(output, runs=6))


    output, report = objects.same("unseen", objects.path("objects"), "unseen", objects.caller("now"))
    expect_true(f"unseen: at the same place: {output}", "same 1" in output)
    expect("unseen: seen", seen(report), visible(output, runs=2))


def check_early(objects):
    """The agent is made to look while the loader is in the middle of an object, and once more when that is done."""
    for number in 1, 2:
        output, report = objects.same(f"early {number}", objects.path("objects"), "early", objects.path(f"libearly{number}.so"))
        expect(f"early {number}: seen", seen(report), visible(output))


def check_data(objects):
    """Data of the program's is no function, and its low address no offset that a large library has yet to add its base to."""
    output, report = objects.same("data", objects.path("objects_nopie"), "open", objects.path("liblarge.so"), hooks="data")
    expect("data: seen", seen(report), visible(output, tables=True))
    expect("data: objects not relocated yet", report["coverage"][0]["objects_pending"], 0)


def check_constructor(objects):
    """What a library calls before the dlopen that brings it returns, for every caller of dlopen."""
    for mode, runs in ("now", 1), ("unseen", 2):
        output, report = objects.same(f"constructor, {mode}", objects.path("objects"), mode, objects.path("libstarting.so"))
        expect(f"constructor, {mode}: counted", counted(output)["add"], runs * (CALLS + TABLE_CALLS + 1))
        expect(f"constructor, {mode}: seen", seen(report), visible(output, runs=runs))


def shape(output):
    """File, offset and protection of each mapping of a library."""
    lines = re.findall(r"^([0-9a-f]+)-([0-9a-f]+) (\S{4}) (\S+) \S+ \S+ +(/\S+)", output, re.MULTILINE)
    return [(path, offset, protection, int(end, 16) - int(start, 16)) for start, end, protection, offset, path in lines
            if "libhookagent" not in path and ".seg" not in path]


def check_protection(objects):
    """Pages that the loader made read-only are so again when they have been patched."""
    patch = os.path.join(objects.run.build, "tests", "integration", "patch")
    command = (os.path.join(patch, "patch_program"), "maps", patch)
    alone = shape(objects.run.command(*command).stdout)
    traced = objects.run.trace(*command, hooks=["*:target_*"], options=("-q", "--job", "maps"))
    expect_true("patched something", objects.run.report(objects.run.path("store", "maps"))["coverage"][0]["slots_patched"] > 10)
    expect("mappings", shape(traced.stdout), alone)


PATTERN = "*:target_*"
DESCRIBED = "long target_add(long a, long b)\nlong target_same(long a, long b)\n"
# The programs of patch/: program, what, hooks, calls by (library, function); what no row names was not called. A row of
# library "*" is a function whose address was taken: one thunk for all.
PATCHED = (
    ("patch_program", "calls", PATTERN,
     {("liblazy.so", "target_add"): 5, ("libnow.so", "target_add"): 6, ("*", "target_add"): 7, ("libsysv.so", "target_add"): 8,
      ("libown.so", "target_own"): 9, ("patch_program", "target_add"): 1, ("liblazy.so", "target_negate"): 1,
      ("libnow.so", "target_negate"): 1, ("*", "target_negate"): 1, ("libsysv.so", "target_negate"): 1,
      ("libown.so", "target_negate"): 1, ("libpointer.so", "target_negate"): 1}),
    ("patch_program", "calls", DESCRIBED,
     {("liblazy.so", "target_add"): 5, ("libnow.so", "target_add"): 6, ("*", "target_add"): 11, ("libsysv.so", "target_add"): 8,
      ("patch_program", "target_add"): 1}),
    ("patch_program", "versions", PATTERN, {("libv1.so", "target_version"): 3, ("libv2.so", "target_version"): 3}),
    ("patch_program", "blocked", PATTERN, {("libv1.so", "target_meet"): 1, ("libv2.so", "target_meet"): 2}),
    ("patch_program", "plugs", PATTERN, {("libplug.so", "target_add"): 50}),
    ("patch_program", "forked", PATTERN, {("libplug.so", "target_add"): 5}),
    ("patch_nonpie", None, PATTERN,
     {("patch_nonpie", "target_add"): 5, ("*", "target_add"): 7, ("liblazy.so", "target_add"): 5, ("libnow.so", "target_add"): 6,
      ("liblazy.so", "target_negate"): 1, ("libnow.so", "target_negate"): 1, ("*", "target_negate"): 1}),
)


def check_patched(objects):
    """Versions of a symbol, addresses that are compared, slots that are used while they are resolved, a child."""
    run = objects.run
    patch = os.path.join(run.build, "tests", "integration", "patch")
    for number, (program, what, hooks, wanted) in enumerate(PATCHED):
        command = [os.path.join(patch, program), *([what, patch] if what else [])]
        if hooks != PATTERN:
            with open(run.path("described.hooks"), "w", encoding="ascii") as file:
                file.write(hooks)
            hooks = run.path("described.hooks")
        job = f"patched{number}"
        traced = run.trace(*command, hooks=[hooks], options=("-q", "--job", job))
        expect(f"{program} {what}: output", traced.stdout, run.command(*command).stdout)
        report = run.report(run.path("store", job))
        made = {(library, function): row["calls"] for (_, library, function), row in calls_of(report).items() if row["calls"]}
        expect(f"{program} {what}: calls", made, wanted)


def check_race(objects):
    """Objects that the loader is still at work on are left alone until it has finished."""
    for kind in "many", "now":
        output, report = objects.same(f"race, {kind}", objects.path("objects"), "race", objects.caller(kind))
        expect(f"race, {kind}: seen", seen(report), visible(output, runs=300))


def test(run):
    objects = Objects(run)
    check_callers(objects)
    check_programs(objects)
    check_canonical(objects)
    check_scopes(objects)
    check_binding(objects)
    check_audit(objects)
    check_reload(objects)
    check_early(objects)
    check_data(objects)
    check_constructor(objects)
    check_protection(objects)
    check_patched(objects)
    check_race(objects)
    check_tables(objects)


if __name__ == "__main__":
    main(test)
