#!/usr/bin/python3
"""Faults put into one operator's result on step 3 of rank 2 of a data-parallel training are named: operator, step and rank, in each of
20 seeded cases; and trainings without a fault name nothing. test_precision_faults.py BUILD [CASES [SEED]]"""
import json
import os
import random

from harness import Failure, Run, expect, expect_true, main

RANKS, RANK, STEP = 4, 2, 3
CASES, SEED = 20, 17
SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "workloads", "torch_faults.py")
# Operators of aten in the forward pass, how often each is called, and the API that calls it.
OPERATORS = {
    "cnn": {"convolution": (2, "conv2d"), "native_batch_norm": (1, "batch_norm"), "relu": (3, "relu"), "max_pool2d_with_indices": (2, "max_pool2d"),
            "addmm": (2, "linear"), "_log_softmax": (1, "cross_entropy"), "nll_loss_forward": (1, "cross_entropy")},
    "transformer": {"embedding": (1, "embedding"), "native_layer_norm": (4, "layer_norm"), "addmm": (12, "linear"), "bmm": (4, "matmul"),
                    "_softmax": (2, "softmax"), "gelu": (2, "gelu"), "_log_softmax": (1, "cross_entropy")},
}
# Calls whose weight is square, so that it can be used transposed.
SQUARE = {"cnn": [("convolution", 1), ("addmm", 0)], "transformer": [("addmm", nth) for nth in (0, 1, 2, 3, 6, 7, 8, 9)]}
KINDS = ("bit", "nan", "transposed", "cast")


def chosen_fault(choose, model, kind):
    operator, nth = choose.choice(SQUARE[model])
    if kind != "transposed":
        operator = choose.choice(sorted(OPERATORS[model]))
        nth = choose.randrange(OPERATORS[model][operator][0])
    return {"kind": kind, "operator": operator, "nth": nth, "seed": choose.randrange(1 << 30)}


def all_cases(run, cases, seed):
    """A run of each model to compare with, two healthy ones, of which one is of bfloat16, and CASES with a fault."""
    choose = random.Random(seed)
    listed = [{"model": model, "store": run.path(f"{model}-{what}"), "narrow": what == "narrow", "fault": None} for model in OPERATORS
              for what in ("right", "again", "narrow")]
    for number in range(cases):
        model, kind = sorted(OPERATORS)[number % 2], KINDS[number // 2 % len(KINDS)]
        listed.append({"model": model, "store": run.path(f"{model}-{number}-{kind}"), "narrow": False, "fault": chosen_fault(choose, model, kind)})
    return listed


def train(run, cases):
    """Runs all CASES. Returns where the faults lie."""
    with open(run.path("cases.json"), "w") as file:
        json.dump(cases, file)
    python = os.environ.get("TORCH_PYTHON", "/usr/bin/python3")
    # The defaults of redirects and tee are more than Debian's torchrun of 1.13 bears under Python 3.11.
    run.command(python, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", RANKS, "--redirects", 1, "--tee", 1,
                "--log_dir", run.path("log"), SCRIPT, run.path("cases.json"), run.path("truths.json"),
                env={"PYTHONPATH": os.path.join(run.build, "python"), "OMP_NUM_THREADS": "1"})
    with open(run.path("truths.json")) as file:
        return json.load(file)


def compared(run, case):
    """The first divergence of CASE from its model's right run, or None."""
    done = run.cli("compare", case["store"], run.path(f"{case['model']}-right"), "--format", "json", check=False)
    expect_true(f"compare ends as it says: {done.returncode} {done.stderr}", done.returncode in (0, 1))
    return json.loads(done.stdout)["first"]


def complaint(case, truth, first):
    """Why FIRST does not name the fault of CASE, or None."""
    if not first or first["by"] != "operator":
        return f"no operator is named: {first and first['text']}"
    wanted = OPERATORS[case["model"]][case["fault"]["operator"]][1]
    got = (first["rank"], first["step"], first["module"])
    if got != (RANK, STEP, truth["module"]) or wanted not in first["api"]:
        return f"{first['text']}: {got} {first['api']}, expected {(RANK, STEP, truth['module'])} {wanted}"
    return None


def test(run: Run, many=CASES, seed=SEED):
    cases = all_cases(run, int(many), int(seed))
    truths = train(run, cases)
    expect("cases that ran", len(truths), len(cases))
    wrong = []
    for case, truth in zip(cases, truths):
        first = compared(run, case)
        if not case["fault"]:
            expect(f"{case['store']}: first divergence of a healthy run", first and first["text"], None)
            continue
        said = complaint(case, truth, first)
        print(os.path.basename(case["store"]), case["fault"]["operator"], case["fault"]["nth"], said or "named", flush=True)
        wrong += [said] if said else []
    if wrong:
        raise Failure(f"{len(wrong)} faults are not named, first: {wrong[0]}")


if __name__ == "__main__":
    main(test)
