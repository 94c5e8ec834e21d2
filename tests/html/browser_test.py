#!/usr/bin/env python3
"""Opens reports in Chromium: what they show is what the JSON says, and nothing goes wrong.

usage: browser_test.py DFSIM [--screenshots FOLDER]
Exits with 77 (skipped, for CTest) without the playwright package or a browser.
"""

import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

import in_chromium
from page_checks import check, check_page, corner

ROOT = pathlib.Path(__file__).resolve().parents[2]


def synthetic_trace(spans):
    """A Kineto trace of that many operators and kernels, nested and queued as real ones are."""
    rng = random.Random(1)
    events, host, device = [], 0.0, 0.0
    for i in range(spans // 2):
        length = rng.expovariate(1 / 20)
        events.append({"ph": "X", "cat": "cpu_op", "name": f"op{i % 40}", "pid": 1, "tid": 1,
                       "ts": host, "dur": length, "args": {"External id": i}})
        device = max(device, host + 5)
        events.append({"ph": "X", "cat": "kernel", "name": f"kernel{i % 60}", "pid": 0, "tid": 7,
                       "ts": device, "dur": length * 0.8, "args": {"External id": i}})
        device += length * 0.8 + 1
        host += length + 1
    return {"schemaVersion": 1, "traceEvents": events}


class Reports:
    """Runs dfsim and opens what it writes."""

    def __init__(self, program, folder, browser, shots):
        self.program, self.folder, self.shots = program, folder, shots
        self.browser = browser

    def make(self, name, *arguments):
        page, result = self.folder / f"{name}.html", self.folder / f"{name}.json"
        subprocess.run([self.program, *arguments, "--json", "-o", result, "--html", page],
                       cwd=ROOT, check=True, stdin=subprocess.DEVNULL)
        return page, json.loads(result.read_text())

    def open(self, page, name):
        tab = self.browser.new_page(viewport={"width": 1280, "height": 900})
        problems = []
        tab.on("console", lambda m: problems.append(m.text) if m.type in ("error", "warning")
               else None)
        tab.on("pageerror", lambda e: problems.append(str(e)))
        tab.on("request", lambda r: problems.append(f"request {r.url}")
               if not r.url.startswith(("file:", "data:", "blob:")) else None)
        tab.goto(page.as_uri())
        tab.wait_for_selector("body[data-ready=yes]", timeout=20000)
        if self.shots:
            tab.screenshot(path=str(self.shots / f"{name}.png"))
        return tab, problems


def cards(tab):
    labels = tab.locator(".card .label").all_inner_texts()
    return dict(zip(labels, tab.locator(".card .value").all_inner_texts()))


def rows(tab, title):
    return tab.locator(f"section[aria-label='{title}'] tbody tr")


def check_not_clipped(tab, title):
    """The table below that title needs no scrolling sideways."""
    over = tab.locator(f"section[aria-label='{title}'] .tablebox").evaluate(
        "box => box.scrollWidth - box.clientWidth")
    check(over <= 0, f"the table '{title}' is {over} px too wide for {tab.viewport_size['width']}")


def check_network(tab, result):
    """The drawing of the network: one box for each operator, details, search."""
    graph = tab.locator("section[aria-label='Network']")
    check(graph.locator("g.node").count() == len(result["ops"]), "boxes of the network")
    check(graph.locator("path.edge").count() == sum(len(op["reads"]) for op in result["ops"]),
          "arrows of the network")
    longest = max(result["ops"], key=lambda op: op["duration_us"])
    details = graph.locator(".details")
    check(longest["duration_us"] == max(op["duration_us"] for op in result["ops"]
                                        if op["name"] == details.locator("strong").inner_text()),
          "the longest operator is chosen first")
    box = graph.locator("input[aria-label='Search the network']")
    box.fill("layer2.0 conv")
    wanted = [op["name"] for op in result["ops"] if "layer2.0" in op["name"] and "conv" in
              f"{op['name']} {op['op_type']} {op['class']}".lower()]
    check(graph.locator("g.node:not(.missed)").count() == len(wanted) > 0, "found operators")
    box.press("Enter")
    check(details.locator("strong").inner_text() == wanted[0], "Enter goes to the first one")
    box.fill("")
    graph.locator("g.node").nth(3).dispatch_event("click")
    check(details.locator("strong").inner_text() == result["ops"][3]["name"], "a click chooses")
    drawing = graph.locator("svg.graph")
    before = drawing.get_attribute("viewBox")
    drawing.press("+")
    check(drawing.get_attribute("viewBox") != before, "zooming the network")


def check_prediction(reports):
    page, result = reports.make("predict", "predict", "graphs/zoo/resnet18.onnx", "--hw", "a100")
    tab, problems = reports.open(page, "predict")
    shown = cards(tab)["latency"]
    check(shown.startswith("\u2265 ") == result["is_limit"], "a limit says so")
    value, unit = shown.split()[-2:]
    factor = {"ms": 1.0, "us": 1e-3, "s": 1e3}[unit]
    check(abs(float(value) * factor - result["latency_ms"]) < 0.01 * result["latency_ms"], shown)
    check(rows(tab, "Operators").count() == min(len(result["ops"]), 500), "rows of operators")
    box = tab.locator("input[aria-label='Filter Operators']")
    box.fill("conv")
    wanted = sum(any("conv" in str(op[key]).lower() for key in ("name", "op_type", "class"))
                 for op in result["ops"])
    check(rows(tab, "Operators").count() == wanted, "filtered rows")
    box.fill("")
    head = tab.locator("section[aria-label='Operators'] th", has_text="time").first
    head.click()
    first = rows(tab, "Operators").first.locator("td").first.inner_text()
    longest = max(op["duration_us"] for op in result["ops"])
    check(first in [op["name"] for op in result["ops"] if op["duration_us"] == longest], "sorting")
    head.press("Enter")
    check(head.get_attribute("aria-sort") == "ascending", "sorting with the keyboard")
    memory = result["memory"][0]
    check(tab.locator(f"section[aria-label='Memory of the {memory['device']}']").count() == 1,
          "memory over time")
    check(rows(tab, f"Tensors at the peak of the {memory['device']}").count()
          == len(memory["at_peak"]), "tensors at the peak")
    launches = sum("dispatch" in op for op in result["ops"])
    line = tab.locator("section[aria-label='Timeline']")
    check(launches > 0 and f"{len(result['ops']) + launches} slices on 2 tracks"
          in line.locator(".chart").get_attribute("aria-label"), "a lane of the host")
    check("host" in line.locator(".legend").inner_text(), "the host's colour has a word")
    check_network(tab, result)
    check("80 %" in tab.locator(".card", has_text="latency").first.inner_text(), "interval")
    tab.select_option("#theme", "dark")
    check(tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 22, 26)",
          "dark theme")
    if reports.shots:
        tab.screenshot(path=str(reports.shots / "predict_dark.png"))
    check_not_clipped(tab, "Operators")
    check_page(reports, tab, "predict")
    tab.emulate_media(media="print")
    check(not tab.locator("#print").is_visible(), "print style")
    check(problems == [], problems)


