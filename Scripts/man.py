#!/usr/bin/env python3
"""Prints the man page of a binary, made of its help.

Usage: Scripts/man.py BINARY
"""
import re
import subprocess
import sys


def told(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def escaped(text: str) -> str:
    return re.sub(r"^([.'])", r"\\&\1", text.replace("\\", "\\e").replace("-", "\\-"), flags=re.M)


def block(text: str) -> str:
    return f".nf\n{escaped(text)}\n.fi"


def commands(text: str) -> list[str]:
    lines = text.split("SUBCOMMANDS:")[1].split("\n") if "SUBCOMMANDS:" in text else []
    return [found[1] for line in lines if (found := re.match(r"  ([a-z][a-z-]*)(\s|$)", line))]


def main() -> None:
    binary = sys.argv[1]
    helped = told(binary, "--help")
    version = told(binary, "--version").strip()
    abstract = re.search(r"OVERVIEW: (.*)", helped)[1].rstrip(".")
    print(f'.TH ROUTERD 1 "" "routerd {version}" "User Commands"')
    print(f".SH NAME\nrouterd \\- {escaped(abstract)}")
    print(f".SH SYNOPSIS\n.B routerd\n.I command\n[\\fIoptions\\fR]\n.SH DESCRIPTION\n{block(helped)}")
    print(".SH COMMANDS")
    waiting = [[name] for name in commands(helped)]
    while waiting:
        words = waiting.pop(0)
        text = told(binary, *words, "--help")
        print(f".SS routerd {escaped(' '.join(words))}\n{block(text)}")
        waiting = [words + [name] for name in commands(text)] + waiting
    print(".SH FILES\n.I /etc/routerd/routerd.yaml\n.br\n.I /var/lib/routerd/routerd.sqlite")


if __name__ == "__main__":
    main()
