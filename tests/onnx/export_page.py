"""The table of export_networks.py as a CSV file and as a page."""

import csv
import importlib.metadata
import pathlib

from export_lists import TIMM, TORCHVISION, TRANSFORMERS

MACS_TOLERANCE = 0.02
EXCEPTIONS = pathlib.Path(__file__).with_name("export_exceptions.txt")
COLUMNS = ["network", "exporter", "opset", "ops", "unresolved", "macs", "counted_macs", "tensors", "known",
           "different", "finding"]
OPSET = {"old": 17, "new": 18}


def read_exceptions():
    if not EXCEPTIONS.exists():
        return {}
    lines = [line for line in EXCEPTIONS.read_text().splitlines() if line and not line.startswith("#")]
    return {name.strip(): reason.strip() for name, reason in (line.split(":", 1) for line in lines)}


def read_table(path):
    if not path or not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def page_number(text, scale=1):
    return str(round(float(text) * scale)) if text else ""


def read_page(path):
    """The rows of a page as rows of a table, to the digits that the page shows."""
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines() if path and path.exists() else []:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 8 or cells[1] not in OPSET:
            continue
        network, exporter, ops, unresolved, gmacs, error, tensors, finding = cells
        macs = page_number(gmacs, 1e9)
        counted = page_number(macs and int(macs) / (1 + float(error.rstrip("%")) / 100)) if error else ""
        rows.append({"network": network, "exporter": exporter, "opset": str(OPSET[exporter]), "ops": ops,
                     "unresolved": unresolved, "macs": macs, "counted_macs": counted, "tensors": tensors,
                     "known": tensors, "different": "0" if not finding else "", "finding": finding})
    return rows


def append_row(path, row):
    fresh = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if fresh:
            writer.writeheader()
        writer.writerow(row)


def summary(rows, exceptions):
    """The totals of the rows, as lines; the last field counts the exports that nothing explains."""
    exported = [r for r in rows if not r["finding"].startswith("not exported")]
    resolved = [r for r in exported if r["unresolved"] == "0"]
    close = [r for r in resolved if r["counted_macs"] not in ("", "0") and
             abs(int(r["macs"]) / int(r["counted_macs"]) - 1) <= MACS_TOLERANCE]
    compared = [r for r in exported if r["known"] not in ("", "0")]
    same = [r for r in compared if r["different"] == "0" and r["known"] == r["tensors"]]
    open_rows = [r for r in exported if r["finding"] and f"{r['network']} ({r['exporter']})" not in exceptions]
    tensors = sum(int(r["known"]) for r in compared)
    networks = [{r["network"] for r in exported if r["exporter"] == exporter} for exporter in OPSET]
    return [f"{len(exported)} files of {len(networks[0] | networks[1])} networks ({len(networks[0])} of the old "
            f"exporter, {len(networks[1])} of the new one, {len(networks[0] & networks[1])} networks of both); "
            f"{len(rows) - len(exported)} exports failed in PyTorch",
            f"{len(resolved)} resolved in full; {len(exported) - len(resolved)} are not, each with its reason below",
            f"{len(close)} with MACs within {MACS_TOLERANCE:.0%} of PyTorch's counter",
            f"{len(same)} of {len(compared)} that ONNX Runtime ran with equal shapes of all inner tensors "
            f"({tensors} tensors)"], open_rows


def page(rows, exceptions):
    lines = ["# Exported networks", "",
             "`tests/onnx/export_networks.py` wrote this page. It exports networks with random weights and a",
             "dynamic batch, with PyTorch's two ONNX exporters (`old`: TorchScript, `new`: `dynamo=True`), runs",
             "`dfsim inspect --batch 2`, and compares MACs with PyTorch's `FlopCounterMode` and the shape of each",
             "inner tensor with the one that ONNX Runtime produces.", "", "```",
             "DFSIM=build/release/dfsim tests/onnx/export_networks.py --table exports.csv \\",
             "    --page docs/reference/exported-networks.md", "```", ""]
    versions = ", ".join(f"{name} {module_version(name)}" for name in
                         ("torch", "onnx", "onnxruntime", "onnxscript", "timm", "torchvision", "transformers"))
    listed = 2 * len([*TIMM, *TORCHVISION, *TRANSFORMERS])
    lines += [f"Measured with {versions}.", "",
              f"{len(rows)} of the {listed} exports that the script lists have been run.", ""]
    lines += [f"- {line}" for line in summary(rows, exceptions)[0]]
    lines += ["", "`tensors` counts the inner tensors whose shapes both know.", "",
              "| network | exporter | operators | unresolved | GMACs | next to PyTorch | tensors | finding |",
              "|---|---|---:|---:|---:|---:|---:|---|"]
    for r in sorted(rows, key=lambda r: (r["network"], r["exporter"] != "old")):
        gmacs = f"{int(r['macs']) / 1e9:.3f}" if r["macs"] else ""
        error = ""
        if r["macs"] and r["counted_macs"] not in ("", "0"):
            error = f"{int(r['macs']) / int(r['counted_macs']) - 1:+.2%}"
        reason = exceptions.get(f"{r['network']} ({r['exporter']})", r["finding"]).replace("|", "/")
        lines.append(f"| `{r['network']}` | {r['exporter']} | {r['ops']} | {r['unresolved']} | {gmacs} | {error} | "
                     f"{r['known']} | {reason} |")
    return "\n".join(lines) + "\n"


def module_version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "(missing)"
