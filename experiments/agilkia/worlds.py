"""The worlds of descent and bounce: 67P from published numbers, and from a mesh of it."""

from collections.abc import Sequence
from pathlib import Path

import equinox as eqx
import jax.numpy as jnp

from difsim import mesh, units
from difsim.gravity import AbstractField, Gridded, Polyhedron, lobes_67p, pack
from difsim.mesh import TriMesh
from difsim.shape import AbstractSDF, Ellipsoid, GridSDF, Posed, Union, comet_67p, shap5
from difsim.shape.bodies import SHAP5, fetch
from difsim.typing import Scalar, Vec3

# Gravity without the centrifugal term, and surface; both body-fixed, in m.
World = tuple[AbstractField, AbstractSDF]

FACETS = 8000  # of the mesh that gravity is computed from; the surface has all of them
FIELD_SPACING, SURFACE_SPACING = 65.0, 30.0  # m
# m between a real site and the surface of a world. The vertices of SHAP5 are up to 338 m off the two ellipsoids, and
# up to 43 m off a mesh of 2000 facets.
ANALOGUE_OFF, MESH_OFF = 350.0, 100.0


def analogue() -> World:
    """67P as two ellipsoids with the inertia of its lobes, in field and surface: always at hand.

    Its surface lies 20 m outside the real one at the first touchdown: flights end elsewhere on it.
    """
    lobes = lobes_67p()
    solids = tuple(Posed(Ellipsoid(lobe.semi_axes), lobe.centre, lobe.axes.T) for lobe in lobes.fields)
    return lobes, Union(solids)


@eqx.filter_jit
def height(surface: AbstractSDF, position: Vec3) -> Scalar:
    """How far a place lies above a surface, m; negative below it."""
    return surface.distance(position)


def check_site(position: Sequence[float], surface: AbstractSDF, shape: str) -> float:
    """The height of a site above the surface of the `shape` of that name, m.

    **Raises:** `ValueError` for a site that is further from it than any place on 67P.
    """
    found = float(height(surface, jnp.asarray(position, float)))
    most = ANALOGUE_OFF if shape == "analogue" else MESH_OFF
    if abs(found) > most:
        raise ValueError(
            f"[site] position_m = {list(position)} is {abs(found):.0f} m {'above' if found > 0 else 'below'} the "
            f"surface of 67P (shape {shape!r}), of which a site is at most {most:g} m off: give m from the centre, "
            "in the Cheops frame; another body has its own name in [site] body, and gravity_m_per_s2"
        )
    return found


def shape_of(name: str) -> TriMesh:
    """The surface that `name` stands for: "analogue", "shap5", or a file with vertices in km."""
    if name == "analogue":
        return comet_67p()
    if name == "shap5":
        return shap5()
    try:
        return mesh.load(name, unit="km", size=(4e3, 6e3))
    except ValueError as error:
        # The reader's remedy, another unit, is none here.
        raise ValueError(f"{error} (--shape takes the shape of 67P with vertices in km)") from None


def files_of(name: str) -> list[Path]:
    """The files that are read for the shape of that name, besides one that is named itself."""
    return [fetch(SHAP5)] if name == "shap5" else []


def list_assumptions(name: str) -> list[str]:
    """The properties that the shape of that name has without being told: a mesh file could be of any body."""
    if name in ("analogue", "shap5"):
        return []
    mass, spin = f"GM = {units.GM_67P} m3/s2", f"a spin of {units.SPIN_67P:.6g} rad/s about z"
    return [f"The mesh {name} is taken as comet 67P in its Cheops frame, evenly filled: {mass}, {spin}."]


def coarse_of(body: TriMesh) -> TriMesh:
    """The mesh itself, or its simplification to FACETS."""
    return mesh.simplify(body, FACETS) if len(body.faces) > FACETS else body


def fast_field_of(coarse: TriMesh, cache: Path) -> Gridded:
    """A mesh, filled evenly with the mass of 67P, as tables, kept in `cache`."""
    return Gridded.fit(Polyhedron(coarse, _density(coarse)), coarse, FIELD_SPACING, cache)


def best_of(name: str, cache: Path) -> World:
    """One world for a shape: its surface, and the most exact field that is fast."""
    if name == "analogue":
        return analogue()
    body = shape_of(name)
    return fast_field_of(coarse_of(body), cache), GridSDF.from_mesh(body, SURFACE_SPACING, cache=cache)


def build_worlds(name: str, cache: Path) -> tuple[TriMesh, dict[str, World]]:
    """The mesh of a shape, and the worlds that are compared: its surface with several fields, and the analogue."""
    body, found = shape_of(name), {"two lobes": analogue()}
    if name == "analogue":
        return body, found
    surface, coarse = GridSDF.from_mesh(body, SURFACE_SPACING, cache=cache), coarse_of(body)
    even = pack(coarse, _density(coarse), GM=units.GM_67P)
    # The big lobe a tenth denser, as in the paper; the largest ellipsoid is its own.
    uneven = pack(coarse, (1.1, 1.0, 1.0), ellipsoids=even.ellipsoids, mascons=even.lumps, GM=units.GM_67P)
    fields = {
        "fast field": (fast_field_of(coarse, cache), surface),
        "ellipsoids + mascons": (even.field, surface),
        "big lobe 10 % denser": (uneven.field, surface),
    }
    return body, fields | found


def _density(body: TriMesh) -> float:
    return units.GM_67P / (units.G * body.volume)
