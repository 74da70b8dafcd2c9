"""What bench/figures makes of results: tables as Markdown, plots as SVG. Nothing here measures.

Each function of FIGURES takes `read`, which gives a kept result by its name, and returns Markdown.
"""
import math
import os
import re
import statistics
import textwrap

# ---- what is measured -----------------------------------------------------------------------
# Microbenchmarks of each component of the cycle model (docs/how), as the profiler saw them on an H200.
COMPONENTS = {
    "issue": ["micro_branches.csv", "micro_rows.csv"],
    "l1": ["micro_hits.csv", "micro_walk.csv", "micro_waits.csv", "micro_lanes.csv"],
    "l2": ["micro_meet.csv", "micro_gather.csv"],
    "stores": ["micro_structs.csv", "micro_chunks.csv", "micro_writes.csv"],
    "atomics": ["micro_reduce.csv", "micro_adds.csv", "micro_race.csv"],
    "dram": ["micro_streams.csv"],
    "launch": ["micro_short.csv", "micro_grid.csv"],
}
TITLES = {
    "issue": "branches, bank conflicts of registers and shared memory",
    "l1": "loads that hit, miss and wait in L1",
    "l2": "loads that meet in L2, random loads",
    "stores": "stores to structures, to pieces of lines, of many streams",
    "atomics": "reductions, sums, locks and races",
    "dram": "copies, sums and updates by width and size",
    "launch": "short kernels, blocks that start and end",
}

# Models of the kernels for Hopper (docs/how/hopper.md).
HOPPER = {"cycle": [], "ptx": ["--source", "ptx"], "abstract": ["--model", "abstract"], "analytic": ["--model", "analytic"]}

# A kernel, the one that does what the advice says, and the ideals that mean that (docs/guides/explain.md).
EIGHT_SMS = ["--set", "sm.count=8", "--set", "tpc.count=4", "--set", "gpc.count=1"]
PAIRS = [
    (["transpose_naive", "--set", "width=512", "--set", "height=384"],
     ["transpose_tiled", "--set", "width=512", "--set", "height=384"], ["coalesced"]),
    (["reduce", "--set", "n=400000"], ["reduce_shfl", "--set", "n=400000"], ["launch"]),
    (["tests/explain/histogram_global.launch"], ["histogram", "--size", "small"], ["once"]),
    (["sgemm_naive", "--set", "n=128"], ["sgemm_tiled", "--set", "n=128"], ["reused"]),
    (["sgemm_naive", "--set", "n=192"], ["sgemm_tiled", "--set", "n=192"], ["reused"]),
    (["stencil3d_naive", "--size", "medium"],
     ["tests/explain/stencil3d_tile.launch", "--size", "medium"], ["block_start"]),
    (["sgemm_tiled", "--set", "n=192", *EIGHT_SMS], ["sgemm_regblock", "--set", "n=192", *EIGHT_SMS], ["quarter"]),
]

SPEED = ["saxpy", "sgemm_tiled", "stencil3d_shared", "bfs", "btree"]

# Name -> the words of a command whose output a page shows.
TRANSCRIPTS = {
    "first_kernel": ["run", "transpose_naive", "--set", "width=512", "--set", "height=384", "--gpu", "h200", "--model", "cycle"],
    "first_explain": ["explain", "transpose_naive", "--set", "width=512", "--set", "height=384"],
    "first_diff": ["diff", "transpose_naive", "transpose_tiled", "--set", "width=512", "--set", "height=384"],
    "tasks": ["run", "docs/tutorials/stencil.tasks", "--gpu", "h200", "--model", "analytic"],
    "gpus": ["run", "saxpy", "--size", "medium", "--gpu", "k40,v100,h200", "--model", "analytic"],
}


# ---- Markdown -------------------------------------------------------------------------------
def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join("---" if k == 0 else "--:" for k in range(len(head))) + "|"]
    return "\n".join(lines + ["| " + " | ".join(str(c) for c in row) + " |" for row in rows])


def prose(text, indent=""):
    return textwrap.fill(text.replace("\n", " "), 118, break_long_words=False, break_on_hyphens=False, subsequent_indent=indent)


def percent(x):
    return "-" if x is None else f"{x:.1f} %"


def signed(x):
    return f"{x:+.0f} %"


def when(r):
    return f"{r['commit']}, {r['date']}"


def correlation_row(label, r):
    c = r["cycles"]
    return [label, c["points"], percent(c["mape"]), percent(c.get("wmape")), f"{c['pearson']:.3f}" if c.get("pearson") else "-",
            f"{c['within_10']:.0f} %" if c.get("within_10") is not None else "-", when(r)]


CORRELATION = ["", "kernels", "mean error", "weighted", "correlation", "within 10 %", "measured at"]


