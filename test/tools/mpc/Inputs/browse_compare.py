#!/usr/bin/env python3
"""Opens a page of mpc compare in headless Chromium, uses it, and checks what it shows.

Usage: browse_compare.py CHROMIUM PAGE OP [SCREENSHOT]. OP is what the verdict blames; "" if all is
well, which the page then shows.
"""
import sys

from browser import check, text

CHROMIUM, PAGE, OP, *SCREENSHOT = sys.argv[1:]


def count(browser, selector):
    return browser.evaluate(f"document.querySelectorAll('{selector}').length")


def use_good(browser):
    assert "agrees with fp32" in browser.evaluate(text("#verdict"))
    assert browser.evaluate("byId('verdict').className") == "holds"
    assert count(browser, "#curves svg") == 3 and count(browser, "#errors .blamed") == 0
    points = browser.evaluate("document.querySelector('#curves polyline').getAttribute('points')")
    assert len(points.split()) == 3, points
    browser.evaluate("document.querySelectorAll('#curves svg')[2].dispatchEvent(new MouseEvent('mousemove', {clientX: 3000}))")
    label = browser.evaluate("document.querySelectorAll('#curves figcaption')[2].textContent")
    assert label.startswith("loss, apart of step 3: 0.") and label.endswith(" %"), label


def use_bad(browser):
    assert browser.evaluate("document.title").endswith("planted.onnxtxt: mpc compare")
    assert browser.evaluate(text("#model")).endswith("fp16 against fp32")
    assert f"at '{OP}'" in browser.evaluate(text("#verdict"))
    assert browser.evaluate("byId('verdict').className") == "parts"

    # Three charts, one without a number; a point for each op, one of them to blame.
    assert count(browser, "#curves figure") == 3 and "loss, apart: not finite" in browser.evaluate(text("#curves"))
    assert count(browser, "#curves svg") == 2 and count(browser, "#curves polyline.theirs") == 2
    found = browser.evaluate(text("#found"))
    every = int(found.split()[0])
    assert every > 10 and found == f"{every} of {every} ops", found
    assert count(browser, "#errors circle") == every
    blamed = browser.evaluate("document.querySelector('#errors .blamed title').textContent")
    assert blamed.startswith(f"{OP} ") and "not finite, its inputs 0" in blamed, blamed
    browser.evaluate("document.querySelector('#curves svg').dispatchEvent(new MouseEvent('mousemove', {clientX: 90}))")
    assert "loss of step 1: not finite, fp32 2." in browser.evaluate(text("#curves"))

    # A click on a point shows the op; searching leaves some rows.
    browser.evaluate("document.querySelector('#errors .blamed').dispatchEvent(new Event('click'))")
    assert browser.evaluate(text("#ops td.name")) == OP
    assert 0 < int(browser.evaluate(text("#found")).split()[0]) < every
    browser.evaluate("byId('search').value = ''; byId('order').value = 'program'; byId('order').dispatchEvent(new Event('input', {bubbles: true}))")
    assert browser.evaluate(text("#ops td.name")) == "rows"
    browser.evaluate("byId('order').value = 'growth'; byId('order').dispatchEvent(new Event('input', {bubbles: true}))")
    assert browser.evaluate(text("#ops td.name")) == OP
    assert "w1" in browser.evaluate(text("#parameters"))


check(use_bad if OP else use_good, CHROMIUM, PAGE, *SCREENSHOT)
