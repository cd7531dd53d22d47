#!/usr/bin/python3
"""Makes the pictures of the README from a real job: pictures.py BUILD_DIR [OUT_DIR]

Four ranks of LAMMPS under hookcli run, hookcli top looked at in tmux, report.html in headless Chromium. Needs the packages of the
tests. Renew the pictures when what they show has changed."""
import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from selenium import webdriver

HERE = os.path.dirname(os.path.abspath(__file__))
COLUMNS, ROWS = 110, 26
STEPS, WATCHED_S = 2500, 12  # the job outlives what is watched of it
FRAME = 200  # of a browser's window, at most
COLOURS = ("#2e3440", "#bf616a", "#5b8c3e", "#b58900", "#4c7bb8", "#9a5fa8", "#2a8c8c", "#c8ccd4")
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
       "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
PAGE = """<!doctype html><meta charset=utf-8><style>body{margin:0;padding:18px;background:%s;display:inline-block}
pre{margin:0;color:%s;font:15px/1.32 "DejaVu Sans Mono",monospace}</style><pre>%s</pre>"""


FACE, GROUND = "#d8dee9", "#1d2027"
SWITCHES = {1: ("font-weight", "bold"), 2: ("opacity", "0.65"), 4: ("text-decoration", "underline"), 7: ("reverse", "yes")}
ENDS = {22: ("font-weight", "opacity"), 24: ("text-decoration",), 27: ("reverse",), 39: ("color",), 49: ("background",)}


def style_of(codes, style):
    """The style after one escape sequence of colours and emphasis."""
    style = dict(style)
    for code in (int(code or 0) for code in codes.split(";")):
        if code == 0:
            style = {}
        elif code in SWITCHES:
            style.update([SWITCHES[code]])
        elif code in ENDS:
            style = {name: value for name, value in style.items() if name not in ENDS[code]}
        elif 30 <= code <= 37 or 90 <= code <= 97:
            style["color"] = COLOURS[code % 10]
        elif 40 <= code <= 47:
            style["background"] = COLOURS[code % 10]
    return style


def css_of(style):
    shown = {name: value for name, value in style.items() if name != "reverse"}
    if "reverse" in style:
        shown.update(color=style.get("background", GROUND), background=style.get("color", FACE))
    return ";".join(f"{name}:{value}" for name, value in shown.items())


def html_of(screen):
    """A captured screen as HTML."""
    style, out = {}, []
    for number, part in enumerate(re.split(r"\x1b\[([0-9;]*)m", screen)):
        if number % 2:
            style = style_of(part, style)
        elif part:
            out.append(f'<span style="{css_of(style)}">{html.escape(part)}</span>')
    return PAGE % (GROUND, FACE, "".join(out))


def screen_of(tmux, wanted):
    """What the terminal shows, once WANTED is on it."""
    for _ in range(200):
        shown = subprocess.run([*tmux, "capture-pane", "-p"], stdout=subprocess.PIPE, text=True, check=True).stdout
        if wanted in shown:
            return subprocess.run([*tmux, "capture-pane", "-e", "-p"], stdout=subprocess.PIPE, text=True, check=True).stdout
        time.sleep(0.1)
    sys.exit(f"no '{wanted}' on the screen of top:\n{shown}")


def browser():
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--hide-scrollbars", "--force-device-scale-factor=1"):
        options.add_argument(argument)
    return webdriver.Chrome(options=options)


def shoot(driver, path, picture, width, height=None):
    """Opens the file PATH and keeps what is seen of it; without a height all of it."""
    driver.set_window_size(width, height or 900)
    driver.get(f"file://{path}")
    if not height:
        width, height = driver.execute_script("const b = document.body; return [b.scrollWidth, b.scrollHeight]")
        driver.set_window_size(width, height + FRAME)
        driver.find_element("tag name", "body").screenshot(picture)
    else:
        driver.save_screenshot(picture)


def main():
    build = os.path.abspath(sys.argv[1])
    out = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else os.path.join(HERE, "pictures")
    os.makedirs(out, exist_ok=True)
    cli = os.path.join(build, "cli", "hookcli")
    with tempfile.TemporaryDirectory() as directory:
        environment = {**os.environ, **MPI, "PATH": os.path.dirname(cli) + ":" + os.environ["PATH"], "LC_ALL": "C.UTF-8"}
        tmux = ["tmux", "-f", "/dev/null", "-S", os.path.join(directory, "tmux")]
        shutil.copy(os.path.join(HERE, "..", "tests", "workloads", "lammps_lj.in"), os.path.join(directory, "lj.in"))
        job = subprocess.Popen([cli, "run", "-q", "--hooks", "auto", "--hooks", "libc", "--job", "lj", "--", "mpirun", "-n", "4", "lmp",
                                "-var", "STEPS", str(STEPS), "-log", "none", "-in", "lj.in"],
                               cwd=directory, env=environment, stdout=subprocess.DEVNULL)
        subprocess.run([*tmux, "new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS), "-c", directory,
                        f"until hookcli top; do sleep 0.1; done; sleep 60"], env=environment, check=True)
        screen_of(tmux, "MPI_")
        time.sleep(WATCHED_S)  # for a minute's history to have something in it
        screens = {"top": screen_of(tmux, "MPI_")}
        subprocess.run([*tmux, "kill-server"], check=True)
        job.wait()
        report = os.path.join(directory, "report.html")
        subprocess.run([cli, "report", "--format", "html", "-o", report], cwd=directory, env=environment, check=True)
        driver = browser()
        for name, screen in screens.items():
            page = os.path.join(directory, f"{name}.html")
            with open(page, "w", encoding="utf-8") as file:
                file.write(html_of(screen.rstrip("\n")))
            shoot(driver, page, os.path.join(out, f"{name}.png"), 1200)
        shoot(driver, report, os.path.join(out, "report.png"), 1280, 1000)
        driver.quit()


if __name__ == "__main__":
    main()