def exactness(read):
    """README: one table."""
    rows = [correlation_row(f"cycle model, machine code, {size}", read(f"workloads_{size}_cycle"))
            for size in ("small", "medium", "large")]
    rows.append(correlation_row("cycle model, PTX, medium", read("workloads_medium_ptx")))
    rows += [correlation_row(f"{model}, {size}", read(f"workloads_{size}_{model}"))
             for model in ("abstract", "partial", "analytic") for size in ("medium", "large")]
    review = read("review")
    for label, key in (("71 programs by others, machine code", "cycle"), ("the same, PTX", "ptx"), ("the same, abstract", "abstract"),
                       ("the same, partial", "partial"), ("the same, analytic", "analytic")):
        rows.append([label, "-", percent(review["programs"][key]), "-", "-", "-", when(review)])
    for peer in read("peers")["peers"]:
        if peer["kind"] == "exactness":
            rows.append([f"*{peer['name']}*, against {peer['against']}", peer["kernels"], peer["error"], "-", peer["correlation"], "-",
                         peer["source"]])
    return table(CORRELATION, rows)


def accuracy(read):
    """docs/how/accuracy.md: everything that was compared with the H200."""
    rows = []
    for size in ("small", "medium", "large"):
        for model in ("cycle", "abstract", "partial", "analytic"):
            rows.append(correlation_row(f"workloads, {size}, {model}", read(f"workloads_{size}_{model}")))
        if size != "large":
            rows.append(correlation_row(f"workloads, {size}, cycle from PTX", read(f"workloads_{size}_ptx")))
    rows.append(correlation_row("unseen, machine code", read("unseen_cycle")))
    rows.append(correlation_row("unseen, PTX", read("unseen_ptx")))
    rows.append(correlation_row("features, machine code", read("features_cycle")))
    rows.append(correlation_row("hopper, machine code", read("hopper_cycle")))
    return table(CORRELATION, rows)


def furthest(name):
    def made(read):
        points = [(100 * (p / m - 1), script, kernel, m, p) for script, _, kernel, m, p in read(name)["kernels"] if m]
        points.sort(key=lambda x: -abs(x[0]))
        return table(["script, kernel", "measured", "predicted", "error"],
                     [[s if s == k else f"{s}, {k}", f"{m:,.0f}", f"{p:,.0f}", f"{e:+.1f} %"] for e, s, k, m, p in points[:10]])
    return made


def components(read):
    rows = []
    for name in COMPONENTS:
        r = known(read, "micro_" + name)
        if not r:
            continue
        c = r["cycles"]
        rows.append([f"[{name}]({PAGES[name]})", TITLES[name], c["points"], percent(c["mape"]), f"{c['within_5']:.0f} %", when(r)])
    return table(["component", "kernels of", "number", "mean error", "within 5 %", "measured at"], rows)


PAGES = {"issue": "sm.md", "l1": "l1.md", "l2": "l2.md", "stores": "l2.md", "atomics": "atomics.md", "dram": "dram.md",
         "launch": "launch.md"}


def known(read, name):
    try:
        return read(name)
    except FileNotFoundError:
        return None


def component(name):
    def made(read):
        r = known(read, "micro_" + name)
        if not r:
            return f"Not measured yet: `./run figures --measure micro_{name}`."
        c = r["cycles"]
        return (f"![{TITLES[name]}: predicted against measured cycles](../img/{name}.svg)\n\n" + prose(
                f"{c['points']} kernels of {', '.join('`micro/' + f[6:-4] + '`' for f in COMPONENTS[name])}: mean error "
                f"{percent(c['mape'])}, {c['within_5']:.0f} % within 5 % ({when(r)})."))
    return made


def speed(read):
    """README: one table."""
    rows = [[r["trace"], f"{r['accelsim_cycles']:,}", f"{r['cycles']:,}", f"{r['accelsim_seconds']:.1f} s", f"{r['seconds']:.2f} s",
             f"{r['accelsim_seconds'] / r['seconds']:.0f}x"] for r in read("traces")["traces"]]
    return table(["trace", "cycles, Accel-Sim", "Orrery", "time, Accel-Sim", "Orrery, one thread", "factor"], rows)


def speed_about(read):
    r = read("traces")
    return prose(f"Accel-Sim's traces on its SM7_QV100 configuration ({r['machine']}; Orrery at {when(r)}; Accel-Sim "
            f"{r['accelsim']}):")


def speed_models(read):
    """docs/guides/bench.md: models side by side."""
    r = read("speed")
    models = ["functional", "cycle", "abstract", "partial", "analytic"]
    cells = {(n, m): (s, w) for n, m, s, w in r["runs"]}
    insts = {n: cells[n, "functional"][1] for n in SPEED}
    rows = [[n] + [f"{insts[n] / cells[n, m][0] / 1e6:.2f}" for m in models] for n in SPEED]
    return (f"Million warp instructions of the launch a second, one thread, medium size, H200, fastest of three; {r['machine']}, "
            f"{when(r)}:\n\n" + table(["workload"] + models, rows))


def executing(read):
    r = read("executing")
    return table(["workload, medium size", "machine code", "with all statistics", "PTX", "with all statistics"],
                 [[row[0]] + [f"{x:,}" for x in row[1:]] for row in r["rows"]]) + f"\n\nMillion thread instructions a second; {r['machine']}, {when(r)}."


