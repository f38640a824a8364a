"""The other side of `difsim benchmark contact`: MuJoCo's C engine, in an interpreter of its own.

Run as a script with a Python that has `mujoco`: case, results. Nothing of difsim is imported here, and difsim
imports nothing of this. A box over a plane; for each time step the ends of all launches and the CPU time of one.
"""

import sys
import time

import mujoco
import numpy as np

SCENE = """<mujoco>
  <option timestep="{dt}" gravity="0 0 -{gravity}" integrator="{integrator}" cone="elliptic"/>
  <worldbody>
    <geom type="plane" size="500 500 1" condim="3" friction="{friction}" solref="{solref}" solimp="{solimp}"/>
    <body pos="0 0 1"><freejoint/>
      <geom type="box" size="{half} {half} {half}" mass="{mass}" condim="3" friction="{friction}" solref="{solref}"
            solimp="{solimp}"/>
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
    numbers = {k: float(case[k]) for k in ("gravity", "friction", "half", "mass")}
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


if __name__ == "__main__":
    main(*sys.argv[1:])