def check_analysis(reports):
    trace = reports.folder / "trace.json"
    trace.write_text(json.dumps(synthetic_trace(100000)))
    page, result = reports.make("analyze", "analyze", str(trace))
    tab, problems = reports.open(page, "analyze")
    shown = cards(tab)["total"].split()
    check(shown[1] == "s" and abs(float(shown[0]) - result["traces"][0]["breakdown"]["total_ms"]
                                  / 1e3) < 0.01, "total")
    check_page(reports, tab, "analyze")
    line = tab.locator("section[aria-label='Timeline'] .chart")
    whole = int(line.get_attribute("data-shown"))
    check(0 < whole <= 4000, f"{whole} rectangles of 100000 spans")
    line.focus()
    slowest = 0.0
    for _ in range(10):
        begin = time.monotonic()
        line.press("+")
        tab.evaluate("() => new Promise(done => requestAnimationFrame(() => "
                     "requestAnimationFrame(done)))")
        slowest = max(slowest, time.monotonic() - begin)
    check(slowest < 1.0, f"a zoom step took {slowest:.2f} s")
    check(int(line.get_attribute("data-shown")) != whole, "zooming shows other spans")
    if reports.shots:
        tab.screenshot(path=str(reports.shots / "analyze_zoomed.png"))
    area = tab.locator(".inview caption").inner_text()
    check(0 < int(area.split(", ")[1].split()[0]) < 100000, f"statistics of what is in view: {area}")
    search = tab.locator("input[aria-label='Search the timeline']")
    search.fill("op17")
    spans = [e for e in json.loads(trace.read_text())["traceEvents"] if "op17" in e["name"]]
    found = tab.locator("section[aria-label='Timeline'] span[role=status]").inner_text()
    check(found.startswith(f"{len(spans)} slices, "), f"searching: {found}")
    check(problems == [], problems)
    print(f"100000 spans: {page.stat().st_size / 1e6:.1f} MB, slowest zoom step {slowest:.2f} s")


