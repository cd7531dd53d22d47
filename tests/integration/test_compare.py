#!/usr/bin/python3
"""hookcli compare: dumps of models whose faults are known are compared with dumps without, and numbers with NumPy."""
import csv
import json
import os

import numpy
from browser import Browser
from dumps import FORWARD, Rank, Tensor
from harness import expect, expect_true, main, wait_for
from toy_models import BACKWARD, VIEWS, Cnn, Fault, Transformer, train

AGREE, DIFFER, ERROR = 0, 1, 2
RANKS, STEPS, BAD_RANK, BAD_STEP = 4, 5, 2, 3


def compare(run, a, b, code, *options):
    done = run.cli("compare", a, b, *options, check=False)
    expect(f"compare {options}: exit ({done.stderr!r})", done.returncode, code)
    return done


def compared(run, a, b, code, *options):
    return json.loads(compare(run, a, b, code, "--format", "json", *options).stdout)


def table(run, a, b, code, *options):
    """The rows of --format csv."""
    return list(csv.DictReader(compare(run, a, b, code, "--format", "csv", *options).stdout.splitlines()))


# ---- faults ----

def choices(model, kind, phase):
    """Calls of the forward (or backward) pass that a fault of KIND can spoil, as (place, name, number)."""
    tape = list(enumerate(model.tape)) if phase == FORWARD else list(enumerate(reversed(model.tape)))
    # The gradient of the first operator's input is made, and nothing reads it.
    found = [(place, one[0], one[7], one[1]) for place, one in tape]
    if kind == "transposed":
        found = [one for one in found if one[1].endswith("linear") and one[3][1].value.shape[0] == one[3][1].value.shape[1]]
    if kind == "memory":
        found = [one for one in found if one[0] > 0 and one[1] not in VIEWS]
    return [one[:3] for one in found]


def check_fault(run, base, model, kind, phase, seed):
    random = numpy.random.default_rng(seed)
    possible = choices(base[model], kind, phase)
    place, name, number = possible[random.integers(len(possible))]
    fault = Fault(kind, BAD_RANK, BAD_STEP, place, phase, seed)
    path = run.path(f"{model.__name__}-{kind}-{seed}")
    train(run, path, model, ranks=RANKS, steps=STEPS, fault=fault)
    case = f"{model.__name__} {kind} at {name} {number} {'backward' if phase == BACKWARD else 'forward'}"
    first = compared(run, path, run.path(model.__name__), DIFFER)["first"]
    expect_true(f"{case}: nothing found", first is not None)
    expect(case, {key: first[key] for key in ("rank", "step", "api", "number", "phase")},
           {"rank": BAD_RANK, "step": BAD_STEP, "api": name, "number": number, "phase": "backward" if phase == BACKWARD else "forward"})
    expect(f"{case}: by", first["by"], "memory" if kind == "memory" else "operator")
    if phase == FORWARD:
        expect(f"{case}: frame", first["stack"][0].split(":")[1], f"{10 + place} forward")


def check_faults(run):
    """20 faults at seeded places, on rank 2 in step 3 of 5; the gradients' mean carries each to all ranks."""
    base = {}
    for model in (Transformer, Cnn):
        base[model] = train(run, run.path(model.__name__), model, ranks=RANKS, steps=STEPS)[0]
        again = run.path(f"{model.__name__}-again")
        train(run, again, model, ranks=RANKS, steps=STEPS)
        found = compared(run, again, run.path(model.__name__), AGREE)
        expect(f"{model.__name__}: twins", (found["first"], found["row_count"]), (None, 0))
    cases = [(model, kind, phase) for model in (Transformer, Cnn)
             for kind, phase in (("bit", FORWARD), ("bit", FORWARD), ("bit", BACKWARD), ("nan", FORWARD), ("nan", BACKWARD), ("cast", FORWARD),
                                 ("cast", FORWARD), ("transposed", FORWARD), ("memory", FORWARD), ("scale", BACKWARD))
             if (model, kind) != (Cnn, "transposed")]
    # The CNN has one square weight.
    cases.append((Cnn, "transposed", FORWARD))
    expect("cases", len(cases), 20)
    for seed, (model, kind, phase) in enumerate(cases):
        check_fault(run, base, model, kind, phase, seed)


