"""Ellipsoids inscribed in meshes, and packings against the mesh's own volume, centre and gravity."""

from functools import cache

import igl
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import trimesh

from difsim.gravity import Polyhedron, inscribe, pack
from difsim.gravity.inscribed import Inscribed, clearance, gap
from difsim.gravity.packing import Packing
from difsim.mesh import TriMesh
from difsim.units import G
from tests.catalogue import rotation

UNIT = trimesh.creation.icosphere(subdivisions=3).vertices  # points on the unit sphere


def surface(ellipsoid: Inscribed) -> np.ndarray:
    return ellipsoid.centre + UNIT @ ellipsoid.matrix.T


def depth(mesh: TriMesh, points) -> np.ndarray:
    return -igl.signed_distance(np.asarray(points), mesh.vertices, np.ascontiguousarray(mesh.faces))[0]


def errors(mesh: TriMesh, packing: Packing, points) -> tuple[np.ndarray, np.ndarray]:
    """Relative errors of U and g of a packing of density 1/G, against the polyhedron's."""
    body, field, x = Polyhedron(mesh, 1 / G), packing.field, jnp.asarray(points)
    U, g = jax.jit(lambda x: body.evaluate(x)[:2])(x)
    both = jax.value_and_grad(field.potential)
    u, a = jax.jit(lambda x: jax.lax.map(both, x, batch_size=64))(x)
    wrong = jnp.linalg.norm(a - g, axis=1) / jnp.linalg.norm(g, axis=1)
    return np.abs(np.asarray(u / U - 1)), np.asarray(wrong)


def centre_of_mass(packing: Packing) -> np.ndarray:
    lobes, lumps = packing.ellipsoids, packing.lumps
    masses = np.concatenate([packing.densities * [lobe.volume for lobe in lobes], packing.mascons.GM / G])
    return masses @ np.concatenate([[lobe.centre for lobe in lobes], lumps.position]) / packing.mass


def from_trimesh(shape: trimesh.Trimesh) -> TriMesh:
    return TriMesh(np.asarray(shape.vertices, float), np.asarray(shape.faces))


def box(sides) -> TriMesh:
    shape = trimesh.creation.box(sides)
    return TriMesh(shape.vertices @ rotation(7) + np.array([3.0, -2.0, 1.0]), np.asarray(shape.faces))


@cache
def dumbbell() -> TriMesh:
    """Two balls of radius 1 around z = ±1.1, with a neck of radius 0.3 between them."""
    z = np.linspace(-2.1, 2.1, 41)
    radius = np.sqrt(np.maximum(1 - (np.abs(z) - 1.1) ** 2, 0))
    radius = np.where(np.abs(z) < 1, np.maximum(radius, 0.3), radius)
    return from_trimesh(trimesh.creation.revolve(np.column_stack([radius, z]), sections=20))


@cache
def two_lobes() -> tuple[Inscribed, ...]:
    return tuple(inscribe(dumbbell(), 2, starts=1))


@pytest.mark.parametrize("sides", [(2.0, 2.0, 2.0), (4.0, 2.0, 1.0)])
def test_a_box_holds_the_ellipsoid_of_its_sides(sides):
    mesh = box(sides)
    (found,) = inscribe(mesh, 1, starts=1)
    np.testing.assert_allclose(found.volume, np.pi / 6 * np.prod(sides), rtol=1e-4)
    np.testing.assert_allclose(found.semi_axes, np.array(sides) / 2, rtol=1e-2)
    np.testing.assert_allclose(found.centre, mesh.centroid, atol=1e-2)
    if len(set(sides)) == 3:
        np.testing.assert_allclose(np.abs(found.axes @ rotation(7).T), np.eye(3), atol=2e-2)


def test_an_ellipsoid_is_found_again():
    sphere = trimesh.creation.icosphere(subdivisions=2)
    matrix = rotation(3).T @ np.diag([3.0, 2.0, 1.0])
    mesh = TriMesh(np.asarray(sphere.vertices @ matrix.T), np.asarray(sphere.faces))
    inner = np.min(np.linalg.norm(sphere.triangles_center, axis=1))  # the largest ball in the icosphere
    (found,) = inscribe(mesh, 1, starts=1)
    assert 4 / 3 * np.pi * 6 * inner**3 * (1 - 1e-4) <= found.volume < mesh.volume
    np.testing.assert_allclose(found.semi_axes, [3, 2, 1], rtol=0.05)


