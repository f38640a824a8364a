"""Files of arrays with a header, complete or absent, and named by a hash of what they were computed from."""

from difsim.saving.arrays import read_arrays as read_arrays
from difsim.saving.arrays import read_table as read_table
from difsim.saving.arrays import write_arrays as write_arrays
from difsim.saving.arrays import write_table as write_table
from difsim.saving.marks import digest as digest