def check_followers(run):
    """What comes after a fault follows: only the operator itself is called wrong."""
    path = run.path("scaled")
    train(run, path, Transformer, ranks=RANKS, steps=STEPS, fault=Fault("scale", BAD_RANK, BAD_STEP, 20, FORWARD, 3))
    found = compared(run, path, run.path("Transformer"), DIFFER)
    wrong = [row["name"] for row in found["rows"] if row["verdict"] == "no"]
    expect("wrong by themselves", len(wrong), 1)
    expect("first row", wrong[0], found["first"]["name"])
    expect_true("followers", found["levels"]["follows"] > 100)
    steps = {(row["rank_a"], row["step"]) for row in found["rows"] if row["verdict"] == "follows"}
    expect_true(f"ranks and steps {steps}", all(step >= BAD_STEP for _, step in steps) and {rank for rank, _ in steps} == set(range(RANKS)))


def check_rounding(run):
    """Healthy runs in a narrower dtype, and in another order of sums, have no operator that went wrong."""
    for model in (Transformer, Cnn):
        for seed in (1, 2, 3):
            plain, narrow = run.path(f"{model.__name__}-fp32-{seed}"), run.path(f"{model.__name__}-bf16-{seed}")
            train(run, plain, model, ranks=2, seed=seed)
            train(run, narrow, model, ranks=2, seed=seed, dtype="bfloat16")
            for code, options in ((DIFFER, ()),):
                found = compared(run, narrow, plain, code, "--all", *options)
                expect(f"{model.__name__} {seed} in bfloat16: first", found["first"], None)
                expect(f"{model.__name__} {seed} in bfloat16: wrong", found["levels"]["no"], 0)
                forward = [row for row in found["rows"] if row["phase"] == "forward" and row["step"] == 0 and row["role"] == "output"]
                expect(f"{model.__name__} {seed}: forward of the first step", {row["verdict"] for row in forward} - {"yes", "equal"}, set())
    fault = Fault("nan", 1, 2, 12, FORWARD, 1)
    path = run.path("bf16-nan")
    train(run, path, Transformer, ranks=2, dtype="bfloat16", fault=fault)
    first = compared(run, path, run.path("Transformer-fp32-1"), DIFFER)["first"]
    expect("NaN in bfloat16", (first["api"], first["rank"], first["step"], first["by"]), (fault.name, 1, 2, "operator"))


# ---- numbers ----

def check_numbers(run):
    """Every number of a row is that of NumPy in double."""
    random = numpy.random.default_rng(5)
    a, b, truth = Rank(0), Rank(0), []
    for number in range(12):
        shape = tuple(random.integers(1, 9, number % 4 + 1))
        y = random.normal(0, 10.0 ** random.integers(-3, 4), shape).astype(numpy.float32)
        x = (y + random.normal(0, 1, shape) * abs(y) * 10.0 ** random.integers(-6, 0)).astype(numpy.float32)
        dtype = ("float32", "float64")[number % 2]
        a.row(number, 0, "torch.relu", Tensor(x, dtype), number=number)
        b.row(number, 0, "torch.relu", Tensor(y, "float32"), number=number)
        truth.append((x.astype(float), y.astype(float)))
    a.write(run, run.path("numbers-a"))
    b.write(run, run.path("numbers-b"))
    rows = table(run, run.path("numbers-a"), run.path("numbers-b"), DIFFER)
    expect("rows", len(rows), len(truth))
    for row, (x, y) in zip(rows, truth):
        apart, relative = x - y, abs(x - y) / abs(y)
        wanted = {
            "cosine": (x * y).sum() / numpy.sqrt((x * x).sum() * (y * y).sum()), "rmse": numpy.sqrt((apart ** 2).mean()), "mape": 100 * relative.mean(),
            "max_abs": abs(apart).max(), "max_rel": relative.max(), "euclidean": numpy.linalg.norm(apart), "within_1000": (relative < 1e-3).mean(),
            "within_5000": (relative < 5e-3).mean(), "error": numpy.linalg.norm(apart) / numpy.linalg.norm(y), "max_abs_at": abs(apart).argmax(),
            "max_a": x.max(), "min_a": x.min(), "mean_b": y.mean(), "l2_b": numpy.linalg.norm(y), "deviation_a": x.std(),
        }
        for key, value in wanted.items():
            expect_true(f"{key} {row[key]}, NumPy {value}", numpy.isclose(float(row[key]), value, rtol=1e-9, atol=1e-12))
        half = 1 if x.size == 1 else 0.5 + 0.5 * wanted["cosine"]
        expect_true(f"cosine_half {row['cosine_half']}", numpy.isclose(float(row["cosine_half"]), half, rtol=1e-9))


