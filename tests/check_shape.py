#!/usr/bin/env python3
"""Is the code still in pieces that are read at a glance? Used by tests/test_layers.sh; needs nothing but Python.

    check_shape.py [ROOT]           every .c and .h below src/ and include/
    check_shape.py --self-test      whether it finds what it is to find

Yardsticks (docs/how/design.md, section 2): a function has at most 80 lines and six parameters, a struct 30 members. What has
another's shape is left out: functions that CUDA, NCCL, OpenCL and MPI define, and CUDA's structs (src/app/abi.h). So are
tables, and functions that a macro names. The code is laid out by clang-format, and read line by line accordingly.
"""
import os
import re
import sys

LINES, PARAMETERS, MEMBERS = 80, 6, 30
NOT_OURS = re.compile(r"(orr_)?_*(cu[A-Z]|cuda[A-Z]|nccl[A-Z]|cl_cl[A-Z]|layer_cl[A-Z]|counted_)")
NOT_OUR_STRUCTS = {"src/app/abi.h"}


def plain(text):
    """Without comments, texts and preprocessor lines; lines stay where they are."""
    out, at = [], 0
    for m in re.finditer(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', text, re.S):
        out.append(text[at : m.start()])
        out.append('""' if m.group()[0] in "\"'" else "\n" * m.group().count("\n"))
        at = m.end()
    text = "".join(out) + text[at:]
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: "\n" * m.group().count("\n"), text, flags=re.M)


def behind(text, at):
    """Where the bracket that opens at `at` has closed."""
    depth = 0
    for at in range(at, len(text)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if not depth:
            return at + 1
    return len(text)


def parts(text, separators):
    """How many parts of `text` end with one of `separators`, outside of brackets."""
    n = depth = 0
    for c in text:
        depth += (c in "([{") - (c in ")]}")
        n += not depth and c in separators
    return n


def findings(path, text):
    text = plain(text)
    line_of = lambda at: text.count("\n", 0, at) + 1  # noqa: E731
    # A definition or declaration begins at the left margin with its type; what a macro makes begins with capitals.
    for m in re.finditer(r"^(?!typedef\b|struct \w+ \{|enum\b|union\b)[a-z_][^:;={}()]*?[\s*](\w+)\(", text, re.M):
        end = behind(text, m.end() - 1)
        rest = re.match(r"\s*(?:__attribute__\s*\(\(.*?\)\)\s*)*([{;])", text[end:], re.S)
        if not rest or NOT_OURS.match(m.group(1)) or m.group(1) == "__attribute__":
            continue
        inner = text[m.end() : end - 1].strip()
        n = parts(inner, ",") + (inner not in ("", "void"))
        if n > PARAMETERS:
            yield path, line_of(m.start()), f"{m.group(1)} has {n} parameters; at most {PARAMETERS}"
        if rest.group(1) == "{":
            start = end + rest.end() - 1
            n = line_of(behind(text, start)) - line_of(m.start()) + 1
            if n > LINES:
                yield path, line_of(m.start()), f"{m.group(1)} has {n} lines; at most {LINES}"
    for m in re.finditer(r"\b(?:struct|union)\s*(\w*)\s*\{", text):
        end = behind(text, m.end() - 1)
        n = parts(text[m.end() : end - 1], ";,")
        name = m.group(1) or (re.match(r"\s*(\w*)", text[end:]).group(1))
        if n > MEMBERS and path not in NOT_OUR_STRUCTS:
            yield path, line_of(m.start()), f"struct {name} has {n} members; at most {MEMBERS}"


def self_test():
    def said(text):
        return [what for _, _, what in findings("a.c", text)]

    long = "static int f(int a) {\n" + "    a++; // }\n" * LINES + "}\n"
    assert said(long) == [f"f has {LINES + 2} lines; at most {LINES}"], said(long)
    assert said(long.replace("    a++; // }\n", "", 2)) == []
    assert said("int g(int a, int b[2], void (*c)(int, int), int d, int e, int f);\n") == []
    assert said("int g(int a, int b, int c, int d, int e, int f,\n      int g) {\n}\n") == ["g has 7 parameters; at most 6"]
    assert said("int cuLaunch(int a, int b, int c, int d, int e, int f, int g);\n") == []
    assert said("#define F(a) \\\n    int f(int a, int b, int c, int d, int e, int f, int g);\n") == []
    members = "typedef struct s {\n" + "    int a, b;\n" * (MEMBERS // 2) + "%s} s;\n"
    assert said(members % "") == []
    assert said(members % "    int c; // one more\n") == [f"struct s has {MEMBERS + 1} members; at most {MEMBERS}"]


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    wrong = 0
    for folder in ("src", "include"):
        for here, _, names in os.walk(os.path.join(root, folder)):
            for name in sorted(names):
                if not name.endswith((".c", ".h")):
                    continue
                file = os.path.join(here, name)
                with open(file, encoding="utf-8") as f:
                    for path, line, what in findings(os.path.relpath(file, root), f.read()):
                        print(f"{path}:{line}: {what}")
                        wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
