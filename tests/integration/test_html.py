#!/usr/bin/python3
"""The HTML report in a real browser: of real jobs, of hostile names, of many ranks; it says what the JSON report says."""
import collections
import json
import os
import re

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from browser import Browser
from harness import RANKS, expect, expect_true, main, wait_for
from test_real_jobs import HPCC_INPUT, TESTS
from test_stack_exports import text_of

LAMMPS = ("lmp", "-var", "STEPS", "50", "-in", os.path.join(TESTS, "workloads", "lammps_lj.in"))
FILE_MAX = 10 << 20
READY_MAX_MS = 30000  # of a page that takes half a second: bench_html.py is the one that measures
TABLE = "#functions table"


def page_of(run, job, name):
    path = run.path(f"{name}.html")
    run.cli("report", job, "--format", "html", "-o", path)
    return path


def head(browser, title):
    """The button by which a column of the functions sorts."""
    return browser.run("return [...document.querySelectorAll(arguments[0] + ' thead button')]"
                       ".find((button) => button.textContent.trim() === arguments[1])", TABLE, title)


def column(browser, title, table=TABLE):
    """What a column of the table sorts by, as text, from top to bottom."""
    return browser.run("""
        const table = document.querySelector(arguments[0]);
        const heads = [...table.querySelectorAll('thead th')];
        const at = heads.findIndex((head) => head.textContent.trim() === arguments[1]) - heads.length;
        return [...table.querySelectorAll('tbody tr:not(.detail)')].map((row) => row.cells[row.cells.length + at].dataset.value);
        """, table, title)


def show_all(browser, section="#functions"):
    browser.run("document.querySelectorAll(arguments[0] + ' .switch input').forEach((box) => { if (!box.checked) box.click(); });"
                "document.querySelector(arguments[0] + ' .table-foot .link')?.click();", section)


def check_values(browser, report):
    """Each row of functions is the sum of the JSON report's rows of that function, library and role."""
    wanted = collections.defaultdict(collections.Counter)
    for row in report["calls"]:
        key = (row["function"], row["library"], row["role"])
        wanted[key].update(calls=row["calls"], total=row["total_ns"] or 0)
        wanted[key]["max"] = max(wanted[key]["max"], row["max_ns"] or 0)
    show_all(browser)
    rows = zip(*(column(browser, title) for title in ("Function", "Called from", "Calls", "Total", "Max")))
    got = collections.Counter((function, library, int(calls), int(total or 0), int(longest or 0))
                              for function, library, calls, total, longest in rows)
    expect("rows of functions", got, collections.Counter(
        (function, library, sums["calls"], sums["total"], sums["max"]) for (function, library, _), sums in wanted.items()))
    expect("ranks", [int(rank) for rank in column(browser, "Rank", "#ranks table")], [row["rank"] for row in report["ranks"]])
    expect("peaks of memory", sorted(row["peak_bytes"] for row in report["memory"] if row["library"] == "*"),
           sorted(browser.run("return hk.data.memory.peaks.map((row) => row.peak_bytes)")))


def check_head(run, browser, job):
    """The page's head says what the summary and the report say."""
    report = run.report(job)
    tile = browser.run("return [...document.querySelectorAll('.tile')].find((one) => one.textContent.startsWith('Wall time')).querySelector('dd').textContent")
    wall_s = sum(float(value) * {"min": 60, "s": 1, "ms": 1e-3}[unit] for value, unit in re.findall(r"([0-9.]+)\s*(ms|s|min)", tile))
    summary_s = float(re.search(r"^wall ([0-9.]+) s", run.cli("report", job).stdout, re.MULTILINE)[1])
    expect_true(f"wall time {tile}, the summary has {summary_s} s", abs(wall_s - summary_s) <= 0.01 * summary_s)
    functions = len({(row["domain"], row["function"]) for row in report["calls"]})
    said = browser.driver.find_element(By.CSS_SELECTOR, ".when").text
    expect_true(f"the head says {said!r}, there are {functions} functions", f" {functions} functions, " in said)
    # What is put aside is time in hooked calls all the same.
    for rest in browser.run("return [...document.querySelectorAll('#domains .legend, #timeline .legend')].map((one) => one.lastChild.textContent)"):
        expect("time in no domain", rest, "waits, or outside hooked calls")


