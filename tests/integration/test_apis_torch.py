#!/usr/bin/python3
"""API timing of torch: what programs do with its functions works as without, and the calls are those that torch's own
TorchFunctionMode and module hooks count. Debian's torch; with the argument "long" the one that TORCH_PYTHON has, or PyPI's."""
import collections
import json
import os
import sys
import textwrap

from harness import Run, expect, expect_true, main
from test_apis import HERE, package_path

PAGE = os.path.join(HERE, "..", "..", "..", "deploy", "docs", "apis.md")
# As the mode calls them: another name of the same method.
OPERATORS = {"torch.Tensor.__add__": "torch.Tensor.add", "torch.Tensor.__matmul__": "torch.Tensor.matmul"}
# The mode is asked after the arguments have been looked at: it does not see these calls, of which the program makes so many.
REFUSED = {"torch.add": 5, "torch.Tensor.add_": 5}
NOT_HOOKED = ("torch.Tensor.__getitem__",)
NEW_IN_2 = ("compile_eager", "compile_aot_eager", "export", "transforms")


def torch_python(run: Run, kind):
    if kind == "short":
        return sys.executable
    given = os.environ.get("TORCH_PYTHON")
    if given:
        return given
    run.command("/usr/bin/python3", "-m", "venv", run.path("torch"))
    run.command(run.path("torch", "bin", "pip"), "install", "-q", "torch", "numpy")
    return run.path("torch", "bin", "python")


def lines_of(run: Run, python, program, *words):
    done = run.command(python, os.path.join(HERE, program), *words, env={"PYTHONPATH": package_path(run), "PYTHONDONTWRITEBYTECODE": "1"})
    return done.stdout.splitlines()


def check_breakage(run: Run, python, kind):
    plain, timed = ([json.loads(line) for line in lines_of(run, python, "breakage.py", *words)] for words in ((), ("timed",)))
    hooked, calls = timed.pop()[1]
    expect_true(f"{hooked} APIs were hooked, {calls} calls seen", hooked > 1500 and calls > 300)
    for before, now in zip(plain, timed):
        expect(f"{now[0]} with the APIs observed", now, before)
    expect("checks", len(timed), len(plain))
    failed = [name for name, answer in plain if answer[:1] == ["raised"]]
    expect_true(f"without hooktrace, {', '.join(failed)} fail", kind == "short" and set(failed) <= set(NEW_IN_2) or not failed)
    if failed:
        print(f"left out, not in this torch: {', '.join(failed)}")


def mode_counts(counts):
    """TorchFunctionMode's, without what hooktrace does not hook: attributes and private functions."""
    kept = {}
    for name, (calls, errors) in counts.items():
        name = name.replace("torch.functional.", "torch.")
        if name in NOT_HOOKED or name.endswith(("__get__", "__set__")) or name.split(".")[-1].startswith("_") and not name.endswith("__"):
            continue
        more = REFUSED.get(name, 0)
        kept[name] = [calls + more, errors + more]
    return kept


def timed_counts(counts):
    kept = collections.defaultdict(lambda: [0, 0])
    for name, (calls, errors) in counts.items():
        name = OPERATORS.get(name, name)
        kept[name][0] += calls
        kept[name][1] += errors
    return dict(kept)


def check_counts(run: Run, python):
    mode, timed = (json.loads(lines_of(run, python, "torch_counts.py", way)[-1]) for way in ("mode", "timed"))
    expect("calls and errors", timed_counts(timed), mode_counts(mode))
    expect_true("the training called layers, functions and methods, and some failed", len(timed) > 35 and sum(errors for _, errors in timed.values()) == 20)


def check_page(run: Run, python):
    """The example of the manual."""
    with open(PAGE, encoding="utf-8") as page:
        text = page.read()
    example = textwrap.dedent(text[text.index("    import torch"):text.index("This prints")])
    shown = run.command(python, "-c", example, env={"PYTHONPATH": package_path(run), "PYTHONDONTWRITEBYTECODE": "1"}).stdout
    expect_true(f"the example shows {shown}", shown.startswith("api ") and "torch.Tensor.__matmul__" in shown)


def check_agent(run: Run, python):
    """In a report, beside the library that multiplies the matrices."""
    done = run.trace(python, os.path.join(HERE, "torch_traced.py"), hooks=["blas"], options=("--job", "torch"),
                     env={"PYTHONPATH": package_path(run), "PYTHONDONTWRITEBYTECODE": "1"})
    rows = run.report(run.path("store", "torch"))["calls"]
    wanted = json.loads(done.stdout)
    found = {row["function"]: row for row in rows if row["domain"] == "torch"}
    expect("calls in the report", {name: [found[name]["calls"], found[name]["errors"]] for name in wanted if name in found}, wanted)
    multiplied = sum(row["total_ns"] for row in rows if row["function"] == "sgemm_")
    linear, function = found["torch.nn.Linear"], found["torch.nn.functional.linear"]
    expect_true(f"BLAS took {multiplied} ns, {linear} and {function} too", multiplied > 0 and linear["self_ns"] < linear["total_ns"]
                and function["total_ns"] <= linear["total_ns"] and linear["self_ns"] <= linear["total_ns"] - function["total_ns"] + 1000)


def test(run: Run, kind="short"):
    python = torch_python(run, kind)
    if run.command(python, "-c", "import torch", check=False).returncode != 0:
        print(f"skipped: {python} has no torch")
        sys.exit(77)
    check_breakage(run, python, kind)
    check_counts(run, python)
    check_page(run, python)
    check_agent(run, python)
    expect("the end of torch_program.py", lines_of(run, python, "torch_program.py")[-1], "done")


if __name__ == "__main__":
    main(test)