def check_nesting(reports):
    """Slices inside others have lanes of their own: three deep here, on one of two tracks."""
    def event(name, start, length, **more):
        return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": start,
                "dur": length, "args": {}, **more}
    trace = reports.folder / "nested_trace.json"
    trace.write_text(json.dumps({"schemaVersion": 1, "traceEvents": [
        event("outer", 0, 100), event("middle", 10, 50), event("inner", 20, 10),
        event("next", 100, 20), event("kernel", 30, 40, cat="kernel", pid=0, tid=7)]}))
    page, _ = reports.make("nested", "analyze", str(trace))
    tab, problems = reports.open(page, "nested")
    line = tab.locator("section[aria-label='Timeline'] .chart")
    check(line.get_attribute("data-lanes") == "4" and line.get_attribute("data-shown") == "5",
          f"{line.get_attribute('data-lanes')} lanes")
    top = tab.locator(".inview tbody tr").first.locator("td").first.inner_text()
    check(top == "outer", f"the longest in view is {top}")
    check(problems == [], problems)


def check_advice(reports):
    page, result = reports.make("advice", "analyze", "tests/golden/data/ctf_states")
    tab, problems = reports.open(page, "advice")
    advice = result["traces"][0]["advice"]["list"]
    shown = tab.locator("section[aria-label='Advice'] .advice")
    check(shown.count() == len(advice) > 1, f"{len(advice)} pieces of advice")
    for index, one in enumerate(advice):
        text = shown.nth(index).inner_text()
        check(one["insight"] in text and one["action"] in text
              and f"{one['gain'] * 100:.1f} %" in text, one["kind"])
    check_page(reports, tab, "advice")
    check(problems == [], problems)


def check_replay(reports):
    trace = reports.folder / "short.json"
    trace.write_text(json.dumps(synthetic_trace(2000)))
    page, result = reports.make("replay", "replay", str(trace), "--scale", "kernel=0.5",
                                "--trace", str(reports.folder / "replayed.json"))
    tab, problems = reports.open(page, "replay")
    shown = cards(tab)["with the changes"].split()
    factor = {"us": 1.0, "ms": 1e3, "s": 1e6}[shown[1]]
    check(abs(float(shown[0]) * factor - result["replayed_us"]) < 0.01 * result["replayed_us"],
          "replayed span")
    check(rows(tab, "Operators").count() == len(result["operators"]), "rows of operators")
    check(int(tab.locator("section[aria-label='Timeline'] .chart").get_attribute("data-shown")) > 0,
          "both timelines")
    check("scaled" in rows(tab, "Times from").first.inner_text(), "sources of times")
    check_page(reports, tab, "replay")
    check(problems == [], problems)
    page, result = reports.make("diff", "diff", str(trace), str(reports.folder / "replayed.json"))
    tab, problems = reports.open(page, "diff")
    check(rows(tab, "Operators").count() == min(len(result["rows"]), 500), "rows of the diff")
    check_page(reports, tab, "diff")
    check(problems == [], problems)


def check_kernel_diff(reports):
    """Traces without operators: their kernels are compared, and a template's name of a screenful is
    three lines until one asks for the rest."""
    name = "void kernel<" + ", ".join(["at::GenericPackedTensorAccessor<float, 2ul>"] * 30) + ">(int)"
    for file, length in (("a", 10), ("b", 20)):
        (reports.folder / f"kernels_{file}.json").write_text(json.dumps(
            {"schemaVersion": 1, "traceEvents": [
                {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 1, "dur": length,
                 "args": {}}]}))
    page, _ = reports.make("kernels", "diff", str(reports.folder / "kernels_a.json"),
                           str(reports.folder / "kernels_b.json"))
    tab, problems = reports.open(page, "kernels")
    row = rows(tab, "Kernels").first
    check(row.locator("td").first.inner_text() == name, "the whole name")
    check(row.bounding_box()["height"] < 90, f"a row of {row.bounding_box()['height']} px")
    row.locator(".long").click()
    check(row.bounding_box()["height"] > 120, "a click shows all lines")
    check_page(reports, tab, "kernels")
    check(problems == [], problems)


