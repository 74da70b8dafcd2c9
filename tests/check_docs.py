#!/usr/bin/env python3
"""Are the pages of docs/ whole? Used by tests/test_docs.sh and `./run docs`; needs nothing but Python.

    check_docs.py [ROOT]            every page of docs/, and the Markdown files at the root
    check_docs.py --site FOLDER     the HTML that mkdocs made of them

Markdown: each link leads to a file and to a heading that are there, whether GitHub or mkdocs makes the anchor; each page is
in the navigation of mkdocs.yml, and what that names exists; no line has more than 120 characters but rows of tables; no folder
has more words than people read. What code and descriptions name of docs/ (a page, and behind a comma its section) is there.
HTML: each link of a page leads to a file and to an id that are there.
"""
import html.parser
import os
import posixpath
import re
import sys
import unicodedata
import urllib.parse

WIDTH = 120
# The most words of a folder's pages or of a page, without what is generated: a little more than there are. Docs that grow are not
# read to their end: say it in fewer words, or take out what nobody needs any more. History belongs into the commit's message.
WORDS = {
    "README.md": 1000,
    "docs/archive": 15500,
    "docs/guides": 13600,
    "docs/how": 24500,
    "docs/reference": 16000,
    "docs/tutorials": 2500,
}
GENERATED = re.compile(r"<!-- (?:figure|command): .*?<!-- end -->", re.S)
# Where code cites docs/, and what of it: a page, and the beginning of a heading.
CITING = ("bench", "gpus", "hardware", "include", "micro", "python", "src")
CITED = re.compile(r"\b(docs/[\w/.-]+\.md)(?:, [\"*]?([A-Z][^).;|\"*]*))?")
LINK = re.compile(r"\[(?:[^][]|\[[^][]*\])*\]\(([^()\s]+)(?:\s+\"[^\"]*\")?\)")
problems = []


def complain(path, line, what):
    problems.append(f"{path}:{line}: {what}" if line else f"{path}: {what}")


def plain(heading):
    """A heading as a reader sees it: code and links are their text."""
    heading = re.sub(r"\[([^][]*)\]\([^()]*\)", r"\1", heading)
    return heading.replace("`", "").replace("*", "").strip().rstrip("#").strip()


def github_anchor(text):
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def mkdocs_anchor(text):
    text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", text).strip().lower())


class Page:
    """A Markdown file: its anchors as either tool makes them, and its links with their lines."""

    def __init__(self, root, path):
        self.path, self.github, self.mkdocs, self.links, self.headings = path, set(), set(), [], []
        fence = None
        with open(os.path.join(root, path), encoding="utf-8") as f:
            text = f.read()
        lines, self.words = text.split("\n"), len(GENERATED.sub("", text).split())
        for number, line in enumerate(lines, 1):
            if len(line) > WIDTH and not line.lstrip().startswith("|"):
                complain(path, number, f"{len(line)} characters; {WIDTH} at most, but for rows of tables")
            mark = re.match(r"\s*(```+|~~~+)", line)
            if mark and (fence is None or line.strip().startswith(fence)):
                fence = None if fence else mark.group(1)
                continue
            if fence:
                continue
            heading = re.match(r"#{1,6} +(.*)", line)
            if heading:
                text = plain(heading.group(1))
                self.headings.append(text)
                self.add(self.github, github_anchor(text), "-")
                self.add(self.mkdocs, mkdocs_anchor(text), "_")
            for anchor in re.findall(r"<a (?:id|name)=\"([^\"]+)\"", line):
                self.github.add(anchor)
                self.mkdocs.add(anchor)
            for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
                self.links.append((number, target))

    @staticmethod
    def add(anchors, anchor, joint):
        again, n = anchor, 0
        while again in anchors:
            n += 1
            again = f"{anchor}{joint}{n}"
        anchors.add(again)


def pages(root):
    found = [f for f in sorted(os.listdir(root)) if f.endswith(".md")]
    for folder, _, names in os.walk(os.path.join(root, "docs")):
        found += [posixpath.join(os.path.relpath(folder, root), n) for n in sorted(names) if n.endswith(".md")]
    return {path: Page(root, path) for path in found}


