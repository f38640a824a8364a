"""Bodies from STL, OBJ, URDF and MJCF, and SPICE kernels in and out."""

import importlib.util
import warnings

import jax.numpy as jnp
import numpy as np
import pytest
import trimesh

from difsim import spice
from difsim.body import read_description

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


def link(name, mass=None, shapes=""):
    """A link of a URDF, with or without an <inertial>."""
    inertia = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    weight = "" if mass is None else f'<inertial><mass value="{mass}"/>{inertia}</inertial>'
    return f'<link name="{name}">{weight}{shapes}</link>'


def joint(child, kind="fixed", inside=""):
    return (
        f'<joint name="to_{child}" type="{kind}"><parent link="a"/><child link="{child}"/>'
        f'<origin xyz="0 0 1"/><axis xyz="0 0 1"/>{inside}</joint>'
    )


def read_urdf(folder, *parts, name="robot.urdf"):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f'<robot name="r">{"".join(parts)}</robot>', encoding="utf-8")
    return read_description(folder / name)


BOX = '<collision><geometry><box size="0.1 0.2 0.3"/></geometry></collision>'


@needs_mujoco
@pytest.mark.parametrize("shape", [BOX, BOX.replace("collision", "visual")])
def test_a_link_without_inertial_weighs_nothing(tmp_path, shape):
    """MuJoCo weighs its box with 1000 kg/m3: 6 kg more."""
    found = read_urdf(tmp_path, link("a", 10, shape), link("b", None, shape), joint("b"), name="ROBOT.URDF")
    assert float(found.body.mass) == 10.0 and found.locked == ()
    np.testing.assert_allclose(found.body.inertia, np.eye(3), atol=1e-12)
    a, b = found.surfaces.values()  # what is only seen is a surface where nothing collides
    np.testing.assert_allclose([a.centroid, b.centroid], [[0, 0, 0], [0, 0, 1]], atol=1e-7)
    assert b.volume == pytest.approx(0.006)


@needs_mujoco
@pytest.mark.parametrize(
    "name",
    [
        "package://other_name/meshes/cube.stl",
        "file://{folder}/rover/meshes/cube.stl",
        "package://rover/elsewhere/beside.stl",
    ],
)
def test_meshes_of_a_urdf_are_found(tmp_path, name):
    folder = tmp_path / "rover" / "urdf"
    for place in (tmp_path / "rover" / "meshes" / "cube.stl", folder / "beside.stl"):
        place.parent.mkdir(parents=True, exist_ok=True)
        trimesh.creation.box([0.1, 0.1, 0.2]).export(place)
    mesh = f'<geometry><mesh filename="{name.format(folder=tmp_path)}" scale="2 -3 4"/></geometry>'
    seen = '<visual><geometry><mesh filename="looks.dae"/></geometry></visual>'  # which need not be there
    found = read_urdf(folder, link("a", 1, f"{seen}<collision>{mesh}</collision>"))
    assert found.surfaces["a_0"].volume == pytest.approx(24 * 0.002)
    with pytest.raises(ValueError, match=r"robot\.urdf: no mesh .*\.STL': looked for at \["):
        read_urdf(folder, link("a", 1, f"<collision>{mesh.replace('.stl', '.STL')}</collision>"))


@needs_mujoco
def test_an_inertia_along_turned_axes_is_turned(tmp_path):
    """The rpy of URDF turns about the fixed axes x, y, z in turn: Rz(1.1) Ry(-0.5) Rx(0.3)."""
    own = np.array([[1.0, 0.1, 0.0], [0.1, 2.0, 0.0], [0.0, 0.0, 2.5]])
    found = read_urdf(
        tmp_path,
        '<link name="a"><inertial><origin rpy="0.3 -0.5 1.1"/><mass value="1"/>'
        '<inertia ixx="1" iyy="2" izz="2.5" ixy="0.1" ixz="0" iyz="0"/></inertial></link>',
    )
    turn = trimesh.transformations.euler_matrix(0.3, -0.5, 1.1, "sxyz")[:3, :3]
    np.testing.assert_allclose(found.body.inertia, turn @ own @ turn.T, rtol=1e-9)


@needs_mujoco
def test_a_joint_that_cannot_be_at_zero_is_doubted(tmp_path):
    inside = '<limit lower="0.2" upper="1" effort="1" velocity="1"/>'
    with pytest.warns(UserWarning, match=r"the joints \['to_b'\] are taken at zero, where their limits"):
        read_urdf(tmp_path, link("a", 1), link("b", 1), joint("b", "revolute", inside))


@needs_mujoco
@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ([link("a", -1)], "link 'a': mass = -1 kg"),
        ([link("a", 1), link("b", 1)], r"the bodies \['a', 'b'\] stand apart in the world"),
        ([link("a", 1), link("b", 1), joint("b", "floating")], "joint 'to_b' is floating: two bodies"),
    ],
)
def test_what_a_urdf_says_is_known_or_refused(tmp_path, parts, says):
    with pytest.raises(ValueError, match=says) as refused:
        read_urdf(tmp_path, *parts)
    assert "robot.urdf: " in str(refused.value)


MJCF = (
    "<mujoco><worldbody>{}<body name='a'><freejoint/><geom size='0.1' mass='2'/>{}</body></worldbody>{}</mujoco>"
)