def check_others(reports):
    page, result = reports.make("roofline", "roofline", "graphs/zoo/resnet18.onnx", "--hw", "a100",
                                "--cost-model", "sol", "--sweep", "batch=1,8")
    tab, problems = reports.open(page, "roofline")
    check(rows(tab, "Operators").count() == len(result["rooflines"][-1]["ops"]), "roofline rows")
    check(rows(tab, "Steps over batch").count() >= 1, "steps")
    check(tab.locator("section[aria-label='Time-based roofline'] canvas").count() == 1,
          "time-based roofline")
    check_page(reports, tab, "roofline")
    check(cards(tab)["peaks"] == result["rooflines"][-1]["peaks_from"], "where peaks are from")
    check(problems == [], problems)
    page, result = reports.make("compare", "compare", "examples/taskgraphs/heft_paper.json",
                                "--policies", "heft,cpop", "--no-planning-time")
    tab, problems = reports.open(page, "compare")
    check(cards(tab)["best"] == result["best"], "best policy")
    check_page(reports, tab, "compare")
    check(tab.locator("section[aria-label='Gantt chart'] img").count() == 1
          and tab.evaluate("document.querySelector('img.drawing').naturalWidth") > 0, "Gantt chart")
    names = re.findall(r"_POLICY\((\w+)", (ROOT / "schedulers/policies.inc").read_text())
    families = tab.evaluate("""names => { const text = [...document.scripts].at(-1).textContent;
        return names.filter(n => !new RegExp("[' ]" + n + "[' ]").test(text)); }""",
                            [name.replace("_", "-") for name in names])
    check(families == [], f"policies without a family: {families}")
    check(problems == [], problems)
    saved = reports.folder / "saved.html"
    subprocess.run([reports.program, "report", reports.folder / "compare.json", "-o", saved],
                   check=True)
    tab, problems = reports.open(saved, "saved")
    check(cards(tab)["best"] == result["best"] and problems == [], "a report from saved JSON")


