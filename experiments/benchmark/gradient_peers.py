"""The bounce of `difsim benchmark gradients` in MuJoCo MJX and Brax, in an interpreter of their own.

Run as a script with a Python that has `mujoco-mjx` and `brax` (of one jax): it prints one line of JSON. Nothing
of difsim is imported here, and difsim imports nothing of this.

A ball falls from a gap of 1.2 m at 9.81 m/s² and bounces once; z is the gap after 1 s. Each engine's own
derivatives (forward mode) of z by the height and by its number for restitution are compared with the slope of the same
program's own values, fitted over ±5 % (which averages over where in a step the contact begins), and, for the
height, with the closed form with the restitution that the engine realised.
"""

import json
import sys
from importlib.metadata import version

import brax.positional.pipeline
import brax.spring.pipeline
import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from brax.io import mjcf
from mujoco import mjx

HEIGHT, TIME, G, RADIUS = 1.2, 1.0, 9.81, 0.1
DAMPING, ELASTICITY = 45.0, 0.8  # both give a restitution near 0.8
STEPS = (1e-3, 1e-4)

SCENE = """<mujoco>
  <option gravity="0 0 -{g}"/>
  <custom><numeric name="elasticity" data="{elasticity}"/></custom>
  <worldbody>
    <geom type="plane" size="5 5 1" condim="1" solref="-100000 -{damping}"/>
    <body pos="0 0 {z}"><freejoint/>
      <geom type="sphere" size="{radius}" mass="1" condim="1" solref="-100000 -{damping}"/>
    </body>
  </worldbody>
</mujoco>"""


def scene() -> mujoco.MjModel:
    """The ball over the plane."""
    text = SCENE.format(g=G, z=HEIGHT + RADIUS, radius=RADIUS, damping=DAMPING, elasticity=ELASTICITY)
    return mujoco.MjModel.from_xml_string(text)


def mjx_end():
    """z of height and contact damping (`solref`, direct form), N s/m per kg, by step."""
    model = mjx.put_model(scene())
    start = mjx.make_data(model)

    def end(p, dt, steps):
        ours = model.replace(geom_solref=model.geom_solref.at[:, 1].set(-p[1]))
        ours = ours.replace(opt=ours.opt.replace(timestep=dt))
        data = start.replace(qpos=start.qpos.at[2].set(p[0] + RADIUS))
        data = jax.lax.fori_loop(0, steps, lambda _, d: mjx.step(ours, d), data)
        return data.qpos[2] - RADIUS

    return end, jnp.array([HEIGHT, DAMPING])


def brax_end(pipeline):
    """z of height and elasticity, by step."""
    system = mjcf.load_model(scene())

    def end(p, dt, steps):
        ours = system.replace(elasticity=jnp.full_like(system.elasticity, p[1]))
        ours = ours.replace(opt=ours.opt.replace(timestep=dt))
        state = pipeline.init(ours, ours.init_q.at[2].set(p[0] + RADIUS), jnp.zeros(ours.qd_size()))
        act = jnp.zeros(ours.act_size())
        state = jax.lax.fori_loop(0, steps, lambda _, s: pipeline.step(ours, s, act), state)
        return state.x.pos[0, 2] - RADIUS

    return end, jnp.array([HEIGHT, ELASTICITY])


def height_derivative(z: float) -> float:
    """dz/dh₀ of the closed form, with the restitution that brings the ball to `z`."""
    fall, v = np.sqrt(2 * HEIGHT / G), np.sqrt(2 * G * HEIGHT)
    e = (z + 0.5 * G * (TIME - fall) ** 2) / (v * (TIME - fall))
    return float(e * G / v * (TIME - fall) - (e * v - G * (TIME - fall)) * fall / (2 * HEIGHT))


def trend(values, at) -> tuple[float, list[float]]:
    """z, and the slopes of a parabola through the values at 41 points within ±5 % of each parameter."""
    share = np.linspace(-0.05, 0.05, 41)
    points = np.asarray(at) * (1 + share[:, None, None] * np.eye(2))
    found = np.asarray(values(jnp.asarray(points.reshape(-1, 2)))).reshape(-1, 2)
    slopes = [float(np.polyfit(share * x, z, 2)[1]) for x, z in zip(np.asarray(at), found.T, strict=True)]
    return float(found[20, 0]), slopes


def rows(name: str, parameter: str, end, at) -> list[dict]:
    """z, its derivatives and slopes at each step; a refusal of the engine is its message.

    The step is a number and not a constant: one program serves all.
    """
    several, slope = jax.jit(jax.vmap(end, in_axes=(0, None, None))), jax.jit(jax.jacfwd(end))
    found = []
    for dt in STEPS:
        step = (jnp.asarray(dt), round(TIME / dt))
        z, slopes = trend(lambda points, step=step: several(points, *step), at)
        row = {
            "engine": name,
            "parameter": parameter,
            "dt": dt,
            "z": z,
            "slopes": slopes,
            "closed": height_derivative(z),
        }
        try:
            row["derivative"] = [float(x) for x in slope(at, *step)]
        except Exception as refusal:  # whatever the engine raises is what its user sees
            row |= {"derivative": None, "refusal": str(refusal).splitlines()[0]}
        found.append(row)
    return found


def main() -> None:
    """Print all rows."""
    jax.config.update("jax_enable_x64", True)
    found = rows(f"MuJoCo MJX {version('mujoco-mjx')}", "damping", *mjx_end())
    for name, pipeline in (("spring", brax.spring.pipeline), ("positional", brax.positional.pipeline)):
        found += rows(f"Brax {version('brax')} {name}", "elasticity", *brax_end(pipeline))
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
