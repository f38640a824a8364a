"""The parts of a touchdown from the tables of a lander file: lander, frame of the site, and gravity there."""

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from difsim import rotation, units
from difsim.body import Flywheel, Hull, Lander, RigidBody
from difsim.gravity import Rotating, Uniform, lobes_67p
from difsim.surface_frame import SurfaceFrame
from experiments.agilkia import keys, worlds
from experiments.agilkia.catalogue import STANDARD, Catalogue


def check(tables: Mapping[str, Mapping[str, Any]], catalogue: Catalogue = STANDARD) -> None:
    """Check that tables whose every key is right are those of a lander that there can be, and of its site.

    **Raises** `ValueError` that names the table.
    """
    site = tables["site"]
    frame = frame_of(site)
    with keys.blame("[site] alpha_s_deg, beta_s_deg:"):
        rotation.axis_from_projections(np.radians(site["alpha_s_deg"]), np.radians(site["beta_s_deg"]))
    if "gravity_m_per_s2" in site:
        local_gravity(site, frame)
    if site["body"] == keys.COMET:
        worlds.check_site(site["position_m"], worlds.analogue()[1], "analogue")
    with keys.blame("[lander]"):
        lander_of(tables["lander"], tables.get("gear"), Flywheel(0.0, 1.0), catalogue)  # any wheel does


def lander_of(
    table: Mapping[str, Any], gear: Mapping[str, Any] | None, wheel: Flywheel, catalogue: Catalogue = STANDARD
) -> Lander:
    """The lander of the tables [lander] and [gear]; the hull alone, where the file gives no legs."""
    inertia = np.asarray(table["inertia_kg_m2"], float)
    rigid = RigidBody(table["mass_kg"], inertia if inertia.ndim == 2 else np.diag(inertia))
    hull = Hull(np.asarray(table["hull_m"], float)) if "hull_m" in table else None
    if "feet_m" not in table:
        return Lander.without_legs(rigid, wheel, hull)
    feet, hips = (np.asarray(table[key], float) for key in ("feet_m", "hips_m"))
    radius, stiffness = table["footpad_radius_m"], table["leg_stiffness_N_per_m"]
    return Lander(rigid, feet, hips, radius, stiffness, catalogue.gears[gear["kind"]].make(gear), wheel, hull)


def frame_of(site: Mapping[str, Any]) -> SurfaceFrame:
    """The frame of the site, x along the tangential part of the approach; its origin where the file has none.

    **Raises** `ValueError` for an approach that moves away from the ground.
    """
    velocity, normal = np.asarray(site["velocity_m_per_s"], float), np.asarray(site["normal"], float)
    normal = normal / np.linalg.norm(normal)
    if velocity @ normal >= 0:
        raise ValueError(
            f"[site] velocity_m_per_s {velocity.tolist()} moves away from the ground: its component along the "
            f"normal is {velocity @ normal:.3g} m/s and must be negative"
        )
    tangential = velocity - velocity @ normal * normal
    heading = tangential if np.linalg.norm(tangential) > 1e-6 else np.roll(normal, 1)
    return SurfaceFrame.from_normal(np.asarray(site.get("position_m", np.zeros(3)), float), normal, heading)


def local_gravity(site: Mapping[str, Any], frame: SurfaceFrame) -> Uniform:
    """The gravity at the site as a uniform field in the surface frame: given, or that of the rotating 67P.

    **Raises** `ValueError` for one that pulls away from the ground.
    """
    if "gravity_m_per_s2" in site:
        given = site["gravity_m_per_s2"]
        if given[2] > 0:
            raise ValueError(
                f"[site] gravity_m_per_s2 {given} pulls away from the ground: its third component is along the "
                "normal, upwards, and must not be positive"
            )
        return Uniform(jnp.asarray(given, float))
    comet = Rotating(lobes_67p(), jnp.asarray([0.0, 0.0, units.SPIN_67P]))
    return Uniform(frame.direction(comet.acceleration(frame.origin)))
