#!/usr/bin/env python3
"""Is there a key of descriptions that nobody reads? Used by tests/test_layers.sh; needs nothing but Python.

    check_keys.py [ROOT]      every parameter of src/gpu/params.def
    check_keys.py --self-test whether it finds what it is to find

A parameter is read where its member of orr_gpu is named (`g->l2_ways`), anywhere in src/ but in the table itself. A key that
accepts one value only (lo and hi are the same) has been read when that was checked.
"""
import os
import re
import sys


def parameters(table):
    """Key and member of each PARAM that accepts more than one value."""
    for kind, key, field, rest in re.findall(r'^PARAM\((\w+),\s*"([^"]+)",\s*(\w+),(.*)$', table, re.M):
        limits = re.match(r'\s*"[^"]*",\s*([^,]+),\s*([^,]+),', rest)
        if kind in ("ENUM", "BOOL") or limits.group(1) != limits.group(2):
            yield key, field


def unread(table, code):
    named = set(re.findall(r"(?:->|\.)(\w+)", code))
    return [key for key, field in parameters(table) if field not in named]


def self_test():
    table = 'PARAM(INT, "a.b", a_b, "", 1, 2, "1", "x")\nPARAM(SIZE, "c", c_c, "B", 128, 128, "128", "x")\n'
    table += 'PARAM(BOOL, "d", d_d, "", 0, 1, "no", "x")\n'
    assert unread(table, "g->a_b + g.d_d") == []
    assert unread(table, "a_b + g->d_d") == ["a.b"]
    assert unread(table, "g->a_b") == ["d"]


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    source = os.path.join(sys.argv[1] if len(sys.argv) > 1 else ".", "src")
    with open(os.path.join(source, "gpu", "params.def"), encoding="utf-8") as f:
        table = f.read()
    code = []
    for here, _, names in os.walk(source):
        for name in names:
            if name.endswith((".c", ".h")):
                with open(os.path.join(here, name), encoding="utf-8") as f:
                    code.append(f.read())
    keys = unread(table, "\n".join(code))
    for key in keys:
        print(f"src/gpu/params.def: {key}: no model reads it; delete it, and name it in renamed.def")
    return 1 if keys else 0


if __name__ == "__main__":
    sys.exit(main())