def explain_pairs(read):
    r = read("explain")
    rows = []
    for p in r["pairs"]:
        first, second = ("`" + p[k].replace("--set ", "").replace(" --no-check", "").replace("tests/explain/", "").replace(".launch", "") + "`" for k in ("first", "second"))
        real = 100 * (p["real_ns"] / p["before_ns"] - 1)
        if p["predicted_ns"] is None:
            rows.append([first, second, "-", "-", signed(real), "not advised"])
            continue
        gain = 100 * (p["predicted_ns"] / p["before_ns"] - 1)
        near = abs(gain - real) <= 0.2 * abs(real)
        rows.append([first, second, f"`{p['ideal']}`" + (f", line {p['line']}" if p["line"] else ""), signed(gain), signed(real),
                     "within 20 %" if near else ("too hopeful" if gain < real else "too modest")])
    return table(["first", "second, which does it", "advice", "predicted", "real", ""], rows) + f"\n\nMeasured at {when(r)}, model cycle, H200."


def triton(read):
    r = read("triton")
    ranks = ", ".join(f"the {model} model's is number {c['rank']} ({c['us']} us)" for model, c in r["choice"].items())
    return prose(f"Tried with Triton {r['triton']} ({when(r)}): of the {r['configurations']} configurations of the example at {r['size']}, "
            f"compiled and\nmeasured on an H200, {r['right']} leave the right product in Orrery. The best takes {r['best_us']} us there; of what "
            f"is chosen\nwithout a GPU {ranks}.")


def pytorch(read):
    r = read("pytorch")
    rows = [["cycles, mean error", f"{r['cycles_launch']['mape']} %", f"{r['cycles_kernel']['mape']} %"],
            ["cycles, within 10 %", f"{r['cycles_launch']['within_10']} %", f"{r['cycles_kernel']['within_10']} %"],
            ["warp instructions, mean error", "", f"{r['warp_insts']} %"],
            ["thread instructions, mean error", "", f"{r['thread_insts']} %"],
            ["sectors of global loads and of stores, mean error", "", f"{r['sectors']} %"]]
    return prose(f"How near that is to what Nsight Compute measured of the same launches ({when(r)}):") + "\n\n" + table(
        ["", f"{r['launches']} launches", f"{r['kernels']} kernels"], rows) + "\n\n" + prose(
            f"And of other programs ({when(r['others'])}):") + "\n\n" + table(
        ["program", "launches", "memory as on the GPU", "cycles, by launch", "by kernel", "warp instructions"],
        [[o["what"], o["launches"], o["same"], f"{o['by_launch']} %", f"{o['by_kernel']} %", f"{o['warp_insts']} %"]
         for o in r["others"]["programs"]])


def peers(read):
    return table(["simulator", "compared with", "kernels", "mean error", "correlation", "source"],
                 [[p["name"], p["against"], p["kernels"], p["error"], p["correlation"], p["source"]] for p in read("peers")["peers"]
                  if p["kind"] == "exactness"])


def gv100(read):
    """docs/how/gv100.md: published cycles of a Quadro GV100, Accel-Sim's and ours."""
    r = read("gv100")
    rows, mine, theirs, pairs = [], [], [], []
    for a in r["apps"]:
        errors = [100 * (a[k] / a["hardware"] - 1) for k in ("accelsim", "cycles")]
        theirs.append(abs(errors[0]))
        mine.append(abs(errors[1]))
        pairs.append((a["hardware"], a["cycles"]))
        name, _, words = a["app"].partition("/")
        size = re.search(r"___m_(\d+)___n_(\d+)___k_(\d+)___kernels_([a-z]+)", words)  # CUTLASS's products
        rows.append([f"{name} {size[4]} {'x'.join(size.groups()[:3])}" if size else name, a["launches"],
                     f"{a['hardware']:,}", f"{a['accelsim']:,}", f"{a['cycles']:,}",
                     f"{errors[0]:+.1f} %", f"{errors[1]:+.1f} %"])
    n = len(pairs)
    mx, my = sum(p[0] for p in pairs) / n, sum(p[1] for p in pairs) / n
    sxy = sum((x - mx) * (y - my) for x, y in pairs)
    sxx, syy = sum((x - mx) ** 2 for x, _ in pairs), sum((y - my) ** 2 for _, y in pairs)
    rows.append([f"mean error of {n}", "", "", "", "", percent(sum(theirs) / n), percent(sum(mine) / n)])
    said = prose(f"Correlation of the cycles {sxy / (sxx * syy) ** 0.5:.3f}. Run at {when(r)}.")
    return table(["application", "launches", "GV100", "Accel-Sim", "Orrery", "Accel-Sim", "Orrery"], rows) + "\n\n" + said


def afternoon(read):
    """docs/tutorials/new-gpu.md: what each step took, and how near a description made without a hand comes."""
    r = read("afternoon")
    t, words = r["times"], {"workloads": "bundled", "unseen": "by others", "hopper": "for Hopper"}
    said = prose(f"`orrery hw micro` {t['hw micro']:.0f} s, `hw profile` {t['hw profile']:.0f} s, `tune` {t['tune']:.0f} s "
                 f"({r['machine']}): {r['values']} values. Run at {when(r)}.")
    rows = [[f"{words[name]}, {r['shipped'][name]['kernels']}", percent(r["shipped"][name]["mape"]), percent(r["tuned"][name]["mape"]),
             f"{r['tuned'][name]['mape'] / r['shipped'][name]['mape']:.2f} times"] for name in words]
    missing = prose(f"Not found, {len(r['missing'])}: " + ", ".join(r["missing"]) + ".")
    return said + "\n\n" + table(["kernels", "`gpus/h200.conf`", "tuned", "of ours"], rows) + "\n\n" + missing


