"""`difsim cobbles --stage design`: where cameras and markers should be, and how the stones should be released, for
the sharpest restitution.

The predicted standard deviation of e, of one fit through the impact (through.py), is a function of the design, and
is made smaller along its gradient (L-BFGS within bounds), from each of the paper's three scenarios. Derivatives by
cameras, markers and the motion are exact (reverse mode). Those of the motion's sensitivities by the release are
central differences: touch is an implicit function with first derivatives only.
"""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float
from scipy.optimize import minimize

from difsim.typing import Scalar
from experiments.cobbles import paper, pictures
from experiments.cobbles.cameras import SCENARIOS, scenario
from experiments.cobbles.design_model import Design, Place, predict_errors, slopes
from experiments.cobbles.impact import PIXEL, theta_of
from experiments.cobbles.scene import release
from experiments.cobbles.stones import Cobble, stone
from experiments.cobbles.through import TIMES, Sensitivity, Setup, sensitivity, setup
from experiments.harness import Found
from experiments.variables import describe
from inversion.progress import show_progress

# Bounds: cameras stay on their wall, z = ±0.7 m, about where the view-ports are, and look at the middle.
WALL, AIM = ((-0.6, 0.6), (-0.6, 0.45)), ((-0.3, 0.3), (-0.5, 0.35))  # m
SPIN = 1.0  # rad/s, each component at the release
INCLINATION = (0.0, np.radians(60.0))  # the paper's
STEP = 1e-4  # of central differences, rad/s and rad
DRAWS = 24  # releases that are tried before the descent: which points touch changes by jumps
# Evaluations of a descent: where the release is free, each takes up to 14 flights, and σ is rough (README).
MOST, MOST_RELEASES = 60, 15
FAILED = 10.0  # ln σ of a design without one impact
GROUPS = ("cameras", "markers", "spin", "inclination")
RELEASE = ("spin", "inclination")
SCALARS = ("restitution", "friction", "uncalibrated", "seen", "energy_ratio", "contacts")


def motion(known: Setup, design: Design) -> Sensitivity:
    """The flight of a release, and its sensitivities."""
    state = release(float(np.degrees(design.inclination)))
    spun = eqx.tree_at(lambda s: (s.first.spin, s.second.spin), state, tuple(np.asarray(design.spin)))
    theta = theta_of(known, spun)
    return sensitivity(known.stone, known.law, theta, jnp.asarray(TIMES))


@eqx.filter_jit
def directional_change(slope: Sensitivity, up: Sensitivity, down: Sensitivity) -> Scalar:
    """slope · (up - down)."""
    leaves = zip(*(jax.tree.leaves(eqx.filter(m, eqx.is_inexact_array)) for m in (slope, up, down)), strict=True)
    return sum(jnp.sum(s * (u - d)) for s, u, d in leaves)


def value_and_slope(place: Place, design: Design, free: tuple[str, ...], moved: Sensitivity | None) -> tuple:
    """ln σ(e) and its derivatives by the fields `free`, flat; `moved`: the motion, where the release is given."""
    now = motion(place.known, design) if moved is None else moved
    if int(now.contacts) != 1:
        return FAILED, np.zeros(sum(np.size(getattr(design, name)) for name in free))
    value, by_design, by_motion = slopes(place, design, now)

    def release_slope(name):
        def release_at(step):
            return motion(place.known, replace(design, **{name: step}))

        here = np.asarray(getattr(design, name))
        unit = STEP * np.eye(here.size).reshape(here.size, *here.shape)
        return np.array(
            [
                float(directional_change(by_motion, release_at(here + h), release_at(here - h))) / (2 * STEP)
                for h in unit
            ]
        )

    parts = [release_slope(n) if n in RELEASE else np.ravel(getattr(by_design, n)) for n in free]
    return float(value), np.concatenate(parts)


def descend(place: Place, design: Design, free: tuple[str, ...], moved: Sensitivity, most: int) -> Design:
    """The best design of a descent over the fields in `free`, in some `most` evaluations; `moved`: the motion of
    its release."""
    part = {name: getattr(design, name) for name in free}
    flat, unravel = ravel_pytree(part)
    order = tuple(sorted(free))  # ravel_pytree's, of a dict
    held = None if set(free) & set(RELEASE) else moved

    def design_at(x) -> Design:
        return replace(design, **unravel(jnp.asarray(x)))

    limits = {
        "cameras": [*WALL, *AIM] * len(place.walls),
        "markers": [(None, None)] * design.markers.size,
        "spin": [(-SPIN, SPIN)] * 6,
        "inclination": [INCLINATION],
    }
    end = minimize(
        lambda x: value_and_slope(place, design_at(x), order, held),
        np.asarray(flat),
        jac=True,
        method="L-BFGS-B",
        bounds=[limit for name in order for limit in limits[name]],
        options={"maxfun": most},
    )
    return design_at(end.x)


def paper_design(which: int, directions: Float[np.ndarray, "M 3"]) -> tuple[Design, np.ndarray]:
    """Scenario `which` as it is, with the nominal release, and the walls of its cameras."""
    views = np.array(SCENARIOS[which])
    # The aim in the plane z = 0.
    position, way = views[:, 0], views[:, 1] - views[:, 0]
    aim = position + way * (-position[:, 2:] / way[:, 2:])
    cameras = np.concatenate([position[:, :2], aim[:, :2]], axis=1)
    markers = np.tile(directions, (2, 1, 1))
    return Design(cameras, markers, np.zeros((2, 3)), np.radians(paper.INCLINATION)), position[:, 2]


