"""URDF and MJCF drawn at random, with their mass, centre, inertia and surfaces by NumPy."""

from pathlib import Path

import numpy as np
import trimesh

from difsim.body import read_description
from difsim.mesh import cylinder
from tests.odd_drawn import Drawn, number, pick, replaced, row


def rotated(rpy) -> np.ndarray:
    return trimesh.transformations.euler_matrix(*rpy, "sxyz")[:3, :3]


def an_inertia(rng, mass: float) -> np.ndarray:
    """That of a block of random sides in a random attitude."""
    a, b, c = rng.uniform(0.05, 0.5, 3) ** 2
    turn = rotated(rng.uniform(-3, 3, 3))
    return turn @ np.diag([b + c, a + c, a + b]) @ turn.T * mass / 12


def composite(parts) -> list[np.ndarray]:
    """Mass, centre and inertia of parts (mass, place, inertia about it along common axes)."""
    mass = sum(m for m, _, _ in parts)
    centre = sum(m * x for m, x, _ in parts) / mass
    total = np.zeros((3, 3))
    for m, x, inertia in parts:
        arm = x - centre
        total += inertia + m * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return [np.array(mass), centre, total]


def read_robot(path: Path) -> list[np.ndarray]:
    found = read_description(path)
    shapes = [[*each.centroid, each.volume] for each in found.surfaces.values()]
    return [np.array(found.body.mass), found.centre, np.asarray(found.body.inertia), ordered(shapes)]


def ordered(shapes) -> np.ndarray:
    """Rows in an order that rounding does not change."""
    return np.array(sorted(map(list, shapes), key=lambda each: [round(x, 5) + 0.0 for x in each]))


def a_shape(rng, folder: Path) -> tuple[str, float]:
    """A geometry of URDF and its volume, m³."""
    kind = rng.integers(3)
    if kind == 0:
        size = rng.uniform(0.1, 1.0, 3)
        return f'<box size="{row(rng, size, pick(rng, " ", "  "))}"/>', float(np.prod(size))
    if kind == 1:
        size, scale = rng.uniform(0.1, 1.0, 3), rng.uniform(0.5, 2.0, 3) * pick(rng, 1, -1)
        name = f"part{rng.integers(10**9)}.stl"
        (folder / "meshes").mkdir(exist_ok=True)
        trimesh.creation.box(size).export(folder / "meshes" / name)
        where = pick(
            rng, f"meshes/{name}", f"package://{folder.name}/meshes/{name}", f"file://{folder}/meshes/{name}"
        )
        return f'<mesh filename="{where}" scale="{row(rng, scale)}"/>', float(abs(np.prod(size * scale)))
    radius, length = rng.uniform(0.1, 1.0, 2)
    volume = float(cylinder(radius, length).volume)  # a prism of many sides
    return f'<cylinder radius="{number(rng, radius)}" length="{number(rng, length)}"/>', volume


def origin(rng, shift, rpy) -> str:
    both = [f'xyz="{row(rng, shift)}"'] * bool(np.any(shift)) + [f"rpy='{row(rng, rpy)}'"] * bool(np.any(rpy))
    return f"<origin {' '.join(both)}/>" if both else pick(rng, "", "<origin/>")


def pose(rng) -> tuple[np.ndarray, np.ndarray]:
    return rng.uniform(-1, 1, 3) * rng.integers(2), rng.uniform(-3, 3, 3) * rng.integers(2)


