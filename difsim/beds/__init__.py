"""Beds of grains: sizes, containers, settling to rest, and what a bed is like."""

from difsim.beds.containers import BoxContainer as BoxContainer
from difsim.beds.containers import CylindricalContainer as CylindricalContainer
from difsim.beds.sizes import GaussianSizes as GaussianSizes
from difsim.beds.specification import BedSpecification as BedSpecification