def test_two_lobes_are_strictly_inside_and_apart():
    """By libigl's signed distance and by points on one ellipsoid in the coordinates of the other."""
    mesh, (a, b) = dumbbell(), two_lobes()
    for ellipsoid in (a, b):
        assert depth(mesh, surface(ellipsoid)).min() > 0
        assert 0 < clearance(mesh, ellipsoid) < 1e-4, "touches but for the margin"
        assert ellipsoid.volume > 0.85 * mesh.volume / 2
    assert np.linalg.norm(b.coordinates(surface(a)), axis=1).min() > 1
    assert gap(a, b) > 0
    np.testing.assert_allclose(a.volume, b.volume, rtol=0.02)
    np.testing.assert_allclose(np.sort([a.centre[2], b.centre[2]]), [-1.1, 1.1], atol=0.1)


def test_moments_are_those_of_the_mesh():
    mesh = dumbbell()
    packing = pack(mesh, 2000.0, ellipsoids=two_lobes(), mascons=200)
    field = packing.field
    assert len(field.fields) == 3 and len(packing.lumps.volume) == 200
    assert (packing.lumps.volume > 0).all()
    np.testing.assert_allclose(packing.mass, 2000 * mesh.volume, rtol=1e-12)
    np.testing.assert_allclose(centre_of_mass(packing), mesh.centroid, atol=1e-12)
    assert packing.share == pytest.approx(sum(e.volume for e in two_lobes()) / mesh.volume)
    assert packing.clearance > 0 and packing.gap > 0


def test_gravity_is_that_of_the_polyhedron():
    """Near by within the published bounds; far off, with the quadrupole exact, the error falls as 1/r³."""
    mesh = dumbbell()
    places = [mesh.vertices[::10], 4.0 * UNIT[::10], 16.0 * UNIT[::10]]
    packing = pack(mesh, 1 / G, ellipsoids=two_lobes(), mascons=400)
    U, g = errors(mesh, packing, np.concatenate(places))
    limits = np.cumsum([len(place) for place in places])[:-1]
    (near_U, U, far_U), (near_g, g, far_g) = ([part.max() for part in np.split(e, limits)] for e in (U, g))
    assert near_U < 0.006 and near_g < 0.15
    assert U < 4e-5 and g < 2e-4
    assert far_U < U / 32 and far_g < g / 32, "with a quadrupole missing the error would fall by 16"


def test_each_lobe_has_its_density():
    mesh, lobes = dumbbell(), two_lobes()
    up = np.array([lobe.centre[2] > 0 for lobe in lobes])
    packing = pack(mesh, np.where(up, 3000.0, 1000.0), ellipsoids=lobes, mascons=200)
    mass = packing.mascons.GM / G
    heavy = packing.lumps.position[:, 2] > 0.05
    light = packing.lumps.position[:, 2] < -0.05
    density = np.asarray(mass) / packing.lumps.volume
    np.testing.assert_allclose(density[heavy], 3000, rtol=1e-12)
    np.testing.assert_allclose(density[light], 1000, rtol=1e-12)
    # Half of the volume each: ¾ of the mass above, where a half has its centre at about z = 1.1.
    np.testing.assert_allclose(packing.mass, 2000 * mesh.volume, rtol=0.01)
    np.testing.assert_allclose(centre_of_mass(packing)[2], 0.5 * 1.1, rtol=0.05)

    total = pack(mesh, np.where(up, 3000.0, 1000.0), ellipsoids=lobes, mascons=packing.lumps, GM=5.0)
    np.testing.assert_allclose(G * total.mass, 5.0, rtol=1e-12)
    np.testing.assert_allclose(total.densities / packing.densities, 5 / (G * packing.mass), rtol=1e-12)
    far = jnp.array([0.0, 1e5, 0.0])
    np.testing.assert_allclose(total.field.potential(far), 5.0 / 1e5, rtol=1e-9)
