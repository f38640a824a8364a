"""Bodies from STL, OBJ, URDF and MJCF, and SPICE kernels in and out."""

import importlib.util

import numpy as np
import pytest
import trimesh

from difsim import mesh, spice
from difsim.body import RigidBody, read_description

needs_mujoco = pytest.mark.skipif(importlib.util.find_spec("mujoco") is None, reason="the extra import")
needs_spice = pytest.mark.skipif(importlib.util.find_spec("spiceypy") is None, reason="the extra spice")

URDF = """<robot name="hopper">
  <link name="base">
    <inertial><origin xyz="0 0 0.1"/><mass value="2"/>
      <inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0 0 0.1"/><geometry><box size="0.2 0.3 0.4"/></geometry></collision>
  </link>
  <link name="wheel">
    <inertial><origin xyz="0 0 0"/><mass value="1"/>
      <inertia ixx="0.001" iyy="0.001" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><mesh filename="cube.stl"/></geometry></collision>
  </link>
  <joint name="axle" type="revolute"><parent link="base"/><child link="wheel"/>
    <origin xyz="0.3 0 0.1" rpy="0 1.5707963267948966 0"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
</robot>"""


@pytest.mark.parametrize("suffix", ["stl", "obj"])
def test_a_body_from_a_mesh_file_with_a_mass(tmp_path, suffix):
    trimesh.creation.box([1.0, 2.0, 3.0]).export(tmp_path / f"body.{suffix}")
    surface = mesh.load(tmp_path / f"body.{suffix}", unit="m")
    body = RigidBody(6.0, surface.inertia(6.0 / surface.volume))
    np.testing.assert_allclose(body.inertia, np.diag([4 + 9, 1 + 9, 1 + 4]) * 0.5, rtol=1e-6)


@needs_mujoco
def test_a_urdf_is_one_body_of_all_its_links(tmp_path):
    trimesh.creation.box([0.1, 0.1, 0.2]).export(tmp_path / "cube.stl")
    (tmp_path / "hopper.urdf").write_text(URDF)
    found = read_description(tmp_path / "hopper.urdf")
    assert float(found.body.mass) == pytest.approx(3.0) and found.locked == ("axle",)
    np.testing.assert_allclose(found.centre, [0.1, 0.0, 0.1], atol=1e-9)
    # The wheel is turned by a quarter about y: its z is the file's x. Steiner: 2 kg at -0.1 m and 1 kg at 0.2 m of x.
    steiner = 2 * 0.1**2 + 1 * 0.2**2
    moments = [0.02 + 0.002, 0.03 + 0.001 + steiner, 0.04 + 0.001 + steiner]
    np.testing.assert_allclose(found.body.inertia, np.diag(moments), atol=1e-9)
    base, wheel = found.surfaces.values()
    np.testing.assert_allclose(np.ptp(base.vertices, axis=0), [0.2, 0.3, 0.4], atol=1e-7)
    np.testing.assert_allclose(base.centroid, [-0.1, 0.0, 0.0], atol=1e-7)
    np.testing.assert_allclose(np.ptp(wheel.vertices, axis=0), [0.2, 0.1, 0.1], atol=1e-7)  # turned
    np.testing.assert_allclose(wheel.centroid, [0.2, 0.0, 0.0], atol=1e-7)


@needs_mujoco
def test_an_mjcf_gives_the_same_kinds_of_surfaces(tmp_path):
    geoms = (
        '<geom name="ball" type="sphere" size="0.1" density="1000"/>'
        '<geom name="tin" type="cylinder" size="0.1 0.2" pos="0 0 1" density="1000"/>'
        '<geom name="look" type="box" size="1 1 1" contype="0" conaffinity="0" density="0"/>'
    )
    path = tmp_path / "body.xml"
    path.write_text(f"<mujoco><worldbody><body><freejoint/>{geoms}</body></worldbody></mujoco>")
    found = read_description(path)
    ball, tin = 1000 * 4 / 3 * np.pi * 0.1**3, 1000 * np.pi * 0.1**2 * 0.4
    assert float(found.body.mass) == pytest.approx(ball + tin) and found.locked == ()
    assert list(found.surfaces) == ["ball", "tin"]  # what only looks does not collide
    np.testing.assert_allclose(found.centre, [0.0, 0.0, tin / (ball + tin)], atol=1e-9)
    assert found.surfaces["ball"].volume == pytest.approx(4 / 3 * np.pi * 0.1**3, rel=0.02)
    np.testing.assert_allclose(found.surfaces["ball"].centroid, -found.centre, atol=1e-7)
    path.write_text(path.read_text().replace('type="sphere" size="0.1"', 'type="capsule" size="0.1 0.1"'))
    with pytest.raises(ValueError, match=r"geometry 'ball': mjGEOM_CAPSULE is no closed surface"):
        read_description(path)


