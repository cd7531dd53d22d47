"""Whether data-parallel ranks hold the same numbers: silent data corruption, seeds that differ, a missing broadcast.

    watch = hooktrace.precision.agree(model, optimizer, every=100)
    for batch in loader:
        ...                     # forward, backward
        optimizer.step()        # each 100th: digests of gradients before, of parameters behind it
    watch.stop()

A step with a closure makes its gradients itself: they are compared behind the step, too.

Digests of the tensors go to the collector, which compares them over the ranks while the job runs: `hookcli report` names the first step, tensor and
rank that differ. Without an optimizer, call watch.step() behind the program's own step, before gradients are set to zero.
"""
import warnings
import weakref
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Set, Tuple, Union

from .. import _native, agent
from . import values

TENSORS = 1024  # HK_AGREEMENT_TENSORS
GROUPS = 64  # HK_AGREEMENT_GROUPS
WHAT = ("parameters", "gradients", "inputs")

Pairs = List[Tuple[str, int]]

_groups: Set[str] = set()  # of this process so far


def ranks_text(ranks: Iterable[int]) -> str:
    """Ranks as text: "0,4-7"."""
    runs: List[List[int]] = []
    for rank in sorted(set(ranks)):
        if runs and runs[-1][1] + 1 == rank:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def ranks_of(group: Any) -> Optional[List[int]]:
    """The ranks of GROUP: None for all, a list of numbers, or a process group of torch."""
    if group is None:
        return None
    if isinstance(group, (list, tuple, set, frozenset, range)):
        if not group or not all(isinstance(rank, int) and rank >= 0 for rank in group):
            raise ValueError(f"invalid group {group!r}: expected ranks, 0 or higher")
        return sorted(set(group))
    import torch.distributed as distributed  # pylint: disable=import-outside-toplevel
    if hasattr(distributed, "get_process_group_ranks"):
        return list(distributed.get_process_group_ranks(group))
    return sorted(distributed.distributed_c10d._pg_group_ranks[group])  # pylint: disable=protected-access


