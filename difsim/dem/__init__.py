"""Grains as soft spheres with friction that remembers (DEM)."""

from difsim.dem.clump import Clump as Clump
from difsim.dem.grains import Grains as Grains
from difsim.dem.laws import AbstractGrainLaw as AbstractGrainLaw
from difsim.dem.laws import HertzMindlin as HertzMindlin
from difsim.dem.laws import LinearSprings as LinearSprings
from difsim.dem.legged import LeggedClump as LeggedClump
from difsim.dem.near import GrainWall as GrainWall
