"""Parses and formats the lines of a daemon's log, key=value, as described in docs/formats.md."""

import json
import re

PAIR = re.compile(r'([a-z]+)=("(?:[^"\\]|\\.)*"|[A-Za-z0-9._:/-]+)(?: |$)')


def parse(line):
    """Returns the keys and values of a line as strings, or None if it is not a log line."""
    found, at = {}, 0
    while at < len(line):
        pair = PAIR.match(line, at)
        if pair is None or pair[1] in found:
            return None
        found[pair[1]] = json.loads(pair[2]) if pair[2].startswith('"') else pair[2]
        at = pair.end()
    return found if "level" in found and "text" in found else None


def written(entry):
    """Formats the entry as a log line."""
    def value(text):
        bare = re.fullmatch(r"[A-Za-z0-9._:/-]+", text)
        escapes = {"\x08": "\\b", "\x0c": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}
        return text if bare else '"' + re.sub(r'[\x00-\x1f"\\]', lambda c: escapes.get(c[0], f"\\u{ord(c[0]):04X}"), text) + '"'
    return " ".join(f"{key}={value(text)}" for key, text in entry.items())


def prose(line):
    """Formats a log line as `elect history` prints it. Returns any other line unchanged."""
    entry = parse(line)
    if entry is None:
        return line
    labels = "".join(f"{entry[key]}: " for key in ("group", "hook") if key in entry)
    cause = f" ({entry['cause']})" if "cause" in entry else ""
    return f"{entry['time']} {entry['level']:7} {labels}{entry['text']}{cause}"