def published(read):
    """docs/reference/published.md: a table for each GPU, what others measured and what micro/published gives."""
    r, parts = read("published"), []
    for gpu in dict.fromkeys(x["gpu"] for x in r["rows"]):
        rows, of = [], {x["of"] for x in r["rows"] if x["gpu"] == gpu}
        of = f" ({of.pop()})" if len(of) == 1 and any(of) else ""  # of all: in the heading
        for x in (x for x in r["rows"] if x["gpu"] == gpu):
            off = 100 * (x["simulated"] / x["value"] - 1)
            digits = 2 if x["value"] < 10 else 1 if x["value"] < 100 else 0
            what = x["metric"] + (" " + x["point"] if x["point"] else "")
            source = re.sub(r": .*?(?=\)|$)", "", x["source"]) + (f" ({x['of']})" if x["of"] and not of else "") + ("" if x["seen"] != "no" else " *")
            rows.append([what, f"{x['value']:,.{digits}f} {x['unit']}", f"{x['simulated']:,.{digits}f}", f"{off:+.1f} %", source])
        parts.append(f"### {gpu}{of}\n\n" + table(["reading", "published", "simulated", "difference", "source"], rows))
    offs = [abs(x["simulated"] / x["value"] - 1) for x in r["rows"]]
    said = prose(f"{len(offs)} figures of {len(parts)} descriptions, {percent(100 * sum(offs) / len(offs))} off in the mean, "
                 f"{sum(o <= 0.1 for o in offs)} within 10 %. Run at {when(r)}: `{r['command']}`.")
    return said + "\n\n" + "\n\n".join(parts)


def nccl(read):
    """docs/guides/nodes.md: an all-reduce by size, what nccl-tests measured and what NCCL takes here."""
    r, parts = read("nccl"), []
    for of, ranks, source in dict.fromkeys((x["of"], x["ranks"], x["source"]) for x in r["rows"]):
        mine = [x for x in r["rows"] if (x["of"], x["ranks"], x["source"]) == (of, ranks, source)]
        off = [100 * (x["simulated"] / x["us"] - 1) for x in mine]
        parts.append([of, ranks, source, f"{sum(abs(o) <= 15 for o in off)} of {len(off)}",
                      ", ".join(f"{x['bytes'] / 2**20:g}: {x['us']:,.0f} {o:+.0f} %" for x, o in zip(mine, off) if x["bytes"] >= 2**14)])
    return table(["GPUs", "ranks", "source", "within 15 %", "MiB: us published, difference here"], parts) + \
        "\n\n" + prose(f"Run at {when(r)}: `{r['command']}`.")


def workers(read):
    """docs/guides/sweep.md: several processes at one study."""
    r = read("workers")
    models = list(dict.fromkeys(x["model"] for x in r["rows"]))
    rows = []
    for n in dict.fromkeys(x["workers"] for x in r["rows"]):
        mine = {x["model"]: x for x in r["rows"] if x["workers"] == n}
        rows.append([str(n)] + [f"{mine[m]['seconds']:.1f} s, {mine[m]['times']:.2f} times" for m in models])
    inputs = {x["model"]: x["input"] for x in r["rows"]}
    return table(["processes"] + [f"{m} ({inputs[m]})" for m in models], rows) + \
        "\n\n" + prose(f"{r['what'].capitalize()}; {r['machine']}; run at {when(r)}: `{r['command']}`.")


def pairs(read):
    """docs/how/together.md: pairs of kernels on an H200, and what the models say of them."""
    r = read("pairs")
    models = list(r["models"])
    rows = [[x["pair"], f"{x['us']:.1f}"] + [f"{r['models'][m]['errors'][x['pair']]:+.1f}" for m in models] for x in r["rows"]]
    every = {m: [abs(e) for e in r["models"][m]["errors"].values()] for m in models}
    rows.append(["mean", ""] + [f"{sum(e) / len(e):.1f}" for e in every.values()])
    rows.append(["within 10 %", f"of {len(r['rows'])}"] + [str(sum(x <= 10 for x in e)) for e in every.values()])
    made = "; ".join(f"{m} at {when(r['models'][m])}" for m in models)
    return table(["pair", "H200, us"] + [f"{m}, %" for m in models], rows) + "\n\n" + prose(f"`{r['command']}`: {made}.")


def tasks(read):
    """docs/how/partial.md: task lists that were made of kernels."""
    r = read("tasks")
    names = {"sass": "machine code", "ptx": "PTX"}
    every = {s: list(x.values()) for s, x in r["sources"].items()}
    furthest = {s: sorted(x.items(), key=lambda i: -abs(i[1]))[:6] for s, x in r["sources"].items()}
    rows = [["mean"] + [f"{sum(map(abs, e)) / len(e):.1f} % apart" for e in every.values()],
            ["within 15 %"] + [f"{sum(abs(x) <= 15 for x in e)} of {len(e)}" for e in every.values()],
            ["furthest"] + [", ".join(f"{n} {x:+.1f} %" for n, x in f) for f in furthest.values()]]
    return table([""] + [names[s] for s in every], rows) + "\n\n" + prose(f"Run at {when(r)}: `{r['command']}`.")


