from .dumper import Dumper as Dumper
from .formats.msprobe import export_msprobe as export_msprobe
from .formats.ptdbg import export_ptdbg as export_ptdbg
from .reading import Dump as Dump, Elements as Elements, Row as Row, open as open
from .seeds import seed_all as seed_all
from .watching import Find as Find, Watch as Watch, watch as watch