@needs_mujoco
def test_faulty_descriptions_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="no robot description"):
        read_description(tmp_path / "absent.urdf")
    (tmp_path / "bad.urdf").write_text("<robot")
    with pytest.raises(ValueError, match=r"bad\.urdf"):
        read_description(tmp_path / "bad.urdf")
    (tmp_path / "light.xml").write_text("<mujoco><worldbody/></mujoco>")
    with pytest.raises(ValueError, match="no link has a mass"):
        read_description(tmp_path / "light.xml")
    (tmp_path / "robot.toml").write_text("")
    with pytest.raises(ValueError, match=r"robot\.toml: give a robot as URDF \(\.urdf\) or as MJCF \(\.xml\)"):
        read_description(tmp_path / "robot.toml")


CONSTANTS = r"""KPL/PCK
\begindata
NAIF_BODY_NAME += ( 'PEBBLE' )
NAIF_BODY_CODE += ( 2999001 )
BODY2999001_GM = ( 3.0D-8 )
BODY2999001_RADII = ( 0.3 0.2 0.1 )
BODY2999001_POLE_RA = ( 0.0 0.0 0.0 )
BODY2999001_POLE_DEC = ( 90.0 0.0 0.0 )
BODY2999001_PM = ( 10.0 864.0 0.0 )
FRAME_PEBBLE_FIXED = 2999001
FRAME_2999001_NAME = 'PEBBLE_FIXED'
FRAME_2999001_CLASS = 2
FRAME_2999001_CLASS_ID = 2999001
FRAME_2999001_CENTER = 2999001
"""


@pytest.fixture
def pebble(tmp_path):
    (tmp_path / "pebble.tpc").write_text(CONSTANTS)
    with spice.kernels(tmp_path / "pebble.tpc"):
        yield tmp_path


@needs_spice
def test_constants_and_the_pole_come_in_si_units(pebble):
    assert spice.gravitational_parameter("PEBBLE") == pytest.approx(30.0)  # 3e-8 km³/s²
    np.testing.assert_allclose(spice.radii("PEBBLE"), [300.0, 200.0, 100.0])
    turn, spin = spice.orientation("PEBBLE_FIXED", 3600.0)
    np.testing.assert_allclose(turn[2], [0.0, 0.0, 1.0], atol=1e-12)  # the pole
    np.testing.assert_allclose(spin, [0.0, 0.0, np.radians(864.0) / 86400], rtol=1e-9)
    angle = np.arctan2(turn[0, 1], turn[0, 0])
    # W = 10° + 864° a day, from the node of the equator, 90° beyond the pole's right ascension.
    assert angle == pytest.approx(np.radians(90.0 + 10.0 + 864.0 / 24), abs=1e-9)
    with pytest.raises(ValueError, match=r"SPICE: bodvrd.*load the kernel that has it"):
        spice.gravitational_parameter("BENNU")


@needs_spice
def test_a_trajectory_goes_out_and_comes_back(pebble):
    times = np.array([0.0, 7.0, 15.0, 30.0, 42.0, 60.0])
    angle, radius = 0.01 * times, 1000.0  # a circle
    positions = radius * np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    velocities = 0.01 * radius * np.stack([-np.sin(angle), np.cos(angle), 0 * angle], axis=1)
    path = pebble / "orbit.bsp"
    spice.write_spk(path, times, positions, velocities, -999, 2999001, "J2000")
    with spice.kernels(path):
        place, velocity = spice.relative_state("-999", "PEBBLE", "J2000", 20.0)
        fixed, moving = spice.relative_state("-999", "PEBBLE", "PEBBLE_FIXED", 20.0)
    np.testing.assert_allclose(place, radius * np.array([np.cos(0.2), np.sin(0.2), 0.0]), atol=1e-4)
    np.testing.assert_allclose(velocity, 10.0 * np.array([-np.sin(0.2), np.cos(0.2), 0.0]), atol=1e-4)
    turn, spin = spice.orientation("PEBBLE_FIXED", 20.0)
    np.testing.assert_allclose(fixed, turn @ place, atol=1e-6)
    np.testing.assert_allclose(moving, turn @ velocity - np.cross(spin, turn @ place), atol=1e-6)
    with pytest.raises(FileExistsError, match="does not overwrite"):
        spice.write_spk(path, times, positions, velocities, -999, 2999001, "J2000")
    with pytest.raises(ValueError, match="at least 4, ascending"):
        spice.write_spk(pebble / "few.bsp", times[:3], positions[:3], velocities[:3], -999, 2999001, "J2000")
    with pytest.raises(ValueError, match="SPICE: spkezr"):  # unloaded with its block
        spice.relative_state("-999", "PEBBLE", "J2000", 20.0)
    with pytest.raises(FileNotFoundError, match="no kernel"), spice.kernels(pebble / "absent.bsp"):
        pass