def check_statistics(run):
    """Without elements the statistics are compared, and the same operator is named."""
    for name, fault in (("healthy", None), ("wrong", Fault("scale", 1, 2, 10, FORWARD, 2))):
        models = train(run, run.path(f"statistics-{name}"), Transformer, ranks=2, store=False, fault=fault)
        expect("stored", models[0].rows.store, False)
    train(run, run.path("statistics-bf16"), Transformer, ranks=2, store=False, dtype="bfloat16")
    first = compared(run, run.path("statistics-wrong"), run.path("statistics-healthy"), DIFFER)["first"]
    expect("statistics", (first["api"], first["rank"], first["step"]), (fault.name, 1, 2))
    found = compared(run, run.path("statistics-bf16"), run.path("statistics-healthy"), DIFFER, "--all")
    expect("bfloat16: first", found["first"], None)
    expect_true("no numbers of elements", not any("difference" in row for row in found["rows"]))


# ---- matching ----

def check_calls(run):
    """Calls that one side alone makes are listed, and shift no other."""
    extra, plain = run.path("extra"), run.path("plain")
    train(run, plain, Cnn)
    train(run, extra, Cnn, extra=3)
    for a, b, side in ((extra, plain, "A"), (plain, extra, "B")):
        found = compared(run, a, b, DIFFER)
        expect(f"extra in {side}: first", found["first"], None)
        expect(f"extra in {side}: unmatched", found["levels"]["unmatched"], 2 * 4)
        expect(f"extra in {side}: the others", found["levels"]["equal"] + found["levels"]["unmatched"],
               sum(found["levels"].values()))
        reasons = {row["reason"] for row in found["rows"]}
        expect(f"extra in {side}: why", len(reasons), 1)
        expect_true(f"{reasons}", f"only in {side}" in reasons.pop())


def one_rank(run, name, rows, rank=0):
    """Writes a dump of calls torch.relu with one input each: ROWS of (value, options)."""
    dump = Rank(rank)
    for number, (value, options) in enumerate(rows):
        options = {"number": number, "step": 0, "name": "torch.relu", **options}
        dump.row(number, options.pop("step"), options.pop("name"), value, **options)
    dump.write(run, run.path(name))
    return run.path(name)


