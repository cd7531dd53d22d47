from .dumper import Dumper as Dumper
from .reading import Dump as Dump, Elements as Elements, Row as Row, open as open
from .seeds import seed_all as seed_all
from .watching import Find as Find, Watch as Watch, watch as watch
