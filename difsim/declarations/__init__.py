"""Declarations of the fields of Modules: unit, meaning and bounds of each number, once, and rules between numbers.

    class Regolith(eqx.Module):
        thickness: Scalar = quantity("m", "depth h_c of the layer", gt=0, usual=(0.01, 50), slip="cm")
        gravity: Scalar = quantity("m/s²", "gravity g, the weight of the overburden", ge=0, default=1.7e-4)
        surface_energy: Scalar = quantity("J/m²", "surface energy γ", ge=0, default=0.02)

        @rule("grains without weight or cohesion have no strength: give gravity or surface_energy")
        def _has_strength(self):
            return (self.gravity > 0) | (self.surface_energy > 0)

A constructor refuses a wrong number by class, field and bound. `is_valid` finds wrong ones that are traced.
`quantities` gives the declarations to files, options, documentation and tests.
"""

from difsim.declarations.bounds import Quantity as Quantity
from difsim.declarations.bounds import UnitQuaternion as UnitQuaternion
from difsim.declarations.documentation import add_arguments as add_arguments
from difsim.declarations.documentation import complete_docstrings as complete_docstrings
from difsim.declarations.fields import count as count
from difsim.declarations.fields import custom_field as custom_field
from difsim.declarations.fields import declared_fields as declared_fields
from difsim.declarations.fields import part as part
from difsim.declarations.fields import quantities as quantities
from difsim.declarations.fields import quantity as quantity
from difsim.declarations.fields import quaternion as quaternion
from difsim.declarations.fields import variable as variable
from difsim.declarations.rules import is_valid as is_valid
from difsim.declarations.rules import rule as rule
