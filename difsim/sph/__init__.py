"""Smoothed particle hydrodynamics of elastic and plastic solids."""

from difsim.sph.continuum import Soil as Soil
from difsim.sph.continuum import SoilState as SoilState
from difsim.sph.equations import Viscosity as Viscosity
from difsim.sph.kernel import AbstractKernel as AbstractKernel
from difsim.sph.kernel import CubicSpline as CubicSpline
from difsim.sph.kernel import WendlandC2 as WendlandC2
from difsim.sph.plasticity import Compression as Compression
from difsim.sph.plasticity import DruckerPrager as DruckerPrager
from difsim.sph.plasticity import PlaneStrain as PlaneStrain