def check_shapes(run):
    value = numpy.arange(12, dtype=numpy.float32).reshape(3, 4)
    other = numpy.random.default_rng(1).normal(size=(4, 4)).astype(numpy.float32)
    cases = [
        (Tensor(value.T), Tensor(value), "equal", "transposed"), (Tensor(value.T + numpy.float32(1)), Tensor(value), "no", "transposed"),
        (Tensor(value.reshape(3, 1, 4)), Tensor(value), "equal", "squeezed"), (Tensor(value.reshape(2, 6)), Tensor(value), "equal", "as many elements"),
        (Tensor(other.T), Tensor(other), "no", "agrees with dimensions 0 and 1 of B exchanged"), (Tensor(value[:2]), Tensor(value), "no", "[2,4] and [3,4]"),
        ("2.0", "2", "equal", ""), ("mean", "sum", "no", "mean and sum"), ("torch.bfloat16", "torch.float32", "yes", "torch.bfloat16 and torch.float32"),
        ("torch.int32", "torch.int64", "no", ""), ("3", Tensor(value), "no", "cannot be compared"),
    ]
    for number, (one, two, verdict, words) in enumerate(cases):
        a, b = one_rank(run, f"shape-a{number}", [(one, {})]), one_rank(run, f"shape-b{number}", [(two, {})])
        row, = table(run, a, b, AGREE if verdict in ("equal", "yes") else DIFFER)
        expect(f"shapes {number}: verdict ({row['reason']})", row["verdict"], verdict)
        expect_true(f"shapes {number}: {row['reason']!r}", words in row["reason"])


def check_mapping(run):
    """Names of frameworks meet by themselves; other names, ranks and shards by a file."""
    random = numpy.random.default_rng(9)
    value = random.normal(size=(8, 6)).astype(numpy.float32)
    a = one_rank(run, "names-a", [(Tensor(value), {"name": "Functional.conv2d", "number": 0}), (Tensor(value), {"name": "torch.relu"})])
    b = one_rank(run, "names-b", [(Tensor(value), {"name": "torch.nn.functional.conv2d", "number": 0}), (Tensor(value), {"name": "ops.ReLU"})])
    expect("without a file", compared(run, a, b, DIFFER)["levels"]["unmatched"], 2)
    rules = run.path("rules")
    with open(rules, "w", encoding="utf-8") as file:
        file.write("# names\ntorch.relu = ops.ReLU\n")
    expect("with it", compared(run, a, b, AGREE, "--map", rules)["levels"]["equal"], 2)
    for line in ("nonsense", "a = ", "x = shard(0)", "x = shard(0) over ranks 9-1", "* = **"):
        with open(rules, "w", encoding="utf-8") as file:
            file.write(f"# names\n{line}\n")
        done = compare(run, a, b, ERROR, "--map", rules)
        expect_true(f"{line}: {done.stderr!r}", "cannot read the mapping" in done.stderr and "line 2" in done.stderr)


def check_ranks(run):
    value = numpy.ones((2, 2), numpy.float32)
    for rank in (0, 1):
        one_rank(run, "two", [(Tensor(value * (rank + 1)), {})], rank)
    one_rank(run, "seven", [(Tensor(value), {})], 7)
    done = compare(run, run.path("two"), run.path("seven"), DIFFER)
    expect("a rank with all", done.stderr, "")
    done = compare(run, run.path("two"), run.path("seven"), AGREE, "--ranks", "0")
    expect_true(done.stdout, "1 of 1 agree" in done.stdout)
    one_rank(run, "three", [(Tensor(value), {})], 0)
    one_rank(run, "three", [(Tensor(value), {})], 5)
    one_rank(run, "three", [(Tensor(value), {})], 6)
    done = compare(run, run.path("two"), run.path("three"), AGREE)
    expect_true(f"{done.stderr!r}", "1 rank of A, the first is 1" in done.stderr and "2 ranks of B, the first is 5" in done.stderr)
    with open(run.path("ranks"), "w", encoding="utf-8") as file:
        file.write("rank 1 = rank 6\n")
    expect("ranks that a file pairs", compared(run, run.path("two"), run.path("three"), DIFFER, "--map", run.path("ranks"))["levels"]["no"], 1)


