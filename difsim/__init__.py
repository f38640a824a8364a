"""difsim: a differentiable simulator of small-body contact.

Models, fields, shapes and laws are in the sub-packages: `from difsim import dynamics, gravity`. A sub-package has the
names that a user writes. What only the library, or one study, calls is imported from its module.
"""

from difsim.declarations import complete_docstrings
from difsim.rotation import Rotation as Rotation
from difsim.session import configure as configure
from difsim.status import Status as Status
from difsim.stepping.derivatives import Forward as Forward
from difsim.stepping.derivatives import Reverse as Reverse
from difsim.stepping.derivatives import Unrolled as Unrolled
from difsim.stepping.marching import allocate as allocate
from difsim.stepping.running import run as run
from difsim.stepping.solution import Solution as Solution
from difsim.stepping.solve import simulate as simulate
from difsim.stepping.solvers import Adaptive as Adaptive
from difsim.stepping.solvers import Courant as Courant
from difsim.stepping.solvers import FixedSteps as FixedSteps
from difsim.stepping.stops import AtContact as AtContact
from difsim.stepping.stops import AtRest as AtRest
from difsim.stepping.stops import MaxImpacts as MaxImpacts
from difsim.stepping.stops import Outside as Outside
from difsim.stepping.transitions import transition as transition
from difsim.stepping.trust import Ignore as Ignore

complete_docstrings("difsim")
