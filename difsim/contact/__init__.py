from difsim.contact.boulder import Boulder
from difsim.contact.regolith import Regolith