def check_outside(run):
    """A parameter that differs before any operator does comes from outside, or was changed between two calls."""
    base = run.path("inside")
    train(run, base, Cnn)
    for bad_step, by, words in ((0, "outside", "comes from outside of the dump"), (2, "memory", "since parameter of conv2.weight, 1 write of the framework")):
        path = run.path(f"outside-{bad_step}")
        model = Cnn(1)
        for step in range(4):
            if step == bad_step:
                weight = model.parameters["conv2.weight"]
                weight.change(weight.value * numpy.float32(1.25))
            model.update(model.forward_backward())
        model.rows.write(run, path)
        first = compared(run, path, base, DIFFER)["first"]
        expect(f"outside in {bad_step}", (first["by"], first["api"], first["slot"], first["step"]), (by, "torch.nn.functional.conv2d", "1", bad_step))
        expect_true(first["text"], words in first["text"])


def check_shards(run):
    """Tensors that four ranks share are put together; rows that only one of the ranks has match by being replicated."""
    random = numpy.random.default_rng(11)
    weight, bias, other = (random.normal(size=shape).astype(numpy.float32) for shape in ((8, 6), (6,), (5, 5)))
    names = ("layers.0.weight", "layers.1.weight", "norm.bias", "experts.2.weight")
    for name, spoilt in (("whole", 0), ("whole-spoilt", 1e-2)):
        one_rank(run, name, [(Tensor(weight + numpy.float32(spoilt)), {"name": names[0]}), (Tensor(weight), {"name": names[1]}),
                             (Tensor(bias), {"name": names[2]}), (Tensor(other), {"name": names[3]})])
    for store in (True, False):
        for rank in range(4):
            rows = [(Tensor(weight[rank * 2:rank * 2 + 2]), {"name": names[0]}), (Tensor(numpy.array_split(weight, 4, 1)[rank]), {"name": names[1]}),
                    (Tensor(bias), {"name": names[2]})]
            dump = Rank(rank, store)
            for number, (value, options) in enumerate(rows + ([(Tensor(other), {"name": names[3]})] if rank == 2 else [])):
                dump.row(number, 0, options["name"], value, number=number)
            dump.write(run, run.path(f"parts-{store}"))
    rules = run.path("shards")
    with open(rules, "w", encoding="utf-8") as file:
        file.write("layers.0.weight = shard(0) over ranks 0-3\nlayers.1.weight = shard(1) over ranks 0,1,2-3\nexperts.* = replicated\n")
    parts = run.path("parts-True")
    for a, b, options in ((parts, run.path("whole"), ()), (run.path("whole"), parts, ("--ranks", "0-3"))):
        found = compared(run, a, b, DIFFER if not options else AGREE, "--map", rules, "--all", *options)
        rows = {row["name"].split(".")[0] + row["name"].split(".")[1]: row for row in found["rows"]}
        expect("verdicts of shards", [rows[key]["verdict"] for key in ("layers0", "layers1", "normbias")], ["equal"] * 3)
        expect("shapes of shards", "shards put together" in rows["layers0"]["reason"], True)
        expect("an expert of rank 2", [row["verdict"] for row in found["rows"] if "experts" in row["name"]], ["equal"] if options else ["unmatched"])
    rows = table(run, parts, run.path("whole-spoilt"), DIFFER, "--map", rules)
    expect_true(f"max abs {rows[0]['max_abs']}", abs(float(rows[0]["max_abs"]) - 1e-2) < 1e-6 and rows[0]["verdict"] == "no")
    rows = table(run, run.path("parts-False"), run.path("whole"), DIFFER, "--map", rules)
    expect("statistics of shards", [row["verdict"] for row in rows[:3]], ["yes", "yes", "equal"])
    rows = table(run, run.path("parts-False"), run.path("whole-spoilt"), DIFFER, "--map", rules)
    expect("statistics of spoilt shards", rows[0]["verdict"], "no")
    with open(rules, "w", encoding="utf-8") as file:
        file.write("b: layers.0.weight = shard(0) over ranks 0-4\nb:layers.1.weight = shard(0) over ranks 0-2147483647\n")
    rows = table(run, run.path("whole"), parts, DIFFER, "--map", rules)
    expect("shards that are not there", [row["verdict"] for row in rows[:2]], ["?", "?"])
    expect_true(rows[0]["reason"], "a shard is missing" in rows[0]["reason"])


