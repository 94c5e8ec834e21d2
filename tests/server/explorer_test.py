#!/usr/bin/env python3
"""Opens the page of `dfsim serve-api` in Chromium: it shows what the server answers, compares two machines,
takes uploads, reports errors, and loads nothing from elsewhere.

usage: explorer_test.py DFSIM [--screenshots FOLDER]
Exits with 77 (skipped, for CTest) without the playwright package or a browser.
"""

import json
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parents[1] / "html")]
import in_chromium  # noqa: E402
from api_test import ROOT, Server, check  # noqa: E402

A100 = "a100-sxm4-80gb"


class Page:
    def __init__(self, server, browser, scheme="light", width=1280):
        self.server, self.problems = server, []
        self.tab = browser.new_page(viewport={"width": width, "height": 1000}, color_scheme=scheme)
        self.tab.on("console", lambda m: self.problems.append(m.text)
                    if m.type in ("error", "warning") else None)
        self.tab.on("pageerror", lambda e: self.problems.append(str(e)))
        self.tab.on("request", lambda r: self.problems.append(f"request {r.url}")
                    if not r.url.startswith((f"http://127.0.0.1:{server.port}/", "data:", "blob:",
                                             "about:")) else None)
        self.tab.goto(f"http://127.0.0.1:{server.port}/")
        self.ready()

    def ready(self):
        self.tab.wait_for_selector("body[data-ready=yes]", timeout=60000)

    def predict(self, **fields):
        for name, value in fields.items():
            box = self.tab.locator(f"#{name}")
            box.fill(value) if name == "batch" else box.select_option(value)
        self.tab.click("#ask")
        self.tab.wait_for_timeout(50)
        self.ready()

    def cards(self, machine):
        box = self.tab.locator(f"section.machine[aria-label='{machine}']")
        return dict(zip(box.locator(".label").all_inner_texts(),
                        box.locator(".value").all_inner_texts()))

    def frame(self, machine):
        frame = self.tab.frame_locator(f"iframe[title='Report on {machine}']")
        frame.locator("body[data-ready=yes]").wait_for(timeout=60000)
        return frame


def milliseconds(text):
    value, unit = text.split()[-2:]
    return float(value) * {"us": 1e-3, "ms": 1.0, "s": 1e3}[unit]


def check_two_machines(server, page):
    page.predict(model="resnet50", hw=A100, hw2="t4", batch="8")
    for machine in (A100, "t4"):
        result = json.loads(server.question("predict", model="resnet50", hw=machine, batch=8,
                                            mode="infer")[1])
        shown = page.cards(machine)
        check(abs(milliseconds(shown["latency"]) - result["latency_ms"])
              < 0.01 * result["latency_ms"], shown)
        check(abs(float(shown["samples per second"]) - result["throughput_per_s"])
              < 1e-3 * result["throughput_per_s"], shown)
        frame = page.frame(machine)
        check(frame.locator("section[aria-label='Timeline'] canvas").count() == 1, "timeline")
        check(frame.locator("section[aria-label='Operators'] tbody tr").count()
              == min(500, len(result["ops"])), "operators")
    versus = page.tab.locator("#versus").inner_text()
    check(versus.startswith(A100 + " takes ") and "times as long" in versus, versus)
    page.tab.locator(f"section.machine[aria-label='{A100}'] [role=tab]", has_text="Roofline").click()
    page.tab.frame_locator(f"iframe[title='Report on {A100}']").locator(
        "section[aria-label='Roofline'] canvas").wait_for(timeout=60000)
    check(page.tab.evaluate("() => { try { return !!document.querySelector('iframe')"
                            ".contentDocument } catch (e) { return false } }") is False,
          "reports are in frames of their own")


def check_upload(server, page):
    model = ROOT / "graphs/zoo/resnet18.onnx"
    page.tab.set_input_files("#file", str(model))
    page.tab.locator("#dropped", has_text="resnet18.onnx").wait_for()
    page.ready()
    check("resnet18.onnx" in page.tab.locator("#dropped").inner_text(), "the upload is named")
    chosen = page.tab.locator("#model").input_value()
    check(chosen.startswith("m-"), chosen)
    page.predict(hw="l4", hw2="", batch="")
    result = json.loads(server.question("predict", model=chosen, hw="l4", mode="infer")[1])
    check(abs(milliseconds(page.cards("l4")["latency"]) - result["latency_ms"])
          < 0.01 * result["latency_ms"], "latency of an upload")
    # Dropping a file does the same.
    page.tab.evaluate("""() => {
      const transfer = new DataTransfer();
      transfer.items.add(new File(['hello'], '<b>text.onnx'));
      document.getElementById('drop').dispatchEvent(
        new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }));
    }""")
    page.tab.locator("#dropped", has_text="_b_text.onnx").wait_for()
    page.ready()
    check(page.problems == [], page.problems)
    page.predict(hw="l4")
    status = page.tab.locator("#status")
    check("error" in status.get_attribute("class") and "text.onnx" in status.inner_text(),
          status.inner_text())
    refused = [text for text in page.problems if "422" in text]  # the browser's own line
    check(len(refused) == len(page.problems) > 0, page.problems)
    page.problems.clear()


def take_pictures(server, browser, folder):
    for width in (400, 1280, 2560):
        for scheme in ("light", "dark"):
            page = Page(server, browser, scheme, width)
            page.predict(model="resnet50", hw=A100, hw2="l4", batch="8")
            page.frame("l4")
            page.tab.wait_for_timeout(500)
            page.tab.screenshot(path=str(folder / f"explorer_{width}_{scheme}.png"), full_page=True)
            page.tab.locator("iframe").first.scroll_into_view_if_needed()
            page.tab.wait_for_timeout(500)
            page.tab.screenshot(path=str(folder / f"explorer_{width}_{scheme}_report.png"))
            page.tab.close()


def check_widths(server, browser):
    for width in (400, 1280, 2560):
        page = Page(server, browser, "dark", width)
        page.predict(model="resnet18", hw=A100, hw2="l4")
        wide = page.tab.evaluate("document.documentElement.scrollWidth")
        check(wide <= width, f"{wide} pixels at {width}")
        background = page.tab.evaluate("getComputedStyle(document.body).backgroundColor")
        check(background == "rgb(20, 22, 26)", background)
        page.tab.close()


def look(program, browser, screenshots):
    with Server(program) as server:
        page = Page(server, browser)
        check_two_machines(server, page)
        check(page.problems == [], page.problems)
        check_upload(server, page)
        check_widths(server, browser)
        if screenshots:
            take_pictures(server, browser, screenshots)


if __name__ == "__main__":
    sys.exit(in_chromium.main(look, "the page shows what the server answers"))