def check_sweep(reports):
    page = reports.folder / "sweep.html"
    done = subprocess.run(
        [reports.program, "sweep", "--models", "graphs/zoo/resnet18.onnx,graphs/zoo/vit_b_16.onnx,"
         "no_such.onnx", "--hw", "a100,t4,l4", "--batch", "1:16:x2", "--prices",
         "examples/sweeps/prices.yaml", "--json", "--html", page],
        cwd=ROOT, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    result = json.loads(done.stdout)
    tab, problems = reports.open(page, "sweep")
    check(rows(tab, "All points").count() == len(result["rows"]), "points")
    best = sum(row is not None for model in result["models"] for row in model["best"].values())
    check(rows(tab, "Best configurations").count() == best > 0, "best configurations")
    front = sum(len(model["pareto_front"]) for model in result["models"])
    check(rows(tab, "Pareto fronts").count() == front > 0, "Pareto fronts")
    heat = rows(tab, "Highest samples per second")
    check(heat.count() == len(result["models"]), "a row of the heat map per model")
    first = [max(row["throughput_per_s"] for row in result["rows"]
                 if row["model"] == "resnet18" and row["hw"] == hw) for hw in ("a100", "t4", "l4")]
    shown = [float(text) for text in heat.first.locator("td").all_inner_texts()]
    check(all(abs(a - b) < 1e-3 * a for a, b in zip(first, shown)), f"{first} as {shown}")
    colours = heat.first.locator("td").evaluate_all(
        "cells => cells.map(c => getComputedStyle(c).backgroundColor)")
    check(len(set(colours)) == 3, f"three shades: {colours}")
    for title in ("Pareto front", "Latency over the batch"):
        check(tab.locator(f"section[aria-label='{title}'] canvas").count() == 1, title)
    tab.select_option("select[aria-label='Model of the charts']", "1")
    check("no such file" in tab.locator("section[aria-label='All points']").inner_text(), "errors")
    check_page(reports, tab, "sweep")
    check(problems == [], problems)


def check_serving(reports):
    page, result = reports.make("serve", "llm", "serve", "examples/llm/qwen3-8b.json", "--users",
                                "8", "--requests", "32", "--price", "2")
    tab, problems = reports.open(page, "serve")
    for title in ("Latency distribution", "Requests over time", "Tokens per second over time",
                  "Cache in use over time", "Timeline"):
        check(tab.locator(f"section[aria-label='{title}'] canvas").count() == 1, title)
    check(rows(tab, "Latencies").count() == 5, "latencies")
    check_page(reports, tab, "serve")
    cost = result["dollars_per_million_tokens"]["value"]
    check(cards(tab)["cost of a million tokens"] == f"${cost:.2f}", "cost")
    check(problems == [], problems)


def check_partitioning(reports):
    page = reports.folder / "partition.html"
    done = subprocess.run(
        [reports.program, "partition", "graphs/zoo/bert_base.onnx", "--hw", "dgx-a100", "--devices",
         "4", "--batch", "8", "--runtime", "none", "--cost-model", "sol", "--strategy", "hybrid",
         "--mode", "train", "--json", "--html", page],
        cwd=ROOT, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    result = json.loads(done.stdout)
    tab, problems = reports.open(page, "partition")
    check(cards(tab)["Best plan"] == result["best"], "best plan")
    check(rows(tab, "Plans").count() == len(result["plans"]) + 1, "plans and one device")
    check(tab.locator("section[aria-label='The best plan'] img").count() == 1, "drawing")
    drawn = tab.evaluate("document.querySelector('img').naturalWidth")
    check(drawn > 0, "the drawing is an image")
    check_page(reports, tab, "partition")
    for theme, dark in (("light", False), ("dark", True)):
        tab.select_option("#theme", theme)
        check((max(corner(tab, "img.drawing")) < 64) == dark, f"the drawing in the {theme} theme")
    degrees = {"dp": "data", "tp": "tensor", "pp": "pipeline"}
    words = result["best"].split(" x ")
    words = " \u00d7 ".join(f"{w.split()[1]} {degrees[w.split()[0]]}" for w in words)
    check(words in tab.locator(".card", has_text="Best plan").inner_text(), f"{words} in words")
    check(f"{result['best']}: {words}" in rows(tab, "Plans").first.inner_text(), "words in the table")
    check_not_clipped(tab, "Plans")
    check(problems == [], problems)
    page = reports.folder / "no_plan_fits.html"
    subprocess.run(
        [reports.program, "partition", "graphs/zoo/gpt2_large.onnx", "--hw", "pcie-2gpu", "--batch",
         "64", "--cost-model", "sol", "--strategy", "dp", "--mode", "train", "--html", page,
         "--allow-oversubscription"],
        cwd=ROOT, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    tab, problems = reports.open(page, "no_plan_fits")
    check("Does not fit" in tab.locator(".warning").first.inner_text(), "a warning comes first")
    check_page(reports, tab, "no_plan_fits")
    check(problems == [], problems)


def check_drawing_files(reports):
    """A drawing that a reader opens alone follows what the reader's system prefers."""
    drawing = reports.folder / "roofline.svg"
    subprocess.run([reports.program, "roofline", "graphs/zoo/resnet18.onnx", "--hw", "a100", "--svg",
                    drawing], cwd=ROOT, check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL)
    for scheme, dark in (("light", False), ("dark", True)):
        tab = reports.browser.new_page(color_scheme=scheme)
        tab.goto(drawing.as_uri())
        check((max(corner(tab, "svg")) < 64) == dark, f"the paper of a drawing, {scheme}")
        words = tab.evaluate("getComputedStyle(document.querySelector('text')).fill")
        check((words == "rgb(230, 237, 243)") == dark, f"the words of a drawing, {scheme}: {words}")
        tab.close()


def look(program, browser, screenshots):
    with tempfile.TemporaryDirectory(prefix="dfsim_html_") as folder:
        reports = Reports(program, pathlib.Path(folder), browser, screenshots)
        check_prediction(reports)
        check_partitioning(reports)
        check_analysis(reports)
        check_nesting(reports)
        check_advice(reports)
        check_replay(reports)
        check_kernel_diff(reports)
        check_others(reports)
        check_serving(reports)
        check_sweep(reports)
        check_drawing_files(reports)


if __name__ == "__main__":
    sys.exit(in_chromium.main(look, "all reports are right"))
