#!/usr/bin/env python3
"""Opens a page of blocks.py in headless Chromium, uses it, and checks what it shows.

Usage: browse.py CHROMIUM PAGE [SCREENSHOT].
"""
import sys

from browser import check, text


def use(browser):
    assert browser.evaluate("document.title") == "model.textproto: mpc report"
    assert browser.evaluate(text("#model")) == "model.textproto: bf16"
    assert "% in bf16" in browser.evaluate(text("#shares")) and "on cpu" in browser.evaluate(text("#shares"))
    assert "small updates vanish" in browser.evaluate(text("#reasons"))
    assert "in use, of" in browser.evaluate(text("#memory"))
    found = browser.evaluate(text("#found"))
    every = int(found.split()[0])
    assert found.startswith(f"{every} of {every} ops"), found

    # Searching and filtering leave some rows.
    browser.evaluate("byId('search').value = 'relu'; byId('search').dispatchEvent(new Event('input', {bubbles: true}))")
    assert 0 < int(browser.evaluate(text("#found")).split()[0]) < every
    assert "fc/Gemm" not in browser.evaluate(text("#ops"))
    browser.evaluate("byId('search').value = ''; byId('reasons').querySelector('tr.link').click()")
    assert browser.evaluate("byId('rule').value") == "class"
    assert 0 < int(browser.evaluate(text("#found")).split()[0]) < every
    browser.evaluate("byId('rule').value = ''; byId('format').value = ''; search()")

    # The forward and backward ops of a node are in one row; a click shows details.
    row = browser.evaluate("[...byId('ops').rows].find((row) => row.cells[0].textContent.endsWith('act/Relu')).textContent")
    assert "commutes exactly" in row and "passes the gradient" in row, row
    browser.evaluate("byId('ops').querySelector('td.low').click()")
    assert "rule" in browser.evaluate(text("#details")) and not browser.evaluate("byId('details').hidden")
    browser.evaluate("byId('details').querySelector('button').click()")

    # A click in the graph opens modules; other functions have separate pages.
    browser.evaluate("document.querySelector('#graph .box').dispatchEvent(new Event('click'))")
    assert browser.evaluate(text("#path")) == "all / blocks"
    assert browser.evaluate("document.querySelectorAll('#graph .box').length") == 6
    browser.evaluate("byId('function').value = 'predict'; byId('function').dispatchEvent(new Event('change'))")
    assert int(browser.evaluate(text("#found")).split()[0]) < every
    browser.evaluate("byId('function').value = 'step'; byId('function').dispatchEvent(new Event('change'))")


check(use, *sys.argv[1:])
