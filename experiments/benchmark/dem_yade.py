"""YADE's side of `difsim benchmark dem`, for `yade -x -n -j1 dem_yade.py`: reads DEM_CASE, writes DEM_RESULT."""

import json
import os
import time

from yade import *  # noqa: F403 (names of the engines, as in every script of YADE)

with open(os.environ["DEM_CASE"]) as file:
    case = json.load(file)

material = FrictMat(  # noqa: F405
    young=case["modulus"], poisson=case["poisson"], frictionAngle=case["friction_angle"], density=case["density"]
)
O.materials.append(material)  # noqa: F405
for x in case["position"]:
    O.bodies.append(utils.sphere(x, case["radius"], material=material))  # noqa: F405
for axis, place, sense in ((0, 0, 1), (0, case["side"], -1), (1, 0, 1), (1, case["side"], -1), (2, 0, 1)):
    O.bodies.append(utils.wall(place, axis=axis, sense=sense, material=material))  # noqa: F405
e = case["restitution"]
O.engines = [  # noqa: F405
    ForceResetter(),  # noqa: F405
    InsertionSortCollider([Bo1_Sphere_Aabb(), Bo1_Wall_Aabb()], verletDist=case["skin"] / 2),  # noqa: F405
    InteractionLoop(  # noqa: F405
        [Ig2_Sphere_Sphere_ScGeom(), Ig2_Wall_Sphere_ScGeom()],  # noqa: F405
        [Ip2_FrictMat_FrictMat_MindlinPhys(en=e, es=e)],  # noqa: F405
        [Law2_ScGeom_MindlinPhys_Mindlin()],  # noqa: F405
    ),
    NewtonIntegrator(damping=0, gravity=(0, 0, -case["gravity"])),  # noqa: F405
]
O.dt = case["dt"]  # noqa: F405
cpu = time.process_time()
O.run(case["steps"], True)  # noqa: F405
cpu = time.process_time() - cpu
balls = [b for b in O.bodies if isinstance(b.shape, Sphere)]  # noqa: F405
height = sum(b.state.pos[2] for b in balls) / len(balls)
with open(os.environ["DEM_RESULT"], "w") as file:
    json.dump({"cpu": cpu, "height": height}, file)