def check_sorting(browser):
    head(browser, "Calls").click()
    calls = [int(value) for value in column(browser, "Calls")]
    expect_true("several rows with different calls", len(set(calls)) > 3)
    expect("calls, after a click", calls, sorted(calls, reverse=True))
    marked = browser.run("return [...document.querySelectorAll(arguments[0] + ' th:not([aria-sort=none])')]"
                         ".map((one) => [one.textContent.trim(), one.ariaSort])", TABLE)
    expect("the sorted column says so", marked, [["Calls", "descending"]])
    head(browser, "Calls").send_keys(Keys.ENTER)
    calls = [int(value) for value in column(browser, "Calls")]
    expect("calls, after the Enter key", calls, sorted(calls))
    head(browser, "Function").click()
    names = column(browser, "Function")
    expect("names", names, browser.run("return [...arguments[0]].sort((a, b) => a.localeCompare(b, 'en', {numeric: true}))", names))


def check_filter(browser):
    browser.driver.find_element(By.TAG_NAME, "body").send_keys("/")
    box = browser.driver.switch_to.active_element
    box.send_keys("mpi_ ")
    names = column(browser, "Function")
    expect_true(f"only MPI is left: {names[:5]}", names and all("MPI_" in name for name in names))
    box.send_keys("no-such-name")
    expect("no row matches", browser.driver.find_element(By.CSS_SELECTOR, f"{TABLE} tbody").text, "No row matches.")
    box.send_keys(Keys.CONTROL + "a", Keys.BACKSPACE)


def check_detail(browser):
    browser.driver.find_element(By.CSS_SELECTOR, f"{TABLE} .expand button").send_keys(Keys.ENTER)
    expect_true("a row opens to its latencies", browser.run("return document.querySelectorAll('.detail svg.histogram rect').length") > 0)


