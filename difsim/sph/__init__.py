"""Smoothed particle hydrodynamics of elastic and plastic solids.

Options are in the modules: paths of tools in `tools`, corrections of sums in `corrections`, cones in `soil`, other
kernels in `kernel`, a density that is kept in `density`.
"""

from difsim.sph.continuum import Continuum as Continuum
from difsim.sph.equations import Viscosity as Viscosity
from difsim.sph.kernel import CubicSpline as CubicSpline
from difsim.sph.material import AbstractMaterial as AbstractMaterial
from difsim.sph.material import Murnaghan as Murnaghan
from difsim.sph.soil import DruckerPrager as DruckerPrager
from difsim.sph.tools import Tool as Tool