def cluster(read):
    """docs/guides/cluster.md: how a program scales over ranks, and what simulating it costs."""
    r = read("cluster")
    rows = [[str(x["ranks"]), str(x["nodes"]), f"{x['ms']:.3f}", f"{r['rows'][0]['ms'] / x['ms']:.1f}", x["bound_by"], f"{x['mpi_percent']:.0f}",
             f"{x['processor']:.1f}", str(x["mib"])] for x in r["rows"]]
    return table(["ranks", "nodes", "simulated, ms", "speed-up", "bound by", "in MPI, %", "seconds of processors", "MiB"], rows) + \
        "\n\n" + prose(f"{r['what']}; {r['machine']}; run at {when(r)}: `{r['command']}`.")


def transcript(name, first=1, last=None):
    def made(read):
        r = read("output_" + name)
        lines = r["text"].split("\n")
        shown = [l if len(l) <= 118 else l[:115] + "..." for l in lines[first - 1:last]]
        return "```\n$ " + r["command"] + "\n" + "\n".join(shown) + ("\n..." if last and last < len(lines) else "") + "\n```"
    return made


def opencl_rows(read):
    return read("opencl")["kernels"]


def accuracy_of(rows, key):
    return 100 - sum(abs(100 * x[key] / x["cycles"] - 100) for x in rows) / len(rows)


def opencl(read):
    """docs/guides/opencl.md: source-level simulation beside the cycle model, one Fermi SM with perfect memory."""
    parts = []
    for label, rows in (("the paper's benchmarks at its sizes", [x for x in opencl_rows(read) if x["paper"]]),
                        ("others of PolyBench and Rodinia", [x for x in opencl_rows(read) if not x["paper"]]), ("all", opencl_rows(read))):
        near = sum(abs(x["predicted"] / x["cycles"] - 1) <= 0.1 for x in rows)
        better = sum(abs(x["predicted"] - x["cycles"]) <= abs(x["optimistic"] - x["cycles"]) for x in rows)
        insts = 100 - sum(abs(100 * x["counted_insts"] / x["insts"] - 100) for x in rows) / len(rows)
        parts.append([label, len(rows), percent(accuracy_of(rows, "predicted")), percent(accuracy_of(rows, "optimistic")),
                      f"{better}", f"{near}", percent(insts)])
    return table(["", "kernels", "accuracy", "the bound alone", "nearer than the bound", "within 10 %", "warp instructions"], parts) + \
        "\n\n" + prose(f"Run at {when(read('opencl'))}: `{read('opencl')['command']}`.")


def seconds(x):
    return f"{x:.4f}" if x < 0.01 else f"{x:.3f}" if x < 1 else f"{x:.1f}"


def opencl_kernels(read):
    """The same, kernel by kernel: the paper's table II and its run times."""
    parts = []
    for x in sorted(opencl_rows(read), key=lambda x: (not x["paper"], x["program"], x["kernel"])):
        parts.append([f"{x['program']}: {x['kernel']}", f"{x['warps']:,}", *(signed(100 * x[k] / x["cycles"] - 100) for k in ("predicted", "optimistic")),
                      f"{x['expected_conflicts'] / x['conflicts']:.2f}" if x["conflicts"] >= 100 else "-",
                      *(seconds(x[k]) for k in ("native", "annotated", "with_prediction", "simulated")),
                      f"{x['annotated'] / x['native']:.1f}", f"{x['simulated'] / x['with_prediction']:.0f}"])
    return table(["kernel", "warps", "error", "of the bound", "conflicts, expected by counted", "native, s", "annotated", "with prediction",
                  "cycle model", "slower", "sooner"], parts) + "\n\n" + opencl_limits(opencl_rows(read))


def opencl_limits(rows):
    slower, native = [x["annotated"] / x["native"] for x in rows], [x["simulated"] / x["native"] for x in rows]
    return prose(f"Annotated kernels take {statistics.median(slower):.1f} times as long as they are in the median, {max(slower):.1f} times at most. "
                 f"The paper's thousand times are out of reach of any prediction here: PoCL itself, without a counter, is {min(native):.0f} to "
                 f"{max(native):.0f} times as fast as this cycle model.")


def opencl_suites(read):
    """docs/guides/opencl.md: other people's programs on the platform, a row for each."""
    r, parts, sums = read("opencl_suites"), [], []
    for x in r["programs"]:
        words = x.get("equal", 0) + x.get("near", 0) + x.get("other", 0)
        parts.append([f"{x['suite']} {x['program']}", {True: "right", False: "**not**", None: "cannot be told"}[x["right"]],
                      f"{words:,}" if words else "-", f"{x['equal']:,}" if words else "-", x["why"].replace("|", "/")])
    for suite in dict.fromkeys(x["suite"] for x in r["programs"]):
        all_of = [x["right"] for x in r["programs"] if x["suite"] == suite]
        sums.append([suite, len(all_of), *(sum(v is k for v in all_of) for k in (True, False, None))])
    sums.append(["all", *(sum(x[k] for x in sums) for k in range(1, 5))])
    return table(["suite", "programs", "right", "not", "cannot be told"], sums) + "\n\n" + \
        table(["program", "", "words read", "of them the same bits", "why"], parts) + "\n\n" + \
        prose(f"Run at {when(r)}: `{r['command']}`, {r['limit']} s each.")


