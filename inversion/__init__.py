"""inversion: gradient-based inversion of forward models; knows no physics."""

from .leastsq import Fit as Fit
from .leastsq import Stops as Stops
from .leastsq import fit as fit
from .observe import Observation as Observation
from .observe import Observations as Observations
from .outcome import Calls as Calls
from .outcome import Status as Status
from .parameters import Bounded as Bounded
from .parameters import Discrete as Discrete
from .parameters import Fixed as Fixed
from .parameters import Gaussian as Gaussian
from .parameters import Log as Log
from .problem import Problem as Problem
from .sweeps import Checkpoint as Checkpoint
from .sweeps import map_batched as map_batched
from .sweeps import sweep as sweep
