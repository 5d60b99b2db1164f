#!/usr/bin/env python3
"""Finds async functions of an x86-64 binary with accesses beyond the context that their callers allocate.

Usage: Scripts/frames.py BINARY

swiftlang/swift#91639: the compiler reserves too few bytes for an async function that keeps a vector of more than 16 bytes. The
size of a context is in the function's async function pointer, the symbol with the suffix Tu. The parts of the function (the
entry, and the suffixes TQn_ and TYn_) receive the context in r14, or as the first word of the callee's context in r14. The script
follows it through registers and the stack, and compares each access by a constant offset. Accesses by passed pointers are not
followed: a finding proves a fault, no finding proves nothing. Symbols and instructions are listed by llvm-nm and llvm-objdump of
the toolchain; a release binary takes 30 s. Exit status: 1 with a finding, 0 without one and on other processors.
"""
import collections
import os
import platform
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

HEADER = re.compile(r"^([0-9a-f]{16}) <(.+)>:$")
INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\s+(\S+)\s*(.*)$")
MEMORY = re.compile(r"(-?(?:0x[0-9a-f]+|\d+)?)\(%(r[a-z0-9]+)(,%[a-z0-9]+(?:,\d)?)?\)")
PART = re.compile(r"^(.*?)T([QY])\d+_$")
KEPT = ("cmp", "test", "push", "j", "nop", "ret", "bt", "ucomis", "comis")
VOLATILE = ["rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11"]
REGISTER = {}
for name in ["ax", "bx", "cx", "dx", "si", "di", "bp", "sp"]:
    short = [name[0] + "l", name[0] + "h"] if name[1] == "x" else [name + "l"]
    REGISTER.update({one: "r" + name for one in ["r" + name, "e" + name, name, *short]})
for number in range(8, 16):
    REGISTER.update({f"r{number}{end}": f"r{number}" for end in ["", "d", "w", "b"]})


def tool(name: str) -> str:
    """The program beside the compiler, or the one of the path."""
    swift = shutil.which(os.environ.get("SWIFT", "swift"))
    beside = Path(swift).resolve().with_name(name) if swift else Path(name)
    return str(beside) if beside.exists() else name


def contexts(binary: str) -> tuple[dict, dict]:
    """The size and the entry of each async function, and the names at each address."""
    file = open(binary, "rb")
    head = file.read(64)
    file.seek(struct.unpack_from("<Q", head, 32)[0])
    count = struct.unpack_from("<H", head, 56)[0]
    table = file.read(56 * count)
    segments = [struct.unpack_from("<IIQQQQ", table, 56 * number) for number in range(count)]
    names, sizes = collections.defaultdict(list), {}
    for line in subprocess.run([tool("llvm-nm"), binary], capture_output=True, text=True, check=True).stdout.splitlines():
        if len(words := line.split()) != 3:
            continue
        address = int(words[0], 16)
        names[address].append(words[2])
        if words[2].endswith("Tu"):
            for kind, _, offset, start, _, length in segments:
                if kind == 1 and start <= address < start + length:
                    file.seek(offset + address - start)
                    relative, size = struct.unpack("<iI", file.read(8))
                    sizes[words[2][:-2]] = (size, address + relative)
    return sizes, names


def width(operation: str) -> int:
    if operation.startswith(("movz", "movs")) and operation not in ("movsd", "movss"):
        return {"b": 1, "w": 2, "l": 4}.get(operation[4], 8)
    if operation.startswith(("movup", "movap", "movdq")):
        return 16
    return {"l": 4, "w": 2, "b": 1}.get(operation[-1], 4 if operation == "movss" else 8)