def a_urdf(rng, folder: Path) -> Drawn:
    count, tag = rng.integers(1, 5), pick(rng, "collision", "visual")
    frames, parts, shapes, text = [], [], [], []
    for i in range(count):
        turn, place = np.eye(3), np.zeros(3)
        if i:
            above = int(rng.integers(i))
            shift, rpy = pose(rng)
            turn, place = frames[above][0] @ rotated(rpy), frames[above][1] + frames[above][0] @ shift
            kind = pick(rng, "fixed", "revolute", "continuous", "prismatic", "planar")
            limit = (
                '<limit lower="-1" upper="1" effort="1" velocity="1"/>'
                if kind in ("revolute", "prismatic")
                else ""
            )
            damped = pick(rng, "", '<dynamics damping="1"/>')
            text.append(
                f'<joint name="j{i}" type="{kind}"><parent link="l{above}"/><child link="l{i}"/>'
                f'{origin(rng, shift, rpy)}<axis xyz="0 0 1"/>{limit}{damped}</joint>'
            )
        frames.append((turn, place))
        inside = ""
        if i == 0 or rng.integers(2):
            mass, (shift, rpy) = rng.uniform(0.1, 10), pose(rng)
            own, axes = an_inertia(rng, mass), turn @ rotated(rpy)
            parts.append((mass, place + turn @ shift, axes @ own @ axes.T))
            six = " ".join(
                f'i{"xyz"[j]}{"xyz"[k]}="{number(rng, own[j, k])}"' for j in range(3) for k in range(j, 3)
            )
            weight = f'<mass value="{number(rng, mass)}"/><inertia {six}/>'
            inside += f"<inertial>{origin(rng, shift, rpy)}{weight}</inertial>"
        for _ in range(rng.integers(3)):
            shift, rpy = pose(rng)
            shape, volume = a_shape(rng, folder)
            shapes.append((place + turn @ shift, volume))
            name = pick(rng, "", ' name="same"')
            note = pick(rng, "", "<!-- x -->")
            inside += f"<{tag}{name}>{origin(rng, shift, rpy)}<geometry>{shape}</geometry>{note}</{tag}>"
        if "<collision" in inside:
            inside += pick(rng, "", '<visual><geometry><mesh filename="none.dae"/></geometry></visual>')
        text.append(f'<link name="l{i}">{inside}</link>')
    text += [pick(rng, "", "<gazebo><plugin/></gazebo>", '<material name="grey"/>', '<transmission name="t"/>')]
    rng.shuffle(text)
    whole = f'<robot name="r">{pick(rng, "", chr(10)).join(text)}</robot>'
    damage = ""
    if rng.integers(2):
        changes = {
            "a mass with a unit": ('<mass value="', '<mass value="kg '),
            "a negative mass": ('<mass value="', '<mass value="-1" was="'),
            "a comma": ("0.", "0,"),
            "not a number": ('ixx="', 'ixx="nan" x="'),
            "no inertia": ("<inertia ", "<inertias "),
            "two masses": ("<mass ", '<mass value="1"/><mass '),
            "an unknown element": ("</link>", "<density/></link>"),
            "an unknown attribute": ("<link ", '<link units="mm" '),
            "a body apart": (
                "</robot>",
                '<link name="z"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" '
                'ixy="0" ixz="0" iyz="0"/></inertial></link></robot>',
            ),
            "an open tag": ("</link>", ""),
            "the same link again": ("</robot>", '<link name="l0"/></robot>'),
            "a joint that floats": (
                "</robot>",
                '<link name="z"/><joint name="k" type="floating"><parent link="l0"/>'
                '<child link="z"/></joint></robot>',
            ),
            "a macro": ('<mass value="', '<mass value="${2*m}" m="'),
            "a joint of no parent": (
                "</robot>",
                '<joint name="k" type="fixed"><parent link="y"/><child link="l0"/></joint></robot>',
            ),
            "a limit without zero": (
                "</robot>",
                '<link name="z"/><joint name="k" type="revolute"><parent link="l0"/>'
                '<child link="z"/><limit lower="1" upper="2"/></joint></robot>',
            ),
        }
        damage = pick(rng, *changes)
        whole = replaced(rng, whole, *changes[damage])
    path = folder / f"robot{rng.integers(10**9)}{pick(rng, '.urdf', '.URDF', '.xml')}"
    head = pick(
        rng, "", "<?xml version='1.0'?>\n", '<?xml version="1.0" encoding="utf-8"?>\n<!-- made by hand -->\n'
    )
    path.write_text(pick(rng, "", "\ufeff") + head + whole, encoding="utf-8")
    return Drawn(path, read_robot, with_shapes(parts, shapes), damage)


def with_shapes(parts, shapes) -> list[np.ndarray]:
    found = composite(parts)
    return [*found, ordered([*(place - found[1]), volume] for place, volume in shapes)]