def hopper(read):
    """docs/how/hopper.md: the plot, and a row for each model and size."""
    labels = {"cycle": "cycle, machine code", "ptx": "cycle, PTX", "abstract": "abstract and partial, machine code",
              "analytic": "analytic, machine code"}
    rows = []
    for name, label in labels.items():
        r = read("hopper_" + name)
        for size in ("small", "medium"):
            all_of = [(kernel, m, p) for _, s, kernel, m, p in r["kernels"] if s == size]
            off = {kernel: 100 * (p / m - 1) for kernel, m, p in all_of}
            worst = max(off, key=lambda k: abs(off[k]))
            rows.append([f"{label}, {size}", percent(sum(map(abs, off.values())) / len(off)),
                         f"{statistics.correlation([m for _, m, _ in all_of], [p for _, _, p in all_of]):.3f}",
                         f"{worst} {signed(off[worst])}", when(r)])
        rows.append([f"{label}, both", percent(r["cycles"]["mape"]), f"{r['cycles']['pearson']:.3f}", "", when(r)])
    return "![kernels for Hopper: predicted against measured cycles](../img/hopper.svg)\n\n" + \
        table(["18 kernels", "mean error", "correlation", "furthest off", "measured at"], rows)


def ablate(read):
    """docs/how/cycle.md: what each mechanism is worth, at small."""
    r = read("ablate")
    most = {row[0]: max(abs(x) for x in row[1:]) for row in r["rows"]}
    rows = [[f"`{row[0]}`"] + [f"{x:+.2f}" for x in row[1:]] for row in r["rows"] if most[row[0]] >= 0.3]
    some = [row[0] for row in r["rows"] if 0.05 <= most[row[0]] < 0.3]
    none = [row[0] for row in r["rows"] if most[row[0]] < 0.05]
    said = ", ".join(f"{x:.1f} % on {name}" for x, name in zip(r["all"], r["sets"]))
    return table(["off"] + r["sets"], rows) + "\n\n" + prose(
        f"`{r['command']}` ({when(r)}); with all of them {said}. Worth 0.05 to 0.3 points on one set: {', '.join(some)}. "
        f"Worth less at small: {', '.join(none)}.")


FIGURES = {
    "ablate": ablate,
    "opencl": opencl,
    "opencl kernels": opencl_kernels,
    "opencl suites": opencl_suites,
    "exactness": exactness,
    "accuracy": accuracy,
    "furthest small": furthest("workloads_small_cycle"),
    "furthest unseen": furthest("unseen_cycle"),
    "components": components,
    "speed": speed,
    "speed about": speed_about,
    "speed models": speed_models,
    "executing": executing,
    "explain pairs": explain_pairs,
    "peers": peers,
    "gv100": gv100,
    "afternoon": afternoon,
    "hopper": hopper,
    "published": published,
    "nccl": nccl,
    "workers": workers,
    "pairs": pairs,
    "tasks": tasks,
    "cluster": cluster,
    "triton": triton,
    "pytorch": pytorch,
}
FIGURES.update({"component " + name: component(name) for name in COMPONENTS})
FIGURES.update({"output " + name: transcript(name) for name in TRANSCRIPTS})


# ---- SVG ------------------------------------------------------------------------------------
def scatter(points, title):
    """Predicted against measured cycles, both logarithmic, with a band of 10 %. Text and lines have the page's colour where
    it is dark (currentColor is not known in an image, so a middle grey is used)."""
    size, left, right, bottom = 360, 94, 20, 46
    values = [v for p in points for v in p if v > 0]
    low, high = math.floor(math.log10(min(values)) * 2) / 2, math.ceil(math.log10(max(values)) * 2) / 2
    scale = (size - 20) / (high - low)
    x = lambda v: left + (math.log10(v) - low) * scale
    y = lambda v: 10 + size - 20 - (math.log10(v) - low) * scale
    a, b = 10 ** low, 10 ** high
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + size + right}" height="{size + bottom}" '
           f'viewBox="0 0 {left + size + right} {size + bottom}" font-family="sans-serif" font-size="12" fill="#777">',
           f"<title>{title}</title>",
           f'<path d="M{x(a):.1f} {y(a * 1.1):.1f}L{x(b / 1.1):.1f} {y(b):.1f}L{x(b):.1f} {y(b):.1f}L{x(b):.1f} {y(b / 1.1):.1f}'
           f'L{x(a * 1.1):.1f} {y(a):.1f}L{x(a):.1f} {y(a):.1f}z" fill="#4a90d9" fill-opacity="0.18"/>',
           f'<path d="M{x(a):.1f} {y(a):.1f}L{x(b):.1f} {y(b):.1f}" stroke="#777" stroke-width="1"/>']
    power = math.ceil(low)
    while power <= high:
        v, text = 10 ** power, f"{10 ** power:,}"
        out.append(f'<path d="M{x(v):.1f} {y(a):.1f}V{y(b):.1f}M{x(a):.1f} {y(v):.1f}H{x(b):.1f}" stroke="#777" stroke-opacity="0.3"/>')
        out.append(f'<text x="{x(v):.1f}" y="{y(a) + 16:.1f}" text-anchor="middle">{text}</text>')
        out.append(f'<text x="{left - 6}" y="{y(v) + 4:.1f}" text-anchor="end">{text}</text>')
        power += 1
    for measured, predicted in sorted(points):
        off = abs(predicted / measured - 1) > 0.1
        out.append(f'<circle cx="{x(measured):.1f}" cy="{y(predicted):.1f}" r="2.6" fill="{"#d0021b" if off else "#2f6fb5"}" fill-opacity="0.75"/>')
    out.append(f'<text x="{left + (size - 20) / 2:.0f}" y="{size + bottom - 10}" text-anchor="middle">cycles of an H200</text>')
    out.append(f'<text transform="translate(12 {size / 2:.0f}) rotate(-90)" text-anchor="middle">cycles of the model</text>')
    return "\n".join(out + ["</svg>"]) + "\n"