def check_links(root, all_pages):
    for page in all_pages.values():
        for line, target in page.links:
            if re.match(r"[a-z][a-z+.-]*:", target):
                continue
            path, _, anchor = target.partition("#")
            path = posixpath.normpath(posixpath.join(posixpath.dirname(page.path), urllib.parse.unquote(path))) if path else page.path
            if not os.path.exists(os.path.join(root, path)):
                complain(page.path, line, f"{target}: there is no {path}")
            elif page.path.startswith("docs/") and not path.startswith("docs/"):
                complain(page.path, line, f"{target} leads out of docs/, where the HTML does not go; name it without a link")
            elif anchor:
                there = all_pages.get(path)
                if not there or anchor not in there.github:
                    complain(page.path, line, f"{target}: {path} has no heading that GitHub would call #{anchor}")
                elif anchor not in there.mkdocs:
                    complain(page.path, line, f"{target}: {path} has no heading that mkdocs would call #{anchor}")


def check_navigation(root, all_pages):
    with open(os.path.join(root, "mkdocs.yml"), encoding="utf-8") as f:
        named = re.findall(r"([\w/.-]+\.md)\s*$", f.read(), re.M)
    for name in named:
        if "docs/" + name not in all_pages:
            complain("mkdocs.yml", 0, f"there is no docs/{name}")
    linked = {posixpath.normpath(posixpath.join("docs", posixpath.dirname(p.path)[5:], t.partition("#")[0]))
              for p in all_pages.values() if p.path.startswith("docs/") for _, t in p.links}
    for path in all_pages:
        if path.startswith("docs/") and path[5:] not in named and path not in linked:
            complain(path, 0, "no page leads here, nor does the navigation in mkdocs.yml")


def check_words(all_pages):
    for place, most in WORDS.items():
        words = sum(p.words for path, p in all_pages.items() if path == place or path.startswith(place + "/"))
        if words > most:
            complain(place, 0, f"{words} words, {most} at most (without generated tables): shorten a page of it before you add to it")


def check_citations(root, all_pages):
    for folder in CITING:
        for at, _, names in os.walk(os.path.join(root, folder)):
            for name in names:
                path = os.path.relpath(os.path.join(at, name), root)
                try:
                    with open(os.path.join(root, path), encoding="utf-8") as f:
                        lines = f.read().split("\n")
                except UnicodeDecodeError:
                    continue
                for number, line in enumerate(lines, 1):
                    for page, section in CITED.findall(line):
                        there = all_pages.get(page)
                        section = section.strip()
                        if not there:
                            complain(path, number, f"there is no {page}")
                        elif section and not any(section.startswith(h) or h.startswith(section) for h in there.headings):
                            complain(path, number, f"{page} has no section \"{section}\"")


class Html(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.ids, self.links = set(), []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        for name in ("id", "name"):
            if attrs.get(name):
                self.ids.add(attrs[name])
        for name in ("href", "src"):
            if attrs.get(name):
                self.links.append(attrs[name])


def check_site(folder):
    site = {}
    for at, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".html") and name != "404.html":
                path = os.path.join(at, name)
                site[path] = Html()
                with open(path, encoding="utf-8") as f:
                    site[path].feed(f.read())
    if not site:
        complain(folder, 0, "no pages")
    for path, page in site.items():
        for link in page.links:
            if re.match(r"[a-z][a-z+.-]*:|//", link):
                continue
            target, _, anchor = link.partition("#")
            target = urllib.parse.unquote(target.partition("?")[0])
            target = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
            if os.path.isdir(target):
                target = os.path.join(target, "index.html")
            if not os.path.exists(target):
                complain(path, 0, f"{link} leads nowhere")
            elif anchor and target in site and anchor not in site[target].ids and anchor != "":
                complain(path, 0, f"{link}: no such place in {target}")


def main(args):
    if args[:1] == ["--site"]:
        check_site(args[1])
    else:
        root = args[0] if args else "."
        all_pages = pages(root)
        check_links(root, all_pages)
        check_navigation(root, all_pages)
        check_words(all_pages)
        check_citations(root, all_pages)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
