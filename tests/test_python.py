"""The Python package: jobs, reports as objects, arrays as arguments, errors; NumPy and pandas where they are."""

import array
import os
import sys
import unittest

SOURCE = os.environ.get("SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.environ.get("ORRERY_PYTHON", os.path.join(SOURCE, "python")))
import orrery
import orrery.triton

try:
    import numpy
except ImportError:
    numpy = None
try:
    import pandas
except ImportError:
    pandas = None
try:
    import ipykernel
    import nbconvert.preprocessors
    import nbformat
except ImportError:
    nbformat = None
SAXPY = os.path.join(SOURCE, "workloads", "saxpy", "saxpy")


class Jobs(unittest.TestCase):
    def test_run(self):
        run = orrery.run("saxpy", gpu="h200", set={"n": 4096})
        self.assertEqual(run["gpu"], "h200")
        self.assertEqual(run.time_ns, sum(l["time_ns"] for l in run.launches))
        self.assertEqual(run.table()[0]["counters.smsp__inst_executed.sum"], run.launches[0]["warp_insts"])
        self.assertIn("saxpy", run.text)
        self.assertIn("<iframe srcdoc=", run._repr_html_())
        self.assertIn("<html", orrery.page(run, run))

    def test_options(self):
        few = orrery.run("saxpy", set=["n=4096", "sm.count=2"], model="analytic", threads=1)
        many = orrery.run("saxpy", set=["n=4096"], model="analytic", threads=1)
        self.assertGreater(few.time_ns, many.time_ns)
        with self.assertRaises(orrery.OrreryError) as caught:
            orrery.run("saxpy", no_such_option=1)
        self.assertEqual(caught.exception.status, 2)
        with self.assertRaises(orrery.OrreryError) as caught:
            orrery.run("nothing_there")
        self.assertIn("nothing_there", str(caught.exception))

    def test_watch_stops(self):
        with self.assertRaises(orrery.OrreryError) as caught:
            orrery.run("sgemm_tiled", size="medium", watch=lambda status: False)
        self.assertEqual(caught.exception.status, 3)

    def test_compare_sweep_diff_explain(self):
        table = orrery.compare("saxpy", model="analytic,abstract").table()
        self.assertEqual([row["model"] for row in table], ["analytic", "abstract"])
        sweep = orrery.sweep("saxpy", vary={"sm.count": [2, 132]}, model="analytic")
        self.assertEqual(sweep.best["set"]["sm.count"], 132)
        self.assertEqual([p["set.sm.count"] for p in sweep.table()], [2, 132])
        run = orrery.run("saxpy", set={"n": 4096})
        self.assertEqual(orrery.diff(run, run).percent, 0)
        slower = {"set": "sm.count=2"}
        self.assertGreater(orrery.diff(run, "saxpy", second=slower).percent, 0)
        with self.assertRaises(orrery.OrreryError) as caught:
            orrery.diff(run, "saxpy", second=slower, fail_if="slower 5%")
        self.assertEqual(caught.exception.status, 4)
        self.assertGreater(caught.exception.report.percent, 5)
        why = orrery.explain("saxpy", set={"n": 4096})
        self.assertTrue(why.ideals and all("name" in i for i in why.ideals))

    def test_correlate(self):
        measured = os.path.join(SOURCE, "hardware", "h200", "workloads.csv")
        c = orrery.correlate(measured, gpu="h200", model="analytic", script="saxpy", size="small")
        self.assertIn("saxpy", c.csv)

    def test_lists(self):
        self.assertIn("saxpy", [w["name"] for w in orrery.workloads()])
        self.assertIn("h200", [g["name"] for g in orrery.gpus()])
        self.assertEqual(orrery.triton._capability("h200"), 90)


class Arrays(unittest.TestCase):
    def test_array(self):
        x, y = array.array("f", range(1000)), array.array("f", [1] * 1000)
        run = orrery.launch(SAXPY + ".ptx", "saxpy", 4, 256, [1000, 2.5, x, y], gpu="h200", model="functional")
        self.assertEqual(list(y), [2.5 * i + 1 for i in range(1000)])
        self.assertEqual(run.launches[0]["grid"], [4, 1, 1])
        with open(SAXPY + ".ptx", "rb") as file:
            orrery.launch(file.read(), "saxpy", 4, 256, [1000, 0.0, x, y], model="functional")
        self.assertEqual(y[3], 8.5)
        with self.assertRaises(TypeError):
            orrery.launch(SAXPY + ".ptx", "saxpy", 1, 32, ["text"])

    @unittest.skipUnless(numpy, "numpy is not there (Debian: python3-numpy)")
    def test_numpy(self):
        x, y = numpy.arange(4096, dtype="f4"), numpy.ones(4096, "f4")
        run = orrery.run(SAXPY + ".cubin", kernel="saxpy", grid=16, block=256, gpu="h200",
                         args=[numpy.int32(4096), numpy.float32(2.5), x, y])
        self.assertTrue((y == numpy.float32(2.5) * x + 1).all())
        self.assertGreater(run.time_ns, 0)
        with self.assertRaises(ValueError):
            orrery.launch(SAXPY + ".ptx", "saxpy", 1, 32, [1, 1.0, x[::2], y])

    @unittest.skipUnless(pandas, "pandas is not there (Debian: python3-pandas)")
    def test_pandas(self):
        frame = orrery.sweep("saxpy", vary={"sm.count": "66,132"}, model="analytic").frame()
        self.assertEqual(list(frame["set.sm.count"]), [66, 132])


class Notebook(unittest.TestCase):
    @unittest.skipUnless(nbformat, "Jupyter is not there (Debian: python3-nbconvert, python3-ipykernel)")
    def test_pages_in_a_notebook(self):
        cells = [f"import sys; sys.path.insert(0, {sys.path[0]!r})\nimport orrery\nrun = orrery.run('saxpy')\nrun",
                 "run.cycles", "orrery.explain('saxpy', set={'n': 4096})"]
        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
        nbconvert.preprocessors.ExecutePreprocessor(timeout=300).preprocess(book)
        shown = [c.outputs[-1]["data"] for c in book.cells]
        page = shown[0]["text/html"]  # a page of its own in a frame, so that its style stays in there
        self.assertTrue(page.startswith("<iframe srcdoc="))
        self.assertIn(f"&quot;cycles&quot;: {shown[1]['text/plain']},", page)
        self.assertIn("explain", shown[2]["text/html"])
        html = nbconvert.HTMLExporter().from_notebook_node(book)[0]
        self.assertIn("&lt;title&gt;Orrery: a run&lt;/title&gt;", html)


class Triton(unittest.TestCase):
    """The parts that need no Triton; with it, python/examples/triton_autotune.py."""

    class Kernel:
        arg_names = ["x", "out", "n", "BLOCK"]

    @unittest.skipUnless(numpy, "numpy is not there")
    def test_types(self):
        x = numpy.zeros(8, "f2")
        bound = orrery.triton._bind(self.Kernel, [x, x, 16], {"BLOCK": 64})
        self.assertEqual([orrery.triton._type_of(v) for v in bound.values()], ["*fp16", "*fp16", "i32"])
        self.assertEqual([orrery.triton._divisible(v) for v in (x, 16, 17, True)], [True, True, False, False])
        with self.assertRaises(TypeError):
            orrery.triton._bind(self.Kernel, [x], {"BLOCK": 64})


if __name__ == "__main__":
    unittest.main()