def releases(start: Design, draws: int) -> dict[str, list[Design]]:
    """The release as it is, and with spins drawn within their bounds; and at the paper's other inclinations."""
    values = {
        "spin": np.random.default_rng(0).uniform(-SPIN, SPIN, (draws, 2, 3)),
        "inclination": [np.radians(a) for a in paper.INCLINATIONS if a != paper.INCLINATION],
    }
    return {k: [start, *(replace(start, **{k: jnp.asarray(x)}) for x in v)] for k, v in values.items()}


def best(place: Place, start: Design, name: str, tried: list[tuple[Design, Sensitivity]]) -> tuple:
    """`start` with the field `name` of the one of those tried that tells most, and its motion."""
    fair = [(replace(start, **{name: getattr(d, name)}), m) for d, m in tried if int(m.contacts) == 1]
    return min(fair, key=lambda each: float(slopes(place, *each)[0]))


def improve(place: Place, start: Design, tried: dict[str, list], quick: bool) -> dict[str, Design]:
    """The best design by each group alone, from the start or the best release tried; by all, from their union."""
    nominal, found = tried["spin"][0][1], {}
    most, most_releases = (2, 2) if quick else (MOST, MOST_RELEASES)
    for group in show_progress(GROUPS, "groups"):
        begin, moved = best(place, start, group, tried[group]) if group in RELEASE else (start, nominal)
        found[group] = descend(place, begin, (group,), moved, most_releases if group in RELEASE else most)
    union = Design(**{g: getattr(found[g], g) for g in GROUPS})
    return found | {"all": descend(place, union, GROUPS, nominal, most_releases)}


def improve_all(quick: bool, cobble: Cobble, unknowns: tuple[str, ...] = ()) -> Found:
    """The paper's three scenarios as they are, and as each group of the design, and all together, make them.
    `quick`: a coarser table of the distance, and few steps."""
    body = stone(cobble, 30 if quick else 80)
    directions = cobble.markers / np.linalg.norm(cobble.markers, axis=1, keepdims=True)
    markers = np.tile(directions, (2, 1, 1))  # as designed: `build_setup` puts them on the surface
    tried: dict[str, list] = {}
    designs, rows = {}, []
    for which in show_progress(SCENARIOS, "scenarios"):
        start, walls = paper_design(which, directions)
        place = Place(setup(body, scenario(which), markers, unknowns), walls, PIXEL)
        rough = Place(setup(body, scenario(which), markers, ("calibration", "markers")), walls, PIXEL)
        if not tried:  # releases do not know of cameras
            draws = releases(start, 2 if quick else DRAWS)
            tried = {k: [(d, motion(place.known, d)) for d in show_progress(v, k)] for k, v in draws.items()}
        designs[which] = {"paper": start} | improve(place, start, tried, quick)
        for d in designs[which].values():
            moved = motion(place.known, d)
            row = predict_errors(place, d, moved) | {"contacts": moved.contacts, "energy_ratio": moved.ratio}
            rows.append(row | {"uncalibrated": predict_errors(rough, d, moved)["restitution"]})
    result = _dataset(designs, rows)
    result.attrs |= {"cobble": cobble.name, "unknowns": ", ".join(unknowns)}
    names = {
        "restitution": "standard deviation of the restitution",
        "friction": "standard deviation of the friction",
        "uncalibrated": "standard deviation of the restitution with unknown calibration and markers",
        "seen": "share of the images in which a marker is seen",
        "cameras": "x and y on the wall, x and y of the aim in the plane z = 0",
    }
    units = {"cameras": "m", "markers": "m", "spin": "rad/s", "inclination": "degree"}
    units |= dict.fromkeys(SCALARS, "1")
    result = describe(result, "body frame of each stone", units, names)
    table = {name: result[name].to_pandas().to_dict("index") for name in SCALARS}
    summary = {
        "pixel_sigma": PIXEL,
        "unknowns": ["states", "restitution", "friction", *unknowns],
        "sigma": {k: table[k] for k in ("restitution", "friction", "uncalibrated")},
        **{k: table[k] for k in ("seen", "energy_ratio", "contacts")},
        "tells_most": {w: min(GROUPS, key=row.get) for w, row in table["restitution"].items()},
    }
    return Found(summary, {"result": result}, {"design": pictures.draw_design(result)})


def _dataset(designs: dict[int, dict[str, Design]], rows: list[dict[str, Array]]) -> xr.Dataset:
    """Every design, and what it tells; a camera that a scenario has not is NaN."""
    flat = [d for of in designs.values() for d in of.values()]
    cameras = [np.pad(d.cameras, ((0, 3 - len(d.cameras)), (0, 0)), constant_values=np.nan) for d in flat]
    columns = {k: ((), [row[k] for row in rows]) for k in SCALARS} | {
        "cameras": (("camera", "x_y_aim"), cameras),
        "markers": (("body", "marker", "xyz"), [row["markers"] for row in rows]),
        "spin": (("body", "xyz"), [d.spin for d in flat]),
        "inclination": ((), np.degrees([d.inclination for d in flat])),
    }
    names = list(next(iter(designs.values())))
    shape = len(designs), len(names)
    return xr.Dataset(
        {
            k: (("scenario", "design", *dims), np.reshape(v, (*shape, *np.shape(v)[1:])))
            for k, (dims, v) in columns.items()
        },
        coords={"scenario": list(designs), "design": names},
    )