def error_over_size(series, title):
    """Errors in percent over measured cycles, logarithmic: a kernel at a size is a point, and the line is the median of the kernels
    from half to twice as long, where there are eight. What is further off than the plot is high lies at its edge."""
    width, height, left, top, most = 520, 170, 60, 22, 60
    all_ = [m for _, points in series for m, _ in points]
    low, high = math.floor(math.log10(min(all_)) * 2) / 2, math.ceil(math.log10(max(all_)) * 2) / 2
    x = lambda v: left + (math.log10(v) - low) * width / (high - low)
    y = lambda e: top + height / 2 - max(-most, min(most, e)) * height / 2 / most
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 20}" height="{len(series) * (height + 34) + 40}" '
           f'viewBox="0 0 {left + width + 20} {len(series) * (height + 34) + 40}" font-family="sans-serif" font-size="12" fill="#777">',
           f"<title>{title}</title>"]
    for k, (name, points) in enumerate(series):
        out.append(f'<g transform="translate(0 {k * (height + 34)})">')
        out.append(f'<text x="{left}" y="{top - 7}" font-weight="bold">{name}</text>')
        out.append(f'<rect x="{left}" y="{y(10):.1f}" width="{width}" height="{y(-10) - y(10):.1f}" fill="#4a90d9" fill-opacity="0.18"/>')
        for e in (-most, -most // 2, 0, most // 2, most):
            out.append(f'<path d="M{left} {y(e):.1f}h{width}" stroke="#777" stroke-opacity="{0.8 if e == 0 else 0.3}"/>')
            out.append(f'<text x="{left - 6}" y="{y(e) + 4:.1f}" text-anchor="end">{e:+d} %</text>' if e else
                       f'<text x="{left - 6}" y="{y(e) + 4:.1f}" text-anchor="end">0</text>')
        for power in range(math.ceil(low), math.floor(high) + 1):
            out.append(f'<path d="M{x(10 ** power):.1f} {top}v{height}" stroke="#777" stroke-opacity="0.3"/>')
            if k + 1 == len(series):
                out.append(f'<text x="{x(10 ** power):.1f}" y="{top + height + 16}" text-anchor="middle">{10 ** power:,}</text>')
        errors = sorted((m, 100 * (p / m - 1)) for m, p in points)
        for m, e in errors:
            out.append(f'<circle cx="{x(m):.1f}" cy="{y(e):.1f}" r="2" fill="{"#d0021b" if abs(e) > 10 else "#2f6fb5"}" fill-opacity="0.6"/>')
        line, at = [], 10 ** low
        while at <= 10 ** high:
            near = sorted(e for m, e in errors if at / 2 <= m <= at * 2)
            if len(near) >= 8:
                line.append(f"{x(at):.1f} {y((near[(len(near) - 1) // 2] + near[len(near) // 2]) / 2):.1f}")
            at *= 10 ** 0.1
        out.append(f'<path d="M{"L".join(line)}" fill="none" stroke="#777" stroke-width="2"/></g>' if line else "</g>")
    out.append(f'<text x="{left + width / 2:.0f}" y="{len(series) * (height + 34) + 32}" text-anchor="middle">cycles of an H200</text>')
    return "\n".join(out + ["</svg>"]) + "\n"


def plots(read):
    """Path -> SVG, of all results that are there."""
    made = {}
    for name, title, result in [("workloads", "the bundled workloads at small", "workloads_small_cycle"),
                                ("unseen", "kernels that nobody tuned to", "unseen_cycle"),
                                ("hopper", "kernels for Hopper", "hopper_cycle")] + \
                               [(n, TITLES[n], "micro_" + n) for n in COMPONENTS]:
        points = [(m, p) for _, _, _, m, p in (known(read, result) or {"kernels": []})["kernels"] if m and p]
        if points:
            made[f"docs/img/{name}.svg"] = scatter(points, title)
    series = []
    for model in ("cycle", "abstract", "partial", "analytic"):
        points = [(m, p) for size in ("small", "medium", "large")
                  for _, _, _, m, p in (known(read, f"workloads_{size}_{model}") or {"kernels": []})["kernels"] if m and p]
        if points:
            series.append((model, points))
    if series:
        made["docs/img/sizes.svg"] = error_over_size(series, "errors of the models over the size of the kernel")
    return made


# ---- what was found about an H200, by component -----------------------------------------------
# What the model claims, and the keys of gpus/h200.conf that hold the values, with the kernel that showed them.
CLAIMS = {
    "issue": [
        ("A sub-core issues an instruction a cycle; FFMA goes to whichever half of its pipe is free.", ["unit.fma.half"]),
        ("A jump costs the warp its stall count and some cycles; by register many more.", ["core.branch_taken", "core.branch_indirect"]),
        ("Lanes that meet again cost cycles, and more where others wait.", ["core.reconverge"]),
        ("Two operands in one bank are read a cycle apart, and the later one must be in the registers.", ["regs.late"]),
        ("A barrier takes a warp's turn at one unit of the SM.", ["unit.adu.lanes", "op.barrier.latency"]),
        ("A full tensor product takes its unit so long.", ["op.tensor.latency", "op.tensor.interval"]),
    ],
    "l1": [
        ("Shared memory answers faster than L1.", ["shared.latency", "l1.latency"]),
        ("A load with bank conflicts takes two cycles a pass, and other warps go in between.", ["lsu.replay"]),
        ("L1 keeps four lines a set.", ["l1.tag_ways"]),
        ("Operands of a store are read late.", ["lsu.read_store"]),
        ("An SM's memory instructions share a queue.", ["lsu.queue"]),
    ],
    "l2": [
        ("L2 has two halves, and each keeps copies of what its SMs read of the other.", ["l2.latency", "l2.far_latency", "l2.replicate"]),
        ("Addresses are dealt out by a hash, in small pieces.", ["l2.slices", "l2.interleave", "l2.hash"]),
        ("Loads of SMs of a GPC for the same line are answered together.", ["l2.merge", "l2.merge_time"]),
        ("What a GPC and an SM can be sent is limited.", ["xbar.gpc_reply", "xbar.reply"]),
        ("A miss brings the sector beside it, too.", ["l2.sector"]),
    ],
    "stores": [
        ("Stores to one line are joined before they leave the SM, if they follow soon.", ["xbar.merge_lines", "xbar.merge_wait"]),
        ("Halves that store to parts of one line take turns.", ["l2.side_switch", "l2.side_switch_far"]),
        ("Not all of L2 may be dirty.", ["l2.dirty_ways"]),
        ("Bytes are marked for few lines; one more, and a line is completed from memory.", ["l2.partial_ways", "l2.completions"]),
    ],
    "atomics": [
        ("An atomic takes little longer than a load; the other half is far.", ["l2.atomic_latency"]),
        ("Lanes on different words of a line go together; a sum of floats on one sector waits for the one before.",
         ["l2.atomic_words", "l2.atomic_float"]),
        ("A fence of the GPU waits for the SM's stores, and the SM does it for its warps together.",
         ["core.fence_gpu", "core.fence_store", "core.fence_merge"]),
        ("A load right behind an atomic of its line is slow.", ["l2.atomic_then_load"]),
    ],
    "dram": [
        ("A slice of L2 has two channels, of 32 bits each.", ["dram.channels", "dram.tccdl"]),
        ("A stream reaches nearly all of the bus.", ["dram.efficiency", "dram.bandwidth"]),
        ("Rows are opened one after the other, and that limits random sectors.", ["dram.trrd"]),
        ("Each bank is refreshed every so often, and a load waits for that.", ["dram.trefi", "dram.trfc"]),
        ("Writes are done in batches that reads wait for.", ["dram.write_batch", "dram.write_start"]),
    ],
    "launch": [
        ("Blocks of an SM start so much apart; where one has ended the next starts later.", ["launch.sm_interval", "launch.turnaround"]),
        ("A kernel's code comes line by line.", ["launch.code_latency"]),
        ("Straight code beyond the SM's cache comes at a pace of its own, and beyond the GPC's much slower.",
         ["icache.l0", "icache.l1_interval", "icache.l2_interval"]),
        ("The first use of a constant line waits.", ["const.cold", "const.l15_latency"]),
        ("A kernel has ended when barriers to all slices have come back.", ["launch.drain"]),
    ],
}


def description():
    """Key -> (value, evidence) of gpus/h200.conf and what it inherits."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    found = {}
    for file in ("family/hopper.conf", "h200.conf"):
        with open(os.path.join(here, "gpus", file), encoding="utf-8") as f:
            for line in f:
                m = re.match(r"([a-z][\w.]*)\s*=\s*([^#]*?)\s*(?:#\s*(.*))?$", line)
                if m:
                    found[m.group(1)] = (m.group(2), m.group(3) or "")
    return found


def short(evidence):
    """The first part of a value's evidence: the kind, and the kernel or document."""
    kind, _, rest = evidence.partition(": ")
    first = rest.split(";")[0].split(": ")[0].split(" (")[0]
    return f"{kind}: {first}" if rest else kind


def claims(name):
    def made(read):
        values = description()
        rows = []
        for text, keys in CLAIMS[name]:
            for k, key in enumerate(keys):
                value, evidence = values[key]
                rows.append([text if k == 0 else "", f"`{key}` = {value}", short(evidence)])
        lines = ["| what was found | value | by |", "|---|---|---|"]
        return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])
    return made


FIGURES.update({"claims " + name: claims(name) for name in CLAIMS})
