"""The verbs and options in elect's help, for comparison with other texts."""

import functools
import re
import shlex

from .elect_command import run

TABLE = re.compile(r"^  (?:(-[A-Za-z]), |    )(--[a-z-]+)( [^ \n]+)?", re.M)
# Options in any text: --long, or -s on its own.
NAMED = re.compile(r"(?<![\w-])(--[a-z]+(?:-[a-z]+)*|-[A-Za-z](?![\w-]))")
LISTED = re.compile(r"^  ([a-z][a-z-]*) ", re.M)


@functools.cache
def help_of(verb=None):
    return run("help", verb).stdout if verb else run("--help").stdout


@functools.cache
def verbs():
    return LISTED.findall(help_of())


@functools.cache
def options(verb):
    """Returns the options in the table of this verb's help. The verbs help and version have no table: they take the options in
    elect's usage and those that all verbs share."""
    if verb in ("help", "version"):
        return set(NAMED.findall(help_of())) | options("status")
    return {name for *names, value in TABLE.findall(help_of(verb)) for name in names if name}


def valued(verb, option):
    return any(option in names and value for *names, value in TABLE.findall(help_of(verb)))


def wrong(line):
    """Returns the errors in a document's elect command line: verbs and options that do not exist."""
    try:
        words = shlex.split(line.replace("…", ""), comments=True)
    except ValueError as error:
        return [str(error)]
    words = words[1:words.index("--")] if "--" in words else words[1:]
    if not words or words == ["--version"]:
        return []
    before = 0
    while before < len(words) and words[before].startswith("-"):
        before += 2 if valued("status", words[before]) else 1
    verb = words[before] if before < len(words) else "help"
    if verb not in verbs():
        return [f"there is no verb {verb}"]
    given = [NAMED.match(word) for word in words]
    return [f"elect {verb} has no {name[1]}" for name in given if name and name[1] not in options(verb)]
