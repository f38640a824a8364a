"""Beds of grains: sizes, containers, settling to rest, and what a bed is like."""

from difsim.beds.containers import AbstractContainer as AbstractContainer
from difsim.beds.containers import Bin as Bin
from difsim.beds.containers import Drum as Drum
from difsim.beds.figures import Figures as Figures
from difsim.beds.recipe import Bed as Bed
from difsim.beds.recipe import Recipe as Recipe
from difsim.beds.sizes import CoarseGrains as CoarseGrains
from difsim.beds.sizes import GaussianSizes as GaussianSizes
from difsim.beds.sizes import coarse_grained as coarse_grained