def folded(pairs: Pairs, most: int = TENSORS) -> Pairs:
    """PAIRS, with neighbours as one if there are more than MOST: "first ... last"."""
    if len(pairs) <= most:
        return pairs
    length = -(-len(pairs) // most)
    found: Pairs = []
    for at in range(0, len(pairs), length):
        part = pairs[at:at + length]
        text = b"".join(value.to_bytes(8, "little") for _, value in part)
        found.append((f"{part[0][0]} ... {part[-1][0]}" if len(part) > 1 else part[0][0], _native.digest(text)))
    return found


def has_closure(arguments: Sequence[Any], keywords: Dict[str, Any]) -> bool:
    """Whether an optimizer's step with ARGUMENTS and KEYWORDS evaluates the model again."""
    return callable(arguments[0] if arguments else keywords.get("closure"))


class Agreement:
    """What agree() returns."""

    def __init__(self, model: Any, optimizer: Any, every: int, what: Sequence[str], group: Any, name: str) -> None:
        if not hasattr(model, "named_parameters"):
            raise TypeError(f"invalid model {type(model).__name__}: expected an object with named_parameters()")
        unknown = [word for word in what if word not in WHAT]
        if unknown or not what:
            raise ValueError(f"invalid what={what!r}: expected some of {', '.join(WHAT)}")
        if not isinstance(every, int) or every < 1:
            raise ValueError(f"invalid every={every!r}: expected a number of steps, 1 or more")
        self.model, self.every, self.what = model, every, tuple(what)
        self.number = 0  # of the step under way
        self.left_out: Dict[str, str] = {}  # tensor -> why it has no digest
        ranks = ranks_of(group)
        self._suffix = (f" of {name}" if name else "") + (f" of ranks {ranks_text(ranks)}" if ranks else "")
        wanted = _groups | {word + self._suffix for word in what}
        if len(wanted) > GROUPS:
            raise ValueError(f"cannot compare {', '.join(what)}{self._suffix}: this process compares {GROUPS} groups already (use a name= again)")
        _groups.update(wanted)
        self._undo: List[Callable[[], None]] = []
        self._automatic = optimizer is not None
        self._warned = self._untraced = False
        self._on = True
        if optimizer is not None:
            self._follow(optimizer)

    # ---- what the user calls ----

    def step(self) -> None:
        """A step of the program has ended. Raises RuntimeError if an optimizer was given, whose steps count."""
        if self._automatic:
            raise RuntimeError("cannot count a step: the optimizer's steps are counted (leave out optimizer= to call step())")
        self._before()
        self._after()

    def inputs(self, **named: Any) -> None:
        """Values that every rank should have at this step: a broadcast batch, a mask, a seed. Before the step ends."""
        if self._on and "inputs" in self.what and self._is_due():
            self._send("inputs", named.items())

    def stop(self) -> None:
        """Nothing is compared from now on. The optimizer is as it was."""
        self._on = False
        while self._undo:
            self._undo.pop()()

    # ---- how ----

    def _is_due(self) -> bool:
        return self.number % self.every == 0 and self._is_traced()

    def _is_traced(self) -> bool:
        """Whether there is an agent that takes digests. What is not compared is said once."""
        library = agent.loaded()
        if library is not None and agent.is_on(library):
            agent.load()
            return True
        if not self._untraced:
            self._untraced = True
            warnings.warn("hooktrace: numbers are not compared: this process is not traced (hookcli run, or hooktrace.start())", RuntimeWarning,
                          stacklevel=5)
        return False

    def _before(self) -> None:
        if not (self._on and "gradients" in self.what and self._is_due()):
            return
        found = [(name, parameter.grad) for name, parameter in self.model.named_parameters() if parameter.grad is not None]
        if found:
            self._send("gradients", found)
        elif not self._warned:
            self._warned = True
            warnings.warn("hooktrace: gradients are not compared: the parameters have none (call step() before gradients are set to zero)",
                          RuntimeWarning, stacklevel=4)

    def _after(self) -> None:
        if self._on and "parameters" in self.what and self._is_due():
            self._send("parameters", self.model.named_parameters())
        self.number += 1

    def _send(self, group: str, named: Iterable[Tuple[str, Any]]) -> None:
        pairs: Pairs = []
        for name, value in named:
            try:
                pairs.append((name, values.digest(value)))
            except (TypeError, ValueError) as error:
                self.left_out[f"{group} {name}"] = str(error)
        if pairs:
            _native.agree(group + self._suffix, self.number, folded(pairs))

    def _follow(self, optimizer: Any) -> None:
        """Has each step of OPTIMIZER call this object."""
        me = weakref.ref(self)

        def before(_: Any, arguments: Sequence[Any], keywords: Dict[str, Any]) -> None:
            agreement = me()
            if agreement is not None and not has_closure(arguments[1:], keywords):
                agreement._before()

        def after(_: Any, arguments: Sequence[Any], keywords: Dict[str, Any]) -> None:
            agreement = me()
            if agreement is not None and has_closure(arguments[1:], keywords):
                agreement._before()
            if agreement is not None:
                agreement._after()

        if hasattr(optimizer, "register_step_pre_hook"):
            self._undo += [optimizer.register_step_pre_hook(before).remove, optimizer.register_step_post_hook(after).remove]
            return
        original = optimizer.step

        def step(*arguments: Any, **keywords: Any) -> Any:
            before(optimizer, (optimizer, *arguments), keywords)
            result = original(*arguments, **keywords)
            after(optimizer, (optimizer, *arguments), keywords)
            return result

        def undo() -> None:
            if optimizer.__dict__.get("step") is step:
                del optimizer.step
                if getattr(original, "__func__", None) is not getattr(type(optimizer), "step", None):
                    optimizer.step = original

        # Schedulers look for this mark of their own on the method.
        step.__dict__.update(getattr(original, "__dict__", {}))
        optimizer.step = step
        self._undo.append(undo)


def agree(model: Any, optimizer: Any = None, every: int = 100, what: Sequence[str] = WHAT, group: Union[None, Sequence[int], Any] = None,
          name: str = "") -> Agreement:
    """Compares the MODEL's tensors over data-parallel ranks at each EVERY-th step, from step 0 on.

    WHAT: "parameters" behind a step; "gradients" before it, when all-reduce is done; "inputs" that Agreement.inputs() is given. OPTIMIZER: its steps
    are the steps. GROUP: the ranks that should agree, as numbers or a process group of torch; all of the job by default. NAME tells models apart.
    Raises ValueError for arguments that mean nothing.
    """
    return Agreement(model, optimizer, every, what, group, name)
