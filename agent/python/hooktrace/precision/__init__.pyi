from .reading import Dump as Dump, Elements as Elements, Row as Row, open as open
