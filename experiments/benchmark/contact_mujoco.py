"""The other side of `difsim benchmark contact`: MuJoCo's C engine, in an interpreter of its own.

Run as a script with a Python that has `mujoco`: case, results. Nothing of difsim is imported here, and difsim
imports nothing of this. The hull of some corners over a plane (a box as a box, which is faster); for each time
step the ends of all launches and the CPU time of one.
"""

import sys
import time

import mujoco
import numpy as np

SCENE = """<mujoco>
  <option timestep="{dt}" gravity="0 0 -{gravity}" integrator="{integrator}" cone="elliptic"/>
  <asset>{asset}</asset>
  <worldbody>
    <geom type="plane" size="500 500 1" condim="3" friction="{friction}" solref="{solref}" solimp="{solimp}"/>
    <body pos="0 0 1"><freejoint/>
      <inertial pos="0 0 0" mass="{mass}" diaginertia="{moments}"/>
      <geom {geom} mass="0" condim="3" friction="{friction}" solref="{solref}" solimp="{solimp}"/>
    </body>
  </worldbody>
</mujoco>"""


def main(case_path: str, result_path: str) -> None:
    """Ends [steps, launches, 3] m and CPU seconds [steps] of one launch, for each time step and integrator."""
    case = np.load(case_path)
    ends, seconds, labels = [], [], []
    for integrator in ("Euler", "RK4"):
        for dt in case["steps"]:
            end, cost = fly(case, float(dt), integrator)
            ends.append(end), seconds.append(cost), labels.append(f"{integrator} {dt:g} s")
    np.savez(
        result_path,
        ends=ends,
        seconds=seconds,
        labels=labels,
        reference=fly(case, float(case["finest"]), "RK4")[0],
    )


def fly(case, dt: float, integrator: str) -> tuple[np.ndarray, float]:
    numbers = {k: float(case[k]) for k in ("gravity", "friction", "mass")}
    asset, geom = shape(case["corners"])
    numbers |= {"asset": asset, "geom": geom, "moments": " ".join(map(str, case["moments"]))}
    solref = f"{-float(case['stiffness'])} {-float(case['damping'])}"
    # A constant impedance: the contact is then a linear spring and damper, as in the closed form.
    text = SCENE.format(dt=dt, integrator=integrator, solref=solref, solimp="0.95 0.95 0.001 0.5 2", **numbers)
    model = mujoco.MjModel.from_xml_string(text)
    data, ends = mujoco.MjData(model), []
    count = round(float(case["horizon"]) / dt)
    started = time.process_time()
    for position, velocity, attitude, spin in zip(
        *(case[k] for k in ("position", "velocity", "attitude", "spin")), strict=True
    ):
        mujoco.mj_resetData(model, data)
        data.qpos[:3], data.qpos[3:] = position, attitude
        data.qvel[:3], data.qvel[3:] = velocity, spin  # of a free joint: spin in the body's frame
        mujoco.mj_step(model, data, count)
        ends.append(data.qpos[:3].copy())
    return np.stack(ends), (time.process_time() - started) / len(ends)


def shape(corners: np.ndarray) -> tuple[str, str]:
    """The asset and the geometry of a body with these corners [n, 3] m about its centre of mass."""
    half = np.abs(corners).max(axis=0)
    if len(corners) == 8 and (np.abs(corners) == half).all():
        return "", f'type="box" size="{half[0]} {half[1]} {half[2]}"'
    vertices = " ".join(map(str, corners.ravel()))
    return f'<mesh name="hull" vertex="{vertices}"/>', 'type="mesh" mesh="hull"'


if __name__ == "__main__":
    main(*sys.argv[1:])
