"""Copies CUDA sources to places below a folder like those below their roots, and translates the two constructs that C++ lacks:

    kernel<<<grid, block, bytes, stream>>>(a, b);   a call of emulation::run
    extern __shared__ float2 tile[];                a pointer to the emulated shared memory

usage: translate.py OUTPUT_FOLDER GENERATED_ROOT SOURCE_ROOT FILE... the first root above a file counts"""
import pathlib
import re
import sys

REPLACED = "ptx.cuh"        # replaced by emulation.h
SHARED = re.compile(r"extern __shared__ (?:__align__\(\d+\) )?([\w ]+?) (\w+)\[\];")


def matching_parenthesis(text, opening):
    depth = 0
    for i in range(opening, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i
    raise ValueError("no closing parenthesis: " + text[opening:opening + 60])


def statement_start(text, end):
    """Where the kernel's name begins: behind the statement, label, brace or `else` before it."""
    depth = 0
    i = end
    while i > 0:
        c = text[i - 1]
        if depth == 0 and (c in ";{}:" and text[i - 2:i] != "::" and text[i:i + 1] != ":" or
                           re.search(r"(\belse|\))\s*$", text[max(0, i - 40):i]) and text[i - 1] in " \n"):
            break
        depth += {")": 1, "]": 1, "(": -1, "[": -1}.get(c, 0)
        if depth < 0:
            break
        i -= 1
    while text[i].isspace():
        i += 1
    return i


def translate_launches(text):
    while (mark := text.find("<<<")) >= 0:
        close = text.index(">>>", mark)
        start = statement_start(text, mark)
        end = matching_parenthesis(text, close + 3)
        kernel, where, arguments = text[start:mark], text[mark + 3:close], text[close + 4:end]
        # Only a launch with dynamic shared memory names its kernel, since other launches may leave template arguments to be
        # deduced.
        has_shared = where.count(",") > 1 and not re.search(r", 0, \w+$", where)
        call = ("{ const emulation::Where where_(%s); emulation::run(%s, where_.grid, where_.block, where_.shared_bytes, "
                "[=] { (%s)(%s); }); }" % (where, "(const void *)(%s)" % kernel if has_shared else "nullptr", kernel, arguments))
        text = text[:start] + call + text[end + 2:]
    return text


def place(source, roots):
    root = next(root for root in roots if source.is_relative_to(root))
    return source.relative_to(root)


def main():
    folder, *roots = map(pathlib.Path, sys.argv[1:4])
    for source in map(pathlib.Path, sys.argv[4:]):
        text = "" if source.name == REPLACED else source.read_text()
        text = SHARED.sub(r"\1 *const \2 = (\1 *)emulation::dynamic_shared();", text)
        target = folder / place(source, roots)
        if source.suffix == ".cu":
            target = target.with_name(target.name + ".cpp")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(translate_launches(text))


main()
