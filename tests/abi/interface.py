"""Compares duet.h with what it was when interface.txt was written: programs that were compiled then must
run with a library of today.

    interface.py HEADER             says what has changed, each in a line, and fails where anything has
    interface.py HEADER --update    writes interface.txt anew, for changes that are meant

The lines of interface.txt are declarations in C, with the sizes, offsets and numbers that the compiler
gives. Of a change abidiff (Debian: abigail-tools) says in its own words what it is, where it is installed.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

BASELINE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "interface.txt")
AT = re.compile(r"  at (\d+): (.*)")


def run(*words, **options):
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True, **options).stdout


def declarations(header):
    """The header's declarations, in its order, each in a line without comments."""
    # Lines `# 12 "file"` say which file the next ones are of.
    own, lines = False, []
    for line in run("cc", "-std=c99", "-E", header).splitlines():
        mark = re.match(r'# \d+ "(.*?)"', line)
        if mark:
            own = mark.group(1) == header
        elif own:
            lines.append(line)
    text = re.sub(r"__attribute__\(\(.*?\)\)+", "", " ".join(lines))
    text = re.sub(r"\s+", " ", text)
    found, depth, begin = [], 0, 0
    for at, letter in enumerate(text):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == ";" and depth == 0:
            found.append(text[begin:at].strip())
            begin = at + 1
    return found


def field_name(field):
    function = re.search(r"\(\*(\w+)\)", field)
    return function.group(1) if function else re.search(r"(\w+)(\[\d+\])?$", field).group(1)


def parts(declaration):
    """What a declaration becomes: lines, of which {} is a number, and the expression that gives it."""
    enum = re.match(r"enum \{(.*)\}$", declaration)
    if enum:
        names = [one.split("=")[0].strip() for one in enum.group(1).split(",") if one.strip()]
        return [(f"number {name} = {{}}", f"(long){name}") for name in names]
    struct = re.match(r"typedef struct (\w+) ?\{(.*)\} ?(\w+)$", declaration)
    if struct:
        name, fields = struct.group(1), [one.strip() for one in struct.group(2).split(";") if one.strip()]
        return [(f"struct {name}: {{}} bytes", f"(long)sizeof({name})"),
                *((f"  at {{}}: {field}", f"(long)offsetof({name}, {field_name(field)})") for field in fields)]
    kind = "type" if declaration.startswith("typedef ") else "function"
    return [(f"{kind}: {declaration}", None)]


def described(header):
    """The lines of interface.txt."""
    lines = [part for declaration in declarations(header) for part in parts(declaration)]
    numbers = [number for _, number in lines if number is not None]
    with tempfile.TemporaryDirectory() as folder:
        source, binary = os.path.join(folder, "a.c"), os.path.join(folder, "a")
        with open(source, "w") as file:
            file.write(f'#include "{header}"\n#include <stdio.h>\nint main(void) {{\n' +
                       "".join(f'printf("%ld\\n", {number});\n' for number in numbers) + "return 0; }\n")
        run("cc", "-std=c99", "-o", binary, source)
        values = iter(run(binary).split())
    return [line if number is None else line.replace("{}", next(values), 1) for line, number in lines]


def keyed(lines):
    """Each line by what it is about, so that a change has one line."""
    found, struct = {}, ""
    for line in lines:
        at = AT.match(line)
        if line.startswith("struct "):
            struct = line.split(":")[0]
        key = f"{struct}.{field_name(at.group(2))}" if at else re.split(r" = |: \d", line)[0]
        if line.startswith("function: "):
            key = re.search(r"(duet_\w+)\(", line).group(1)
        found[key] = line.strip()
    return found


def differences(before, now):
    """Lines that say what has changed, and whether programs that were compiled before still run."""
    old, new = keyed(before), keyed(now)
    said, breaks = [], False
    for key, line in old.items():
        size = re.fullmatch(r"struct \w+", key) is not None
        if key not in new:
            said.append(f"removed: {line}")
        elif new[key] != line:
            said.append(f"changed: {key}: {line} -> {new[key]}")
        else:
            continue
        breaks = breaks or not size or key not in new
    return said + [f"added: {key}: {line}" for key, line in new.items() if key not in old], breaks


def stub(lines, folder, name):
    """A library of the declarations, for abidiff."""
    text, ends = ["#include <stddef.h>", "#include <stdint.h>"], ""
    for line in lines:
        at = AT.match(line)
        if ends and not at:
            text.append(ends)
            ends = ""
        if at:
            text.append(f"  {at.group(2)};")
        elif line.startswith("struct "):
            struct = line.split(":")[0].split()[1]
            text.append(f"typedef struct {struct} {{")
            ends = f"}} {struct};"
        elif line.startswith("number "):
            text.append(f"enum {{ {line[len('number '):]} }};")
        elif line.startswith("type: "):
            text.append(line[len("type: "):] + ";")
        else:
            declared = line[len("function: "):]
            result = "" if declared.startswith("void duet") else " return 0;"
            text.append(f"{declared} {{{result} }}")
    source, library = os.path.join(folder, name + ".c"), os.path.join(folder, name + ".so")
    with open(source, "w") as file:
        file.write("\n".join(text + [ends]) + "\n")
    run("cc", "-std=c99", "-g", "-w", "-shared", "-fPIC", "-o", library, source)
    return library


def abidiff(before, now):
    """What abidiff says of two descriptions. It does not see numbers."""
    with tempfile.TemporaryDirectory() as folder:
        both = stub(before, folder, "before"), stub(now, folder, "now")
        return subprocess.run(["abidiff", *both], stdout=subprocess.PIPE, text=True).stdout


def main():
    if len(sys.argv) < 2 or sys.argv[2:] not in ([], ["--update"]):
        sys.exit("usage: interface.py HEADER [--update]")
    header = os.path.abspath(sys.argv[1])
    with open(BASELINE) as file:
        before = file.read().splitlines()
    now = described(header)
    said, breaks = differences(before, now)
    for line in said:
        print(line)
    if sys.argv[2:]:
        with open(BASELINE, "w") as file:
            file.write("\n".join(now) + "\n")
        return
    if said and shutil.which("abidiff"):
        print(abidiff(before, now))
    if said:
        needed = ", which then needs a new minor version of the library, since programs may break" if breaks else ""
        sys.exit(f"if that is meant{needed}: python3 {os.path.relpath(__file__)} {os.path.relpath(header)} --update")


if __name__ == "__main__":
    main()
