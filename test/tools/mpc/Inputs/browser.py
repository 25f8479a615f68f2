"""Drives a headless Chromium over a pipe, so that nothing but a browser is needed."""
import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

SECONDS = 60  # A loaded machine starts a browser in less.


class Browser:
    def __init__(self, program, profile):
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()

        def place():  # The browser reads 3 and writes 4; neither may be closed on the way.
            read, write = os.dup(to_browser), os.dup(from_browser)
            os.dup2(read, 3)
            os.dup2(write, 4)

        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                   "--disable-background-networking", "--disable-component-update", "--window-size=1400,2400",
                   "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"]
        self.process = subprocess.Popen([program, *options], preexec_fn=place, pass_fds=(3, 4),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.number, self.events, self.session = b"", 0, [], None

    def read(self):
        while b"\0" not in self.buffer:
            data = os.read(self.read_end, 1 << 16)
            if not data:
                sys.exit("the browser ended")
            self.buffer += data
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def open(self, address):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Runtime", "Log", "Network", "Page"):
            self.call(f"{domain}.enable")
        self.call("Page.navigate", url=address)
        until = time.monotonic() + SECONDS
        while self.evaluate("document.readyState") != "complete" or self.evaluate("document.title") == "":
            assert time.monotonic() < until, "the page does not load"
            time.sleep(0.05)


def text(selector):
    return f"document.querySelector('{selector}').textContent"


def check(use, program, page, screenshot=None):
    """Opens a page and lets `use` look at it. Fails on any message in the console and on any
    request but that for the page."""
    address = pathlib.Path(page).resolve().as_uri()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(program, profile)
        try:
            browser.open(address)
            use(browser)
            if screenshot:
                data = browser.call("Page.captureScreenshot")["data"]
                pathlib.Path(screenshot).write_bytes(base64.b64decode(data))
        finally:
            browser.process.terminate()
            browser.process.wait(SECONDS)
    said = [e for e in browser.events if e["method"] in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")]
    assert not said, said
    requests = [e["params"]["request"]["url"] for e in browser.events if e["method"] == "Network.requestWillBeSent"]
    assert requests == [address], requests
