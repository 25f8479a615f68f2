#!/usr/bin/env python3
"""Opens a page of blocks.py in headless Chromium, uses it, and checks what it shows.

Usage: browse.py CHROMIUM PAGE [SCREENSHOT]. Talks to the browser over a pipe, so
that nothing but a browser is needed. Fails on any message in the console and on
any request but that for the page.
"""
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


def text(selector):
    return f"document.querySelector('{selector}').textContent"


def use(browser, address):
    target = browser.call("Target.createTarget", url="about:blank")["targetId"]
    browser.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    for domain in ("Runtime", "Log", "Network", "Page"):
        browser.call(f"{domain}.enable")
    browser.call("Page.navigate", url=address)
    until = time.monotonic() + SECONDS
    while browser.evaluate("document.readyState") != "complete" or browser.evaluate("document.title") == "":
        assert time.monotonic() < until, "the page does not load"
        time.sleep(0.05)

    assert browser.evaluate("document.title") == "model.textproto: mpc report"
    assert browser.evaluate(text("#model")) == "model.textproto: bf16"
    assert "% in bf16" in browser.evaluate(text("#shares")) and "on cpu" in browser.evaluate(text("#shares"))
    assert "small updates vanish" in browser.evaluate(text("#reasons"))
    assert "in use, of" in browser.evaluate(text("#memory"))
    found = browser.evaluate(text("#found"))
    every = int(found.split()[0])
    assert found.startswith(f"{every} of {every} ops"), found

    # Searching and filtering leave some.
    browser.evaluate("byId('search').value = 'relu'; byId('search').dispatchEvent(new Event('input', {bubbles: true}))")
    assert 0 < int(browser.evaluate(text("#found")).split()[0]) < every
    assert "fc/Gemm" not in browser.evaluate(text("#ops"))
    browser.evaluate("byId('search').value = ''; byId('reasons').querySelector('tr.link').click()")
    assert browser.evaluate("byId('rule').value") == "class"
    assert 0 < int(browser.evaluate(text("#found")).split()[0]) < every
    browser.evaluate("byId('rule').value = ''; byId('format').value = ''; search()")

    # A node's forward and backward stand in one row; a click tells more.
    row = browser.evaluate("[...byId('ops').rows].find((row) => row.cells[0].textContent.endsWith('act/Relu')).textContent")
    assert "commutes exactly" in row and "passes the gradient" in row, row
    browser.evaluate("byId('ops').querySelector('td.low').click()")
    assert "rule" in browser.evaluate(text("#details")) and not browser.evaluate("byId('details').hidden")
    browser.evaluate("byId('details').querySelector('button').click()")

    # The graph opens modules, and other functions are another page.
    browser.evaluate("document.querySelector('#graph .box').dispatchEvent(new Event('click'))")
    assert browser.evaluate(text("#path")) == "all / blocks"
    assert browser.evaluate("document.querySelectorAll('#graph .box').length") == 6
    browser.evaluate("byId('function').value = 'predict'; byId('function').dispatchEvent(new Event('change'))")
    assert int(browser.evaluate(text("#found")).split()[0]) < every
    browser.evaluate("byId('function').value = 'step'; byId('function').dispatchEvent(new Event('change'))")


def main(program, page, screenshot=None):
    address = pathlib.Path(page).resolve().as_uri()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(program, profile)
        try:
            use(browser, address)
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


main(*sys.argv[1:])
