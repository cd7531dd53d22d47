"""catalog: which APIs a framework has, from the version that is loaded.

Nothing here is a list of operators: the modules are walked. A function or method is an API under the first name that is found
for its object, in the order of `Framework`; a second name of the same object is the same API.
"""
import sys
import types
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Set, Tuple

_FUNCTIONS = (types.BuiltinFunctionType, types.FunctionType)
_METHODS = (types.MethodDescriptorType, types.FunctionType)

# Special methods that are no operators of a tensor: Python calls them to look at an object, to copy it, or to make one.
_NO_OPERATORS = frozenset(
    "__torch_function__ __torch_dispatch__ __init__ __new__ __del__ __hash__ __dir__ __repr__ __str__ __format__ __reduce__ __reduce_ex__ "
    "__setstate__ __getstate__ __deepcopy__ __copy__ __getattr__ __getattribute__ __setattr__ __delattr__ __init_subclass__ "
    "__class_getitem__ __subclasshook__ __sizeof__ __call__ __instancecheck__ __subclasscheck__".split())


class Framework(NamedTuple):
    """Where a framework keeps its APIs. All names are dotted, and what an installed version lacks is passed over.

    NAME is the module to import, and the domain of its calls. NAMESPACES are modules whose public functions are APIs. TENSORS
    are classes whose public methods and operators are. LAYERS are pairs of a module and a base class: calls of objects of the
    module's public subclasses are APIs. INSIDE are modules of functions that the others are made of. SKIP are helpers.
    """
    name: str
    namespaces: Tuple[str, ...] = ()
    tensors: Tuple[str, ...] = ()
    layers: Tuple[Tuple[str, str], ...] = ()
    inside: Tuple[str, ...] = ()
    skip: Tuple[str, ...] = ()


FRAMEWORKS: Dict[str, Framework] = {framework.name: framework for framework in (
    Framework(
        name="torch",
        namespaces=("torch.nn.functional", "torch.linalg", "torch.fft", "torch.special", "torch.distributed", "torch"),
        tensors=("torch.Tensor",),
        layers=(("torch.nn", "torch.nn.Module"),),
        inside=("torch._C._nn", "torch._C._linalg", "torch._C._fft", "torch._C._special", "torch._C._sparse", "torch._C._nested",
                "torch._C._VariableFunctions"),
        skip=("boolean_dispatch", "handle_torch_function", "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic",
              "assert_int_or_pair", "classproperty", "get_file_path", "prepare_multiprocessing_environment", "typename"),
    ),
    Framework(
        name="paddle",
        namespaces=("paddle.nn.functional", "paddle.linalg", "paddle.fft", "paddle.distributed", "paddle"),
        tensors=("paddle.Tensor",),
        layers=(("paddle.nn", "paddle.nn.Layer"),),
        inside=("paddle._C_ops",),
        skip=("in_dynamic_mode", "in_dynamic_or_pir_mode"),
    ),
    Framework(
        name="mindspore",
        namespaces=("mindspore.ops", "mindspore.mint.nn.functional", "mindspore.mint.linalg", "mindspore.mint", "mindspore.numpy"),
        tensors=("mindspore.Tensor",),
        layers=(("mindspore.nn", "mindspore.nn.Cell"), ("mindspore.mint.nn", "mindspore.nn.Cell"), ("mindspore.ops", "mindspore.ops.Primitive")),
        inside=("mindspore._c_expression",),
    ),
)}


class Api(NamedTuple):
    """One function or method, as users write it, and the module it belongs to."""
    name: str
    library: str
    function: Any


class Layers(NamedTuple):
    """The function that calls objects of many classes, and the name of each class."""
    name: str
    library: str
    function: Any
    classes: Dict[type, str]


def resolve(dotted: str) -> Optional[Any]:
    """The object at DOTTED below a module that the program has imported, or None. Imports nothing."""
    parts = dotted.split(".")
    for many in range(len(parts), 0, -1):
        found = sys.modules.get(".".join(parts[:many]))
        if found is None:
            continue
        for part in parts[many:]:
            found = getattr(found, part, None)
            if found is None:
                break
        else:
            return found
    return None


def _members(namespace: Any) -> Dict[str, Any]:
    """Names and values. A namespace of functions may be an object, which lists its names but does not hold them itself."""
    if isinstance(namespace, (types.ModuleType, type)):
        return dict(vars(namespace))
    return {name: getattr(namespace, name) for name in dir(namespace)}


def _of_framework(value: Any, framework: Framework) -> bool:
    """Whether a function belongs to the framework: those in C often do not say."""
    module = getattr(value, "__module__", None) or framework.name
    return not isinstance(value, types.FunctionType) or module.split(".")[0] == framework.name


def _functions(framework: Framework, dotted: str, private: bool) -> Iterator[Api]:
    namespace = resolve(dotted)
    for name, value in sorted(_members(namespace).items()) if namespace is not None else ():
        # Its own type: an object may answer for another, and warn.
        if type(value) not in _FUNCTIONS or name in framework.skip or name.startswith("__") or (name.startswith("_") and not private):
            continue
        if _of_framework(value, framework):
            yield Api(f"{dotted}.{name}", dotted, value)


def _is_method(name: str) -> bool:
    special = name.startswith("__") and name.endswith("__")
    return name not in _NO_OPERATORS if special else not name.startswith("_")


def _methods(framework: Framework, dotted: str) -> Iterator[Api]:
    tensor = resolve(dotted)
    # The class written in C comes before the one that adds to it in Python.
    for base in reversed(tensor.__mro__[:-1]) if isinstance(tensor, type) else ():
        for name, value in sorted(vars(base).items()):
            if type(value) in _METHODS and _is_method(name) and _of_framework(value, framework):
                yield Api(f"{dotted}.{name}", dotted, value)


def functions(framework: Framework, inside: bool) -> Iterator[Api]:
    """All functions and methods of FRAMEWORK, each object once; with INSIDE also what these are made of."""
    seen: Set[int] = set()
    sources = [_functions(framework, name, False) for name in framework.namespaces]
    sources += [_methods(framework, name) for name in framework.tensors]
    sources += [_functions(framework, name, True) for name in framework.inside if inside]
    for source in sources:
        for api in source:
            if id(api.function) not in seen:
                seen.add(id(api.function))
                yield api


def _call(layer: type) -> Optional[Any]:
    """The function that calls objects of LAYER, or None if it is not written in Python."""
    found = next((vars(base)["__call__"] for base in layer.__mro__ if "__call__" in vars(base)), None)
    return found if isinstance(found, types.FunctionType) else None


def layers(framework: Framework) -> List[Layers]:
    """The classes of FRAMEWORK whose objects are called, in groups with one function each."""
    groups: Dict[int, Layers] = {}
    for dotted, base_name in framework.layers:
        namespace, base = resolve(dotted), resolve(base_name)
        if namespace is None or not isinstance(base, type):
            continue
        for name, value in sorted(vars(namespace).items()):
            if not isinstance(value, type) or not issubclass(value, base) or value is base or name.startswith("_"):
                continue
            call = _call(value)
            if call is not None:
                groups.setdefault(id(call), Layers(base_name, dotted, call, {})).classes.setdefault(value, f"{dotted}.{name}")
    return list(groups.values())
