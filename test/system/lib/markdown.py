"""Reads Markdown documents: fences, prose and headings in order, links, and text in backticks."""

import pathlib
import re
import textwrap

FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.M | re.S)
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
FOLDERS = ("src", "test", "docs", "tools", "bench", "include", "examples", "packaging")


def documents(root):
    """Returns the tree's documents, except those in build folders and hidden folders."""
    for path in sorted(pathlib.Path(root).rglob("*.md")):
        first = path.relative_to(root).parts[0]
        if not first.startswith((".", "build")):
            yield path


def parts(text):
    """Yields the parts of a document in order: ("heading", text), ("prose", text), or (language, text) for a fenced block,
    where the language may be ""."""
    at = 0
    for fence in [*FENCE.finditer(text), None]:
        for piece in re.split(r"^(#+ .*)$", text[at:fence.start() if fence else len(text)], flags=re.M):
            yield "heading" if piece.startswith("#") else "prose", piece
        if fence:
            yield fence[2], textwrap.dedent(fence[3])
            at = fence.end()


def headings(text):
    """Yields the anchors of the headings."""
    seen = {}
    for kind, piece in parts(text):
        if kind == "heading":
            slug = re.sub(r"[^\w -]", "", re.sub(r"^#+ ", "", piece).strip().lower()).replace(" ", "-")
            seen[slug] = seen.get(slug, -1) + 1
            yield slug if seen[slug] == 0 else f"{slug}-{seen[slug]}"


def prose(text):
    return FENCE.sub("", text)


def broken_links(path):
    for target in LINK.findall(prose(path.read_text())):
        file, _, anchor = target.partition("#")
        there = path.parent / file if file else path
        if re.match(r"[a-z]+:", target):
            continue
        if not there.exists():
            yield target
        elif anchor and anchor not in headings(there.read_text()):
            yield target


def backticks(text):
    return [" ".join(words.split()) for words in re.findall(r"`([^`]+)`", prose(text))]


def lost_files(root, path):
    """Yields each path in backticks that looks like a file of the tree but does not exist."""
    for word in backticks(path.read_text()):
        of_the_tree = re.fullmatch(rf"(?:{'|'.join(FOLDERS)})/[\w./*-]+", word)
        if of_the_tree and not list(pathlib.Path(root).glob(word.rstrip("/"))):
            yield word
