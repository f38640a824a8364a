"""Files that hold what was computed: whole or absent, plain arrays with a header, named by what made them."""

from difsim.saving.arrays import read_arrays as read_arrays
from difsim.saving.arrays import read_table as read_table
from difsim.saving.arrays import write_arrays as write_arrays
from difsim.saving.arrays import write_table as write_table
from difsim.saving.marks import digest as digest
from difsim.saving.whole import save_whole as save_whole
