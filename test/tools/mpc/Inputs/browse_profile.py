#!/usr/bin/env python3
"""Opens a page with a profile and recomputation in headless Chromium, uses it, and checks what it shows.

Usage: browse_profile.py CHROMIUM PAGE PROFILE.json NODE [SCREENSHOT]. What the page shows of NODE is compared
with the profile.
"""
import json
import sys

from browser import check, text

CHROMIUM, PAGE, PROFILE, NODE, *SCREENSHOT = sys.argv[1:]


def number_after(shown, title):
    return float(shown.split(title)[1].split(",")[0])


def choose(browser, field, value):
    browser.evaluate(f"byId('{field}').value = '{value}'; byId('{field}').dispatchEvent(new Event('input', {{bubbles: true}}))")
    return int(browser.evaluate(text("#found")).split()[0])


def use(browser):
    profile = json.load(open(PROFILE))
    measured = profile["tensors"][NODE]

    # The time of each format, and the values kept with and without recomputation.
    assert "estimated from the rates of " in browser.evaluate(text("#shares"))
    widths = browser.evaluate("[...document.querySelectorAll('#shares figure')].at(-1).querySelectorAll('.bar *').length")
    assert widths == 3, widths
    kept = browser.evaluate(text("#kept figcaption"))
    assert "at most" in kept and "without" in kept and not browser.evaluate("byId('recompute').hidden"), kept
    assert browser.evaluate("document.querySelectorAll('#kept path.area').length") == 2
    browser.evaluate("document.querySelector('#kept svg').dispatchEvent(new MouseEvent('mousemove', {clientX: 200}))")
    assert browser.evaluate(text("#kept figcaption")).startswith("op "), browser.evaluate(text("#kept figcaption"))
    browser.evaluate("document.querySelector('#kept svg').dispatchEvent(new MouseEvent('mouseleave'))")
    assert browser.evaluate(text("#kept figcaption")) == kept

    # A small histogram in each line, with numbers on hover; a large one for the selected op.
    every = choose(browser, "search", "")
    assert browser.evaluate("document.querySelectorAll('#ops .spark').length") > every / 2
    row = f"[...byId('ops').rows].find((row) => row.cells[0].textContent === '{NODE}')"
    hover = browser.evaluate(f"{row}.querySelector('.spark title').textContent")
    near(number_after(hover, "largest "), measured["largest"])
    browser.evaluate(f"{row}.cells[2].click()")
    details = browser.evaluate("[...document.querySelectorAll('#details .range dd')].map((dd) => dd.textContent)")
    near(float(details[0]), measured["largest"])
    near(float(details[1]), measured["smallest"])
    assert details[2].split()[0] == (str(measured["zeros"]) if measured["zeros"] else "none"), details
    broken = f"{measured['nans']} NaN, {measured['infinities']} infinite"
    assert details[3] == (broken if measured["nans"] + measured["infinities"] else "none"), details
    assert f"{profile['steps']} steps" in browser.evaluate(text("#details .range h2"))
    bars = browser.evaluate("document.querySelector('#details .histogram').querySelectorAll('rect').length")
    assert bars == sum(n > 0 for n in measured["exponents"]), bars
    change = browser.evaluate("document.querySelector('#details .range table').rows[2].cells[3].textContent")
    near(float(change), measured["sensitivity"]["f16"] ** 0.5)
    near(float(browser.evaluate("document.querySelector('#details .range table').rows[1].cells[3].textContent")), measured["sensitivity"]["bf16"] ** 0.5)

    # The filter leaves exactly the tensors that exceeded the range.
    outside = choose(browser, "range", "f16")
    assert browser.evaluate("document.querySelectorAll('#ops .spark:not(.outside)').length") == 0 or outside < every
    wanted = browser.evaluate("current.ops.filter((op) => op.ranges.some((t) => t.largest > 65504 || (t.smallest > 0 && t.smallest < 2 ** -24))).length")
    assert outside == wanted and outside < every, (outside, wanted, every)
    broken = choose(browser, "range", "broken")
    assert broken == browser.evaluate("current.ops.filter((op) => op.ranges.some((t) => t.nans + t.infinities > 0)).length"), broken
    assert choose(browser, "range", "") == every
    browser.evaluate("scrollTo(0, 0)")


def near(shown, expected):
    assert abs(shown - expected) <= 0.006 * abs(expected), (shown, expected)


check(use, CHROMIUM, PAGE, *SCREENSHOT)