def check_looks(browser):
    colour = "return getComputedStyle(document.body).backgroundColor"
    browser.emulate(scheme="light")
    light = browser.run(colour)
    browser.emulate(scheme="dark")
    wait_for("the page to turn dark", lambda: browser.run(colour) != light)
    browser.run("document.getElementById('theme').click()")
    expect("the button turns it back", browser.run(colour), light)
    browser.run("document.getElementById('theme').click()")
    browser.emulate(media="print", scheme="dark")
    wait_for("paper to be white", lambda: browser.run(colour) == "rgb(255, 255, 255)")
    expect("the bar is not printed", browser.run("return getComputedStyle(document.querySelector('.bar')).display"), "none")
    pdf = browser.pdf()
    expect("a PDF", (pdf[:5], pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page ") > 1), (b"%PDF-", True))
    browser.emulate()


def check_timeline(browser):
    """Dragging zooms, keys zoom and move, and the stretch that is shown is offered to the export."""
    board = browser.driver.find_element(By.CSS_SELECTOR, ".time-board")
    canvas = browser.driver.find_element(By.CSS_SELECTOR, ".time-main")
    command = browser.driver.find_element(By.CSS_SELECTOR, ".time-state")

    def span():
        return [float(board.get_attribute(f"data-{end}")) for end in ("from", "to")]

    def picture():
        return browser.run("return arguments[0].toDataURL()", canvas)

    whole, first = span(), picture()
    expect_true("all of it at first", "--from" not in command.text)
    ActionChains(browser.driver).move_to_element(canvas).click_and_hold().move_by_offset(200, 0).release().perform()
    zoomed = span()
    expect_true(f"{zoomed} is a part of {whole}", whole[0] < zoomed[0] < zoomed[1] < whole[1] and picture() != first)
    expect_true(f"{command.text!r} names it", f"--from {zoomed[0] / 1e9:.3f}s --to {zoomed[1] / 1e9:.3f}s" in command.text)
    canvas.send_keys(Keys.ARROW_RIGHT)
    expect_true("the arrow moves it", span()[0] > zoomed[0])
    canvas.send_keys("+")
    expect_true("plus makes it smaller", span()[1] - span()[0] < 0.6 * (zoomed[1] - zoomed[0]))
    canvas.send_keys("0")
    expect("0 shows all", (span(), picture() == first), (whole, True))
    busy = browser.run("return hk.data.overview.ranks.map((rank) => Math.max(...rank.busy.mpi))")
    expect_true(f"every rank was in MPI at some time: {busy}", len(busy) == RANKS and min(busy) > 500)


def check_heatmap(browser):
    canvas = browser.driver.find_element(By.CSS_SELECTOR, "#heatmap canvas")
    tip = browser.driver.find_element(By.ID, "tip")

    def to_the_right():
        canvas.send_keys(Keys.ARROW_RIGHT)  # scrolls there at first, which takes the tip away
        return tip.is_displayed() and f"rank {RANKS - 1}" in tip.text

    wait_for("the cursor keys to say what is in the last column", to_the_right)
    before = browser.run("return document.querySelector('#heatmap canvas').toDataURL()")
    browser.run("document.querySelector('#heatmap [data-value=calls]').click()")
    expect_true("another metric is another picture", browser.run("return document.querySelector('#heatmap canvas').toDataURL()") != before)


def check_delays(run, browser, job):
    """The page has the first rows of `report --by delay` and `--by path`."""
    for by, label, title, key in (("delay", "Delay costs", "Cost", "cost_ns"), ("path", "Critical path", "Time", "ns")):
        report = json.loads(run.cli("report", job, "--by", by, "--format", "json").stdout)
        wanted = [row[key] for row in report["delays" if by == "delay" else "path"]]
        shown = [int(value) for value in column(browser, title, f"#delays [aria-label='{label}'] table")]
        expect_true(f"rows by {by}: {shown}, of {wanted[:8]}", shown and shown == wanted[:len(shown)])


def check_real(run, browser, name, command):
    directory = run.path(name)
    os.mkdir(directory)
    os.symlink(HPCC_INPUT, os.path.join(directory, "hpccinf.txt"))
    run.trace("mpirun", "-n", RANKS, *command, hooks=["auto", "libc"], options=("--job", name), cwd=directory)
    job = run.path("store", name)
    browser.open(page_of(run, job, name))
    expect("title", browser.driver.title, f"{name} · hooktrace")
    check_head(run, browser, job)
    check_values(browser, run.report(job))
    check_sorting(browser)
    check_filter(browser)
    check_detail(browser)
    check_timeline(browser)
    check_heatmap(browser)
    check_looks(browser)
    check_delays(run, browser, job)
    browser.expect_quiet(name)
    browser.open(os.path.join(job, "report.html"))  # which `run` has left there
    expect("title of the page beside the job's files", browser.driver.title, f"{name} · hooktrace")
    browser.expect_quiet(f"{name}'s own")


def ranks_of(run, name, *arguments):
    job = run.path(name)
    os.mkdir(job)
    run.command(run.build + "/tests/load/ranks", job, *arguments)
    return job


def check_hostile(run, browser):
    job = ranks_of(run, "hostile", 3, 40, "hostile")
    browser.open(page_of(run, job, "hostile"))
    show_all(browser)
    check_values(browser, run.report(job))
    expect("title", browser.driver.title, "ranks · hooktrace")
    expect("scripts, those of the page", browser.run("return document.scripts.length"), 2)
    expect("images", browser.run("return [...document.images].map((one) => one.src).filter((src) => !src.startsWith('data:'))"), [])
    for text in browser.run("return [document.body.innerText, ...[...document.querySelectorAll('[title]')].map((one) => one.title)]"):
        bad = {character for character in text if (ord(character) < 32 and character not in "\n\t") or character in "\u202e\x7f\x9b"}
        expect("characters that must not be shown", bad, set())
    expect_true("names are shown as they are", "</script><script>" in browser.run("return document.querySelector('h1').innerText"))
    browser.expect_quiet("hostile")


def check_large(run, browser):
    job = ranks_of(run, "large", 256, 500)
    path = page_of(run, job, "large")
    size = os.path.getsize(path)
    ready_ms = browser.open(path)
    print(f"256 ranks x 500 functions: {size / 1e6:.1f} MB, drawn after {ready_ms:.0f} ms")
    expect_true(f"{size} bytes are too many", size < FILE_MAX)
    expect_true(f"drawn only after {ready_ms} ms", ready_ms < READY_MAX_MS)
    expect("cells of the map", browser.run("return hk.data.cells.total_ns.length"), 256 * 500)
    browser.expect_quiet("large")


def check_cut(run, browser):
    browser.open(page_of(run, ranks_of(run, "cut", 2, 1200), "cut"))
    foot = browser.driver.find_element(By.CSS_SELECTOR, "#functions .table-foot").text
    expect_true(f"a table that is cut says so: {foot!r}", "1,000 of 1,200 rows are in this file" in foot and "hookcli report --format csv" in foot)
    foot = browser.driver.find_element(By.CSS_SELECTOR, "#heatmap .table-foot").text
    expect_true(f"a map that is cut says so: {foot!r}", "500 of 1,200 functions" in foot)


def check_widths(run, browser):
    """All columns of the functions are seen on a window of 1400 pixels, and names use what a wide one has, however long they are."""
    browser.driver.set_window_size(1400, 1000)
    browser.open(run.path("store", "lammps", "report.html"))
    browser.run("document.querySelectorAll('#functions .name code, #functions .library').forEach((e) => e.textContent = 'n'.repeat(120))")
    over = "const e = document.querySelector('#functions .table-scroll'); return [e.scrollWidth - e.clientWidth, "
    columns, shown = browser.run(over + "e.querySelectorAll('th').length, e.querySelector('.name').clientWidth]")[1:]
    expect_true(f"the latencies in {columns} columns", columns >= 12)
    expect("pixels of the functions that 1400 do not show", browser.run(over + "0]")[0], 0)
    browser.driver.set_window_size(2200, 1000)
    wide = browser.run(over + "e.querySelector('.name').clientWidth]")
    expect_true(f"names on 2200 pixels: {wide}, on 1400: {shown}", wide[0] <= 0 and wide[1] > 1.5 * shown)
    browser.driver.set_window_size(1400, 1000)


def paths_of(report):
    """Calls and time of each function by the frames that it was called through, outermost first, as the report has them."""
    sums = collections.defaultdict(collections.Counter)
    for row in report["stacks"]:
        frames = tuple(text_of(frame) for frame in reversed(row["frames"]))
        sums[frames + (row["function"],)].update(calls=row["calls"], total=row["total_ns"])
    return {path: (one["calls"], one["total"]) for path, one in sums.items()}


FLAME_PATHS = """
    const found = [];
    const walk = (node, path) => {
        if (node.domain) {
            found.push([[...path, node.text], node.calls, node.total]);
        }
        node.callees.forEach((callee) => walk(callee, node.caller ? [...path, node.text] : path));
    };
    walk(hk.flame.tree(), []);
    return found;
"""


def shown_paths(browser):
    return {tuple(path): (calls, total) for path, calls, total in browser.run(FLAME_PATHS)}


def choose(browser, label, text):
    browser.run("const one = document.querySelector(`#stacks select[aria-label=${arguments[0]}]`);"
                "one.value = [...one.options].find((option) => option.text === arguments[1]).value; one.dispatchEvent(new Event('change'));", label, text)


def check_stacks(run, browser):
    """The flame graph has the calls and the time that the report has by stack; it filters, zooms, searches and is read by keys."""
    hooks = run.path("stacks.hooks")
    with open(hooks, "w", encoding="utf-8") as out:
        out.write("int stacks_described(int value)\nlibstacks_truth_library.so:stacks_plain\nlibc.so.6:qsort\n")
    run.trace("mpirun", "-n", RANKS, run.workload("stacks_truth"), run.path("noted"), hooks=[hooks], level=["record+stack", "qsort=record"],
              options=("--job", "flames"))
    job = run.path("store", "flames")
    by_stack = json.loads(run.cli("report", job, "--by", "stack", "--format", "json").stdout)
    wanted = paths_of(by_stack)
    browser.open(page_of(run, job, "flames"))
    expect("stacks of the page", shown_paths(browser), wanted)
    canvas, section = (browser.driver.find_element(By.CSS_SELECTOR, name) for name in ("#stacks canvas", "#stacks"))
    said, found = browser.driver.find_elements(By.CSS_SELECTOR, "#stacks .time-state span")

    def picture():
        return browser.run("return arguments[0].toDataURL()", canvas)

    choose(browser, "Function", "stacks_plain")
    expect("one function", shown_paths(browser), {path: sums for path, sums in wanted.items() if path[-1] == "stacks_plain"})
    choose(browser, "Function", "all functions")
    choose(browser, "Ranks", "rank 1")
    calls = sum(row["calls"] for row in run.report(job)["calls"] if row["rank"] == 1 and row["function"] != "qsort")
    expect("calls of one rank", sum(sums[0] for sums in shown_paths(browser).values()), calls)
    choose(browser, "Ranks", "all ranks")
    expect("all ranks again", shown_paths(browser), wanted)
    section.find_element(By.CSS_SELECTOR, "[data-value=calls]").click()
    total = sum(sums[0] for sums in wanted.values())
    expect_true(f"all calls: {said.text!r}", f" {total:,} calls, 100.0 %" in said.text)
    search = section.find_element(By.CSS_SELECTOR, "[type=search]")
    search.send_keys("Recurse")
    part = sum(sums[0] for path, sums in wanted.items() if "recurse" in path)
    expect_true(f"search: {found.text!r}", f"{100 * part / total:.1f} % of the calls" in found.text)
    search.send_keys(Keys.CONTROL + "a", Keys.BACKSPACE)
    whole = picture()
    canvas.send_keys(Keys.ARROW_DOWN)
    most = max({path[0] for path in wanted}, key=lambda name: sum(sums[0] for path, sums in wanted.items() if path[0] == name))
    expect_true(f"the first frame: {said.text!r}", said.text.startswith(f"{most}: "))
    for _ in range(4):
        canvas.send_keys(Keys.ARROW_DOWN)
    canvas.send_keys(Keys.ENTER)
    zoomed = browser.run("return hk.flame.seen().filter((spot) => !spot.above && spot.line > 0 && spot.x === 0).map((spot) => spot.wide)")
    expect_true("a zoomed frame is as wide as all, and is another picture", zoomed[0] == browser.run("return hk.flame.seen()[0].wide") and picture() != whole)
    canvas.send_keys(Keys.ESCAPE, Keys.HOME, Keys.ESCAPE)
    expect("all again", browser.run("return hk.flame.seen().filter((spot) => spot.above).length"), 0)
    browser.run("arguments[0].scrollIntoView({block: 'center'})", canvas)
    tip = browser.driver.find_element(By.ID, "tip")
    browser.run("const box = arguments[0].getBoundingClientRect(); arguments[0].dispatchEvent("
                "new MouseEvent('mousemove', {clientX: box.left + 5, clientY: box.top + 5, bubbles: true}))", canvas)
    expect_true(f"the tip: {tip.text!r}", tip.text.startswith("all stacks") and f"{total:,}" in tip.text)
    browser.expect_quiet("flames")
    light = picture()
    browser.emulate(scheme="dark")
    wait_for("the graph to turn dark", lambda: picture() != light)
    browser.emulate(scheme="light")
    browser.open(page_of(run, run.path("store", "lammps"), "no-stacks"))
    expect_true("a job without stacks has no such section", not browser.driver.find_element(By.ID, "stacks").is_displayed())


def check_kernels(run, browser):
    """The page that `run` leaves shows what `report --by kernel` says; a job without kernels has no such section."""
    expect("a section without kernels is hidden", browser.run("return document.getElementById('kernels').hidden"), True)
    program = run.workload("simcuda/kernels_truth")
    run.trace(program, run.path("launched.json"), os.path.dirname(program), hooks=["auto"], options=("--job", "launched"))
    job = run.path("store", "launched")
    browser.open(os.path.join(job, "report.html"))
    wanted = json.loads(run.cli("report", job, "--by", "kernel", "--format", "json").stdout)["kernels"]
    rows = zip(*(column(browser, title, "#kernels table") for title in ("Kernel", "Launches", "Host", "Device", "Shapes")))
    expect("kernels", sorted((name, *(int(number or 0) for number in numbers)) for name, *numbers in rows),
           sorted((row["short"], row["launches"], row["host_ns"], row["device_ns"] or 0, len(row["shapes"])) for row in wanted))
    browser.expect_quiet("kernels")


def test(run):
    with Browser(run.directory) as browser:
        check_real(run, browser, "lammps", LAMMPS)
        check_widths(run, browser)
        check_stacks(run, browser)
        check_real(run, browser, "hpcc", ("hpcc",))
        check_kernels(run, browser)
        check_hostile(run, browser)
        check_large(run, browser)
        check_cut(run, browser)


if __name__ == "__main__":
    main(test)
