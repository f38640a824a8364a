"""inversion: gradient-based inversion of forward models, independent of their physics.

Classes of results, such as `leastsq.Fit`, `tree.Tree` and `posterior.Posterior`, are in modules of their own or in
those of the functions that return them.
Laws of errors are in `noise`.
"""

from difsim.saving.checkpoint import Checkpoint as Checkpoint

from .batches import map_batched as map_batched
from .branch import branch_and_bound as branch_and_bound
from .descent import descend as descend
from .executors import open_executor as open_executor
from .identifiability import identify as identify
from .importance import Importance as Importance
from .leastsq import fit as fit
from .marquardt import Stops as Stops
from .observe import Observation as Observation
from .observe import Observations as Observations
from .pairs import corner as corner
from .parameters import Bounded as Bounded
from .parameters import Discrete as Discrete
from .parameters import Fixed as Fixed
from .parameters import Gaussian as Gaussian
from .parameters import Log as Log
from .problem import Problem as Problem
from .response import response_problem as response_problem
from .response import response_surface as response_surface
from .sampling import sample as sample
from .series import Series as Series
from .smoothed import pathwise_gradient as pathwise_gradient
from .smoothed import smoothed_gradient as smoothed_gradient
from .sweeps import sweep as sweep
from .tempered import Tempered as Tempered
