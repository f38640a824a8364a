"""The launches of a compiled program on a GPU, read from its text: kernels, waits, bytes and library calls by loop."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

BANDWIDTH = 3.35e12  # bytes/s of an H100's memory, by its maker
LAUNCH = 3e-6  # s, to start a kernel or to look at a condition: 2 to 4 us, ours

# What takes no kernel: names for places in memory, and the ends of what was begun before.
FREE = {
    "parameter",
    "constant",
    "tuple",
    "get-tuple-element",
    "bitcast",
    "after-all",
    "partition-id",
    "replica-id",
}
SIZES = {"pred": 1, "s4": 1, "u4": 1, "token": 0}
SHAPE = re.compile(r"\b(pred|token|[sufc]\d+|bf16)\[([\d,]*)\]")
OPERATION = re.compile(r"[}\])] ([a-z][\w\-]*)\((.*)")


@dataclass(frozen=True)
class Instruction:
    """One line of a computation: its `operation`, the bytes of its result, its operands, and the whole line."""

    name: str
    operation: str
    size: int
    operands: tuple[str, ...]
    line: str

    def computations(self, key: str) -> list[str]:
        """The computations that the line names under a key such as `body=`."""
        found = re.search(rf"\b{key}=(\{{[^}}]*\}}|%?[\w.\-]+)", self.line)
        return re.findall(r"[\w.\-]+", found.group(1)) if found else []


@dataclass
class Loop:
    """A loop, or the program itself, whose `path` is ().

    `turns` if they are known; of one turn, without loops inside: `kernels` by operation, `moved` bytes, which the
    kernels read and write, and calls of a `library` by name; `inner` loops, at whose conditions the card waits for the
    host. A condition without a loop is one of a single turn: the longest of its branches.
    """

    path: tuple[int, ...]
    turns: int | None
    kernels: Counter = field(default_factory=Counter)
    moved: int = 0
    library: Counter = field(default_factory=Counter)
    inner: list["Loop"] = field(default_factory=list)

    def all(self) -> Iterator["Loop"]:
        """This loop, and those inside it."""
        yield self
        for loop in self.inner:
            yield from loop.all()

    @property
    def launches(self) -> int:
        """Kernels of a turn, and looks at a condition, with the turns of inner loops that are known (others: one)."""
        return self.kernels.total() + sum((loop.turns or 1) * (loop.launches + 1) for loop in self.inner)

    @property
    def seconds(self) -> float:
        """A turn by a roofline: all kernels start one after the other, or memory is the limit."""
        return max(LAUNCH * self.launches, self.traffic / BANDWIDTH)

    @property
    def traffic(self) -> int:
        """The bytes of a turn, with the turns of inner loops that are known (others: one)."""
        return self.moved + sum((loop.turns or 1) * loop.traffic for loop in self.inner)


def read(text: str) -> Loop:
    """The program with its loops. **Arguments:** `text` of a compiled program, as JAX's `as_text` gives it."""
    computations, entry = _computations(text)
    program = Loop((), 1)
    _collect(computations, entry, program)
    return program


def _computations(text: str) -> tuple[dict[str, list[Instruction]], str]:
    computations, entry, lines = {}, "", []
    for line in text.splitlines():
        head = re.match(r"(ENTRY )?%?([\w.\-]+) (?:\(.*)?\{\s*$", line)
        if head and not line.startswith(" "):
            lines = computations.setdefault(head.group(2), [])
            entry = head.group(2) if head.group(1) else entry
        elif (made := _instruction(line)) is not None:
            lines.append(made)
    return computations, entry


def _instruction(line: str) -> Instruction | None:
    left, equals, right = line.strip().removeprefix("ROOT ").partition(" = ")
    found = OPERATION.search(right) if equals else None
    if found is None:
        return None
    operands = found.group(2).split("), ")[0]
    size = sum(_bytes(*shape) for shape in SHAPE.findall(right[: found.start() + 1]))
    return Instruction(left.lstrip("%"), found.group(1), size, tuple(re.findall(r"%([\w.\-]+)", operands)), right)


def _bytes(kind: str, dimensions: str) -> int:
    each = SIZES.get(kind, int(kind.lstrip("bsufc") or 8) // 8 if kind not in SIZES else 0)
    for length in filter(None, dimensions.split(",")):
        each *= int(length)
    return each


def _branches(computations: dict[str, list[Instruction]], condition: Instruction, loop: Loop) -> Iterator[Loop]:
    for key in ("branch_computations", "true_computation", "false_computation"):
        for name in condition.computations(key):
            branch = Loop((*loop.path, len(loop.inner) + 1), 1)
            _collect(computations, name, branch)
            yield branch


def _collect(computations: dict[str, list[Instruction]], name: str, loop: Loop) -> None:
    """Add the instructions of a computation to a loop."""
    sizes = {each.name: each.size for each in computations[name]}
    for each in computations[name]:
        if each.operation == "while":
            known = re.search(r"known_trip_count[^0-9]*(\d+)", each.line)
            inner = Loop((*loop.path, len(loop.inner) + 1), int(known.group(1)) if known else None)
            loop.inner.append(inner)
            _collect(computations, each.computations("body")[0], inner)
        elif each.operation == "conditional":
            loop.inner.append(max(_branches(computations, each, loop), key=lambda branch: branch.seconds))
        elif each.operation == "call":
            _collect(computations, each.computations("to_apply")[0], loop)
        elif each.operation not in FREE and not each.operation.endswith("-done"):
            loop.kernels[each.operation] += 1
            loop.moved += each.size + sum(sizes.get(operand, 0) for operand in each.operands)
            if each.operation == "custom-call":
                loop.library.update(re.findall(r'custom_call_target="([^"]*)"', each.line))
