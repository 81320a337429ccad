"""Checks and measures the CUDA backend on the GPU of this machine, and prints a table:

    python scripts/gpu_check.py [--driver core|pycuda] [--json FILE] [--quick|--speed]

`--quick` leaves out the measurements, `--speed` the checks. `--emu [core|pycuda|none]` runs the same on the CPU, above
an emulated driver library or, with `none`, an emulated driver: a test of the backend and of this script; its times mean
nothing.
"""

import argparse
import json
import os
import platform
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests"))

import termgraph as tg
from gpucheck import checks, convolutions, speed
from termgraph.backends.cuda.build.compile import compiler
from termgraph.backends.cuda.run import device as devices


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--driver", choices=("core", "pycuda"), default="core")
    parser.add_argument("--emu", choices=("core", "pycuda", "none"), nargs="?", const="none")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--quick", action="store_true", help="only the checks of results")
    parser.add_argument("--speed", action="store_true", help="only the measurements")
    return parser.parse_args()


def open_device(given: argparse.Namespace) -> devices.Device:
    """The device to look at."""
    if given.emu:
        from emucuda.driver import emulated_device, packaged_device

        count = 1 if given.emu == "pycuda" else 2  # under pycuda cuBLAS knows one device only
        os.environ.setdefault("EMUCUDA_DEVICES", str(count))
        make = (
            (lambda k: emulated_device(number=k)) if given.emu == "none" else (lambda k: packaged_device(given.emu, k))
        )
        devices.use(*[make(k) for k in range(count)])
    else:
        tg.config.cuda.driver = given.driver
    return devices.current()


def check_all() -> list[dict]:
    """One row per check; prints those that fail, and a summary per group."""
    rows = []
    for title, group in (
        ("element-wise ops", checks.elementwise_checks()),
        ("programs", checks.program_checks()),
        ("convolutions and pooling", convolutions.convolution_checks()),
        ("models", checks.model_checks()),
    ):
        start = time.perf_counter()
        found = [
            {"what": what, "error": error, "tolerance": limit, "ok": error <= limit} for what, error, limit in group
        ]
        bad = [row for row in found if not row["ok"]]
        for row in bad:
            print(f"  WRONG  {row['what']}: error {row['error']:.1e}, allowed {row['tolerance']:.0e}")
        print(f"{title}: {len(found) - len(bad)} of {len(found)} right, {time.perf_counter() - start:.1f} s")
        rows += found
    return rows


def show(row: dict) -> str:
    """A measurement as a line."""
    units = [("us", "9.1f"), ("us each", "7.2f"), ("GB/s", "8.0f"), ("of copy", "6.0%"), ("TFLOP/s", "7.2f")]
    units += [(f"{what}/s", "10.0f") for what in ("rows", "sequences", "words")]
    units += [("registers", "4d"), ("spilled", "4d")]
    parts = [f"{row[key]:{form}} {key}" for key, form in units if key in row]
    return f"  {row['what']:52} {'  '.join(parts)}" + ("  recorded" if row.get("recorded") else "")


def main() -> int:
    given = arguments()
    device = open_device(given)
    driver = device.driver
    free, total = driver.memory()
    report = {
        "date": time.strftime("%Y-%m-%d %H:%M"),
        "device": driver.device_name,
        "arch": driver.arch,
        "driver": driver.name,
        "driver for CUDA": getattr(driver, "cuda_version", "-"),
        "compiler": compiler(),
        "multiprocessors": driver.multiprocessors,
        "memory": total,
        "python": platform.python_version(),
        "termgraph": tg.__version__,
        "emulated": given.emu,
    }
    room = f"{total / 2**30:.1f} GiB"
    print(f"{driver.device_name}, {driver.arch}, driver module {driver.name}, {room}, {report['date']}")
    report["checks"] = [] if given.speed else check_all()
    if not given.quick:
        report["speed"] = []
        for row in speed.measure(device, 1 if given.emu else 256):
            print(show(row))
            report["speed"].append(row)
    blas = device.blas()
    finished = 0 if blas is None or blas.lt() is None else blas.lt().calls
    dnn = device.dnn()
    report["cuDNN"] = dnn.calls if dnn else 0
    report["cuBLAS"] = {"products": blas.calls if blas else 0, "products with epilogues": finished}
    if given.json:
        with open(given.json, "w", encoding="utf-8") as out:
            json.dump(report, out, indent=1)
    print("products by cuBLAS: " + ("no, it is not installed" if blas is None else str(blas.calls)))
    print(f"products with epilogues by cuBLASLt: {finished}")
    print("convolutions by cuDNN: " + ("no, it is not installed" if dnn is None else str(dnn.calls)))
    wrong = sum(not row["ok"] for row in report["checks"])
    print(f"{len(report['checks']) - wrong} right, {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