def an_mjcf(rng, folder: Path) -> Drawn:
    """Bodies in each other with joints, turned by Euler angles or quaternions, weighed by density or mass."""
    degrees = rng.integers(2)
    density = float(rng.uniform(100, 3000))
    parts, shapes = [], []

    def turned(rpy) -> str:
        if not np.any(rpy):
            return ""
        if rng.integers(2):
            q = trimesh.transformations.quaternion_from_matrix(rotated(rpy))
            return f'quat="{row(rng, q * pick(rng, 1, -1, 3))}"'
        return f'euler="{row(rng, np.degrees(rpy) if degrees else rpy)}"'

    def body(depth: int, turn, place) -> str:
        shift, rpy = pose(rng)
        turn, place = turn @ rotated(rpy), place + turn @ shift
        inside = (
            "<freejoint/>" if depth == 0 else pick(rng, "", f'<joint name="j{depth}" ref="0.3" range="0.1 0.5"/>')
        )
        weighed = rng.integers(2)
        if not weighed:
            mass, (at, angles) = rng.uniform(0.1, 10), pose(rng)
            own, axes = an_inertia(rng, mass), turn @ rotated(angles)
            six = [own[0, 0], own[1, 1], own[2, 2], own[0, 1], own[0, 2], own[1, 2]]
            if np.any(angles):
                moments, vectors = np.linalg.eigh(own)
                vectors = vectors * np.sign(np.linalg.det(vectors))
                q = trimesh.transformations.quaternion_from_matrix(rotated(angles) @ vectors)
                inside += f'<inertial pos="{row(rng, at)}" mass="{number(rng, mass)}" quat="{row(rng, q)}" '
                inside += f'diaginertia="{row(rng, moments)}"/>'
            else:
                inside += (
                    f'<inertial pos="{row(rng, at)}" mass="{number(rng, mass)}" fullinertia="{row(rng, six)}"/>'
                )
            parts.append((mass, place + turn @ at, axes @ own @ axes.T))
        for _ in range(rng.integers(1, 3)):
            half, (at, angles) = rng.uniform(0.1, 0.5, 3), pose(rng)
            volume, axes = 8 * np.prod(half), turn @ rotated(angles)
            given, mass = pick(rng, ("", density * volume), ('density="400"', 400 * volume), ('mass="2.5"', 2.5))
            if weighed:
                a, b, c = half**2
                own = np.diag([b + c, a + c, a + b]) * mass / 3
                parts.append((mass, place + turn @ at, axes @ own @ axes.T))
            shapes.append((place + turn @ at, volume))
            inside += f'<geom type="box" size="{row(rng, half)}" pos="{row(rng, at)}" {turned(angles)} {given}/>'
        if depth < 2 and rng.integers(2):
            inside += body(depth + 1, turn, place)
        return f'<body pos="{row(rng, shift)}" {turned(rpy)}>{inside}</body>'

    world = pick(rng, "", '<geom type="plane" size="5 5 1"/>') + body(0, np.eye(3), np.zeros(3))
    setting = (
        f'<compiler angle="{"degree" if degrees else "radian"}" eulerseq="XYZ"/><option gravity="0 0 -0.01"/>'
    )
    setting += f'<default><geom density="{number(rng, density)}"/></default>'
    whole = f"<mujoco>{setting}<worldbody>{world}</worldbody></mujoco>"
    damage = ""
    if rng.integers(2):
        changes = {
            "not a number": ("<geom ", '<geom mass="nan" '),
            "an unknown attribute": ("<body ", '<body mass="3" '),
            "an unknown element": ("</body>", "<density/></body>"),
            "another body": ("</worldbody>", '<body><freejoint/><geom size="1"/></body></worldbody>'),
            "a table beside": ("</worldbody>", '<body><geom size="1"/></body></worldbody>'),
            "a capsule": ("</body>", '<geom type="capsule" size="0.1 0.1" mass="0"/></body>'),
            "a comma": ('size="', 'size="0,1 '),
            "a negative mass": (
                "</body>",
                '<body><inertial pos="0 0 0" mass="-1" diaginertia="1 1 1"/></body></body>',
            ),
            "an open tag": ("</body>", ""),
            "a mesh that is not there": ("<worldbody>", '<asset><mesh file="no.stl"/></asset><worldbody>'),
        }
        damage = pick(rng, *changes)
        whole = replaced(rng, whole, *changes[damage])
    path = folder / f"robot{rng.integers(10**9)}{pick(rng, '.xml', '.XML')}"
    if path.suffix == ".xml" and not damage and rng.integers(2):
        inner = folder / f"inner{rng.integers(10**9)}.xml"
        inner.write_text(whole, encoding="utf-8")
        whole = f'<mujoco><include file="{inner.name}"/></mujoco>'
    path.write_text(whole, encoding="utf-8")
    return Drawn(path, read_robot, with_shapes(parts, shapes), damage)
