"""Smoothed particle hydrodynamics of elastic and plastic solids."""

from difsim.sph.continuum import Continuum as Continuum
from difsim.sph.continuum import ContinuumMotion as ContinuumMotion
from difsim.sph.continuum import ContinuumState as ContinuumState
from difsim.sph.corrections import XSPH as XSPH
from difsim.sph.corrections import AbstractCorrection as AbstractCorrection
from difsim.sph.corrections import ArtificialStress as ArtificialStress
from difsim.sph.corrections import GradientCorrection as GradientCorrection
from difsim.sph.density import AbstractDensity as AbstractDensity
from difsim.sph.density import Continuity as Continuity
from difsim.sph.density import FixedDensity as FixedDensity
from difsim.sph.equations import Viscosity as Viscosity
from difsim.sph.kernel import AbstractKernel as AbstractKernel
from difsim.sph.kernel import CubicSpline as CubicSpline
from difsim.sph.kernel import WendlandC2 as WendlandC2
from difsim.sph.material import AbstractMaterial as AbstractMaterial
from difsim.sph.material import Murnaghan as Murnaghan
from difsim.sph.soil import Compression as Compression
from difsim.sph.soil import DruckerPrager as DruckerPrager
from difsim.sph.soil import PlaneStrain as PlaneStrain
from difsim.sph.tools import AbstractPath as AbstractPath
from difsim.sph.tools import Carried as Carried
from difsim.sph.tools import Fixed as Fixed
from difsim.sph.tools import Sliding as Sliding
from difsim.sph.tools import Stopping as Stopping
from difsim.sph.tools import Tool as Tool
from difsim.sph.tools import Turning as Turning