@needs_mujoco
def test_the_ground_and_the_motors_of_an_mjcf_are_left_out(tmp_path):
    arm = "<body name='b' pos='1 0 0'><joint name='j'/><geom type='box' size='0.1 0.2 0.3' mass='1'/></body>"
    motors = "<actuator><motor joint='j'/></actuator><sensor><jointpos joint='j'/></sensor>"
    motors += "<tendon><fixed><joint joint='j' coef='1'/></fixed></tendon><equality><joint joint1='j'/></equality>"
    motors += "<keyframe><key qpos='0 0 0 1 0 0 0 1'/></keyframe>"
    floor = "<geom type='plane' size='1 1 1'/>"
    (tmp_path / "ROBOT.XML").write_text(MJCF.format(floor, arm, motors), encoding="utf-8")
    found = read_description(tmp_path / "ROBOT.XML")
    assert float(found.body.mass) == pytest.approx(3.0) and found.locked == ("j",)
    np.testing.assert_allclose(found.centre, [1 / 3, 0, 0], atol=1e-9)
    assert len(found.surfaces) == 2


@needs_mujoco
@pytest.mark.parametrize(
    ("parts", "says"),
    [
        (("<body name='b'><freejoint/><geom size='0.1'/></body>", "", ""), r"\['b', 'a'\] stand apart"),
        (("", "<flexcomp name='f' type='grid' count='2 2 2' spacing='1 1 1' dim='3'/>", ""), "can be deformed"),
    ],
)
def test_what_an_mjcf_says_is_known_or_refused(tmp_path, parts, says):
    path = tmp_path / "robot.xml"
    path.write_text(MJCF.format(*parts), encoding="utf-8")
    with pytest.raises(ValueError, match=says) as refused:
        read_description(path)
    assert f"{path}: " in str(refused.value)


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
    with pytest.raises(ValueError, match="SPICE: spkezr"):  # unloaded with its block
        spice.relative_state("-999", "PEBBLE", "J2000", 20.0)
    with pytest.raises(FileNotFoundError, match="no kernel"), spice.kernels(pebble / "absent.bsp"):
        pass


G, RESTITUTION, DROP = 1e-3, 0.7, 1.0  # m/s2, 1, m


def bouncing(times):
    """Place and velocity [T, 3] of a ball dropped from 1 m, in closed form, and the times of its first bounces."""
    touch = [np.sqrt(2 * DROP / G)]
    speed = [G * touch[0]]
    for _ in range(3):
        speed.append(RESTITUTION * speed[-1])
        touch.append(touch[-1] + 2 * speed[-1] / G)
    hop = np.searchsorted(touch, times, side="right")
    since = times - np.append(0.0, touch)[hop]
    up = np.append(0.0, [*speed[1:], 0.0])[hop]
    height = np.where(hop == 0, DROP, 0.0) + up * since - G * since**2 / 2
    away, still = 0.01 * times, np.zeros_like(times)
    return (
        np.stack([away, still, height], axis=1),
        np.stack([still + 0.01, still, up - G * since], axis=1),
        np.array(touch),
    )


def read_back(path, times):
    with spice.kernels(path):
        return np.array([spice.relative_state("-999", "PEBBLE", "J2000", t)[0] for t in times])


@needs_spice
def test_a_bounce_whose_time_is_given_twice_is_kept(pebble):
    grid = np.arange(0.0, 110.0, 5.0)
    *_, touch = bouncing(grid)
    inside = touch[touch < grid[-1]]
    times = np.sort(np.concatenate([grid, inside, inside]))
    positions, velocities, _ = bouncing(times)
    before = np.flatnonzero(np.diff(times) == 0)
    positions[before, 2] = 0.0
    velocities[before, 2] *= -1 / RESTITUTION
    path = pebble / "hops.bsp"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        spice.write_spk(path, *map(jnp.asarray, (times, positions, velocities)), -999, 2999001, "J2000")
    fine = np.linspace(0.0, grid[-1], 300)
    np.testing.assert_allclose(read_back(path, fine), bouncing(fine)[0], rtol=0, atol=1e-9)


@needs_spice
def test_a_bounce_between_two_times_is_doubted(pebble):
    times = np.arange(0.0, 110.0, 10.0)
    path = pebble / "smooth.bsp"
    with pytest.warns(UserWarning, match=r"about 40 s \(and 1 other times\) the states are not those of a smooth"):
        spice.write_spk(path, times, *bouncing(times)[:2], -999, 2999001, "J2000")
    grid = np.arange(0.0, 40.0, 5.0)  # before the first bounce
    place, velocity, _ = bouncing(grid)
    with pytest.warns(UserWarning, match="look at units, frame"):
        spice.write_spk(pebble / "units.bsp", grid, place, 1000 * velocity, -999, 2999001, "J2000")
    fine = np.linspace(0.0, 100.0, 300)
    assert 0.05 < np.abs(read_back(path, fine) - bouncing(fine)[0]).max() < 0.3  # m, as the docs say


@needs_spice
def test_states_that_repeat_after_the_end_count_once(pebble):
    times = np.minimum(np.arange(0.0, 60.0, 5.0), 30.0)  # of a solution that ended at 30 s
    path = pebble / "landed.bsp"
    spice.write_spk(path, *map(jnp.asarray, (times, *bouncing(times)[:2])), -999, 2999001, "J2000")
    fine = np.linspace(0.0, 30.0, 50)
    np.testing.assert_allclose(read_back(path, fine), bouncing(fine)[0], rtol=0, atol=1e-9)