def step(state: dict, operation: str, text: str, report) -> None:
    """Follows the context through an instruction. `state` has the offset of each register or place that points into it."""
    if report and operation != "leaq":
        for found in MEMORY.finditer(text):
            base = state.get(REGISTER.get(found[2]))
            if type(base) is int and not found[3]:
                report(base + int(found[1] or "0", 0) + width(operation))
    operands = [one.strip() for one in re.split(r",\s*(?![^(]*\))", text)]
    target, source = operands[-1], operands[0] if len(operands) > 1 else ""

    def put(key, value) -> None:
        state.pop(key, None) if value is None else state.update({key: value})

    if operation.startswith("call"):
        for register in VOLATILE:
            state.pop(register, None)
    elif operation.startswith("xchg"):
        for one in operands:
            state.pop(REGISTER.get(one[1:]), None)
    elif operation.startswith(KEPT):
        pass
    elif not target.startswith("%"):
        place = MEMORY.fullmatch(target)
        if place and REGISTER.get(place[2]) in ("rbp", "rsp"):
            whole = operation == "movq" and source.startswith("%")
            put((REGISTER[place[2]], int(place[1] or "0", 0)), state.get(REGISTER.get(source[1:])) if whole else None)
    else:
        register, value, place = REGISTER.get(target[1:]), None, MEMORY.fullmatch(source)
        base = state.get(REGISTER.get(place[2])) if place and not place[3] else None
        offset = int(place[1] or "0", 0) if place else 0
        if operation == "movq" and source.startswith("%"):
            value = state.get(REGISTER.get(source[1:]))
        elif operation == "movq" and base == "callee" and offset == 0:
            value = 0
        elif operation == "movq" and place and REGISTER.get(place[2]) in ("rbp", "rsp"):
            value = state.get((REGISTER[place[2]], offset))
        elif operation == "leaq" and type(base) is int:
            value = base + offset
        elif operation == "addq" and source.startswith("$") and type(state.get(register)) is int:
            value = state[register] + int(source[1:], 0)
        put(register, value)


def reach(kind: str, code: list) -> int:
    """The end of the furthest access to the context in a part of a function."""
    places = {address: number for number, (address, _, _) in enumerate(code)}

    def goal(text: str):
        return places.get(int(found[1], 16)) if (found := re.match(r"0x([0-9a-f]+)", text)) else None

    starts = {0}
    for number, (_, operation, text) in enumerate(code):
        if operation.startswith("j"):
            starts |= {number + 1, goal(text)}
    starts = sorted(one for one in starts if one is not None and one < len(code))
    ends = dict(zip(starts, [*starts[1:], len(code)]))
    known, work, furthest = {0: {"r14": "callee" if kind == "Q" else 0}}, [0], 0

    def run(block: int, report=None) -> tuple[dict, list]:
        state = dict(known[block])
        for _, operation, text in code[block:ends[block]]:
            step(state, operation, text, report)
        _, operation, text = code[ends[block] - 1]
        following = [goal(text)] if operation.startswith("j") else []
        if not operation.startswith(("jmp", "ret", "ud2")):
            following.append(ends[block])
        return state, [one for one in following if one in ends]

    while work:
        state, following = run(work.pop())
        for block in following:
            before = known.get(block)
            after = dict(state) if before is None else {key: value for key, value in before.items() if state.get(key) == value}
            if after != before:
                known[block] = after
                work.append(block)

    def report(end: int) -> None:
        nonlocal furthest
        furthest = max(furthest, end)

    for block in known:
        run(block, report)
    return furthest


def main() -> int:
    if platform.machine() != "x86_64":
        print(f"frames: not checked on {platform.machine()}")
        return 0
    sizes, names = contexts(sys.argv[1])
    entries = {entry: name for name, (_, entry) in sizes.items()}

    def part(address: int):
        for name in names.get(address, []):
            if (found := PART.match(name)) and found[1] in sizes:
                return found[1], found[2]
        return (entries[address], "entry") if address in entries else None

    furthest, current, code, parts = collections.Counter(), None, [], 0
    command = [tool("llvm-objdump"), "-d", "--no-show-raw-insn", "-j", ".text", sys.argv[1]]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, bufsize=1 << 20) as listing:
        for line in listing.stdout:
            if found := HEADER.match(line):
                if current and code:
                    furthest[current[0]] = max(furthest[current[0]], reach(current[1], code))
                current, code = part(int(found[1], 16)), []
                parts += current is not None
            elif current and (found := INSTRUCTION.match(line)):
                code.append((int(found[1], 16), found[2], found[3].split(" # ")[0].split("<")[0].strip()))
    if current and code:
        furthest[current[0]] = max(furthest[current[0]], reach(current[1], code))
    faults = sorted((name, end) for name, end in furthest.items() if end > sizes[name][0])
    for name, end in faults:
        print(f"{name}: its context has {sizes[name][0]} bytes, and it uses {end}")
    print(f"frames: {len(sizes)} async functions in {parts} parts, {len(faults)} with a fault")
    return 1 if faults or not parts else 0


if __name__ == "__main__":
    sys.exit(main())