# ---- formats, errors ----

def check_formats(run):
    a, b = run.path("scaled"), run.path("Transformer")
    done = compare(run, a, b, DIFFER, "--rows", "5")
    lines = done.stdout.splitlines()
    expect_true(lines[0], lines[0].startswith("first wrong: ") and "rank 2, step 3: inputs are equal bit by bit" in lines[0])
    expect_true(lines[1], ") <- step (train.py:7)" in lines[1])
    expect("rows of text", sum(" follows " in line for line in lines), 4)
    expect_true("the rest is said", any("more: --rows 0 shows them" in line for line in lines) and any(line.startswith("rule: ") for line in lines))
    expect_true("no colours in a file", "\033" not in done.stdout)
    page = run.path("page.html")
    compare(run, a, b, DIFFER, "--format", "html", "-o", page)
    with open(page, encoding="utf-8") as file:
        text = file.read()
    expect_true("a page without requests", "http://" not in text.replace("http://www.w3.org/", "") and "default-src 'none'" in text)
    data = json.loads(text.split('<script type="application/json" id="data">')[1].split("</script>")[0])
    expect("rows of the page", (len(data["rows"]), data["first"]["rank"]), (min(2000, data["row_count"]), BAD_RANK))
    expect_true("modules of the page", {"layers.0", "layers.2.attn", "head"} <= {module["path"] for module in data["modules"]})
    expect_true(data["first"]["text"], " in layers." in data["first"]["text"])
    expect("rows of modules", sum(sum(module["levels"].values()) for module in data["modules"]), sum(data["levels"].values()))


def check_page(run):
    """The page draws itself: the divergence on top, and modules that open."""
    with Browser(run.directory) as browser:
        browser.open(run.path("page.html"))
        title = browser.run("return document.querySelector('h1').textContent")
        expect_true(title, title.startswith("First wrong: torch."))
        expect("frames", browser.run("return document.querySelectorAll('.stack li').length"), 2)
        names = "return [...document.querySelectorAll('.tree summary code')].map((one) => one.textContent)"
        expect("modules, the worst first", browser.run(names), ["model", "layers", "head"])
        browser.run("document.querySelectorAll('.tree details')[1].open = true")
        wait_for("layers to open", lambda: browser.run(names)[:5] == ["model", "layers", "0", "1", "2"])
        errors = [entry["message"] for entry in browser.driver.get_log("browser") if entry["level"] == "SEVERE"]
        expect("errors of the page", errors, [])


def check_errors(run):
    empty = run.path("empty")
    os.mkdir(empty)
    good = run.path("two")
    for a, words in ((run.path("absent"), "No such file"), (empty, "no format of dumps is recognised")):
        done = compare(run, a, good, ERROR)
        expect_true(f"{done.stderr!r}", done.stderr.startswith("hookcli: error: cannot compare the dumps: ") and words in done.stderr)
        expect("one line", done.stderr.count("\n"), 1)
    torn = run.path("torn")
    os.mkdir(torn)
    source = os.path.join(run.path("Cnn"), sorted(os.listdir(run.path("Cnn")))[0])
    with open(source, "rb") as file:
        content = file.read()
    for length in (0, 1, 40, len(content) // 2, len(content) - 9):
        with open(os.path.join(torn, "rank0-1.hkv"), "wb") as file:
            file.write(content[:length])
        done = run.cli("compare", torn, run.path("Cnn"), check=False)
        expect_true(f"torn at {length}: {done.returncode} {done.stderr!r}", done.returncode in (AGREE, DIFFER, ERROR) and done.stderr != "")


def test(run):
    check_numbers(run)
    check_faults(run)
    check_followers(run)
    check_rounding(run)
    check_statistics(run)
    check_calls(run)
    check_shapes(run)
    check_mapping(run)
    check_ranks(run)
    check_outside(run)
    check_shards(run)
    check_formats(run)
    check_page(run)
    check_errors(run)


if __name__ == "__main__":
    main(test)
