"""browser: Debian's Chromium without a window, for tests of pages: loads files, counts requests, keeps what the console said."""
import base64
import json
import os

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

from harness import expect, expect_true, wait_for

READY = "return document.documentElement.dataset.ready"


class Browser:
    """One browser with a profile of its own below DIRECTORY; ends with the block."""

    def __init__(self, directory):
        options = Options()
        for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run",
                     "--disable-background-networking", "--disable-component-update", "--window-size=1400,1000",
                     f"--user-data-dir={os.path.join(directory, 'profile')}"):
            options.add_argument(word)
        options.binary_location = "/usr/bin/chromium"
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.quit()

    def open(self, path):
        """Opens PATH as a file; milliseconds from navigation until it was drawn."""
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get("file://" + path)
        return float(wait_for(f"{path} to be drawn", lambda: self.run(READY)))

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def emulate(self, media="", scheme=""):
        """As if on MEDIA ("print", "" for a screen), for one who prefers SCHEME ("dark", "light")."""
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "media": media, "features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def pdf(self):
        return base64.b64decode(self.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"])

    def picture(self, path):
        """The whole page as a PNG."""
        size = self.driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        data = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})["data"]
        with open(path, "wb") as stream:
            stream.write(base64.b64decode(data))

    def expect_quiet(self, what):
        """Nothing on the console, and no request but for the file itself."""
        expect(f"{what}: console", [line["message"] for line in self.driver.get_log("browser")], [])
        events = [json.loads(line["message"])["message"] for line in self.driver.get_log("performance")]
        urls = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
        expect_true(f"{what}: no request was seen at all", urls)
        expect(f"{what}: requests", [url for url in urls[1:] if not url.startswith("data:")], [])
        expect(f"{what}: resources", self.run("return performance.getEntriesByType('resource').map(one => one.name)"
                                              ".filter(name => !name.startsWith('data:'))"), [])
