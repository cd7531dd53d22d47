"""Operators in lock-step with a golden process, which runs each of them again in double, on another device, or in another version.

    $ python -m hooktrace.precision.golden
    ipc:///run/user/1000/golden-4711

    with hooktrace.precision.validate(golden="ipc:///run/user/1000/golden-4711", operators=["torch.nn.functional.*"]) as check:
        train_one_step()
    print(check)                            # 212 calls agree, none differs; 8 random

An output differs if it is further from the golden one than rounding explains; Verdict has the rule. If the golden process dies, the program continues without it.
"""
import fnmatch
import math
import os
import sys
import threading
import traceback
import warnings
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from .. import _native
from . import exchange, golden as golden_side, nng, operators as catalog, values

TENSORLESS_MOST = 2  # calls without a tensor in the result, after which an operator is not asked about
DIFFERENCES_MOST = 1000  # kept
ROUNDING = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 2.0**-53}
SAFETY = 16.0
ROUNDINGS = 8.0  # of the largest element
ROUNDINGS_ALONE = 256.0  # where the golden process could not run the operator in this dtype


class Disagreement(ArithmeticError):
    """An operator's output is not what the golden process computed. `difference` says which."""

    def __init__(self, difference: "Difference") -> None:
        super().__init__(str(difference))
        self.difference = difference


class Difference(NamedTuple):
    """An output that differs: the operator, the number of its call, the output's number, why, how far, and the stack, outermost first."""
    operator: str
    call: int
    output: int
    reason: str
    figures: Dict[str, Any]
    stack: List[str]

    def __str__(self) -> str:
        where = f" at {self.stack[-1]}" if self.stack else ""
        return f"output {self.output} of {self.operator} (call {self.call}) differs{where}: {self.reason}"


def judge(mine: Any, golden: Any, spread: Optional[Sequence[Any]]) -> Tuple[Optional[str], Dict[str, Any]]:
    """Why MINE is not GOLDEN up to rounding, or None; and the figures. SPREAD: how far the golden process's own run in this dtype was.

    Floating: the largest difference is at most 16 times the golden process's own plus 8 roundings of the largest element (256 roundings where it has
    no such run), and NaN and Inf are at the same places. Others: no more elements differ than there.
    """
    if tuple(mine.shape) != tuple(golden.shape):
        return f"shape {tuple(mine.shape)}, golden {tuple(golden.shape)}", {}
    one, other = values.readable(mine).contiguous(), values.readable(golden).contiguous()
    if one.numel() == 0:
        return None, {}
    figures = _native.difference(values.described(one), values.described(other))
    rounding = ROUNDING.get(str(one.dtype).split(".")[-1])
    if rounding is None:
        most = int(spread[1]) if spread else 0
        unequal = figures["count"] - figures["equal"]
        return (f"{unequal} of {figures['count']} elements differ, {most} explained" if unequal > most else None), figures
    if figures["only_a"] or figures["only_b"]:
        apart = max(figures["only_a"], figures["only_b"])
        return f"{apart} elements are NaN or Inf on one side only", figures
    finite = other[other.isfinite()]
    largest = float(finite.abs().max()) if finite.numel() else 0.0
    most = SAFETY * float(spread[0]) + ROUNDINGS * rounding * largest if spread else ROUNDINGS_ALONE * rounding * largest
    most += sys.float_info.min
    if figures["max_abs"] <= most or math.isnan(figures["max_abs"]):
        return None, figures
    return (f"largest difference {figures['max_abs']:.3g} at element {figures['max_abs_at']}, rounding explains {most:.3g} "
            f"(cosine {figures['cosine']:.6f})"), figures


class _Question(NamedTuple):
    """A call that has begun: what to ask about it."""
    name: str
    call: int
    fields: Dict[str, Any]
    packer: exchange.Packer
    random: List[Any]


class Validation:
    """What validate() returns: a context within which operators are checked; and what was found."""

    def __init__(self, url: str, patterns: Sequence[str], every: int, on_differ: Union[str, Callable[[Difference], None]], timeout: float,
                 token_file: Optional[str], max_bytes: int) -> None:
        if every < 1 or not (on_differ in ("raise", "warn") or callable(on_differ)):
            raise ValueError("invalid arguments: expected every=1 or more, on_differ='raise', 'warn' or a function")
        if "://" not in url:
            raise ValueError(f"invalid golden='{url}': expected the URL that the golden process prints, as ipc://PATH or tcp://HOST:PORT")
        if not golden_side.is_local(url) and token_file is None:
            raise ValueError(f"invalid golden='{url}': another machine needs token_file= or HOOK_TOKEN_FILE")
        self.url, self.patterns, self.every, self.on_differ, self.max_bytes = url, list(patterns), every, on_differ, max_bytes
        self.calls: Dict[str, int] = {}
        self.agreed: Dict[str, int] = {}  # operator -> calls
        self.skipped: Dict[str, int] = {}  # reason -> calls
        self.differences: List[Difference] = []
        self.differing = 0
        self.lost: Optional[str] = None  # why the golden process is not asked any more
        self._timeout, self._key = timeout, exchange.key_of(golden_side.read_token(token_file))
        self._tensorless: Dict[str, int] = {}
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._number = 0
        self._socket = nng.Socket("req0", max_bytes)
        self._socket.patience(timeout)
        try:
            self._socket.dial(url)
        except nng.NngError as error:
            raise nng.NngError(f"{error} (start the golden process: python -m hooktrace.precision.golden)") from None

    # ---- what the user calls ----

    def __enter__(self) -> "Validation":
        _native.lockstep_begin(self._before, self._after)
        hooked = 0
        for api in catalog.operators():
            if any(fnmatch.fnmatchcase(api.name, pattern) for pattern in self.patterns):
                hooked += bool(_native.lockstep_hook(api.function, api.name, api.library, 0))
        _native.apis_evaluator()
        if not hooked:
            _native.lockstep_end()
            raise ValueError(f"no operator of torch matches {', '.join(self.patterns)}")
        return self

    def __exit__(self, *_: Any) -> None:
        _native.lockstep_end()

    def call(self, function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        """Calls FUNCTION here and there, and returns what it returns here. The golden process knows it by its name: of torch, or of --module."""
        name = next((api.name for api in catalog.operators() if api.function is function), getattr(function, "__name__", ""))
        question = self._ask(name, arguments, keywords, True)
        result = function(*arguments, **keywords)
        if question is not None:
            self._after(question, result)
        return result

    def step(self, model: Any, *arguments: Any, function: str = "step") -> Any:
        """Calls MODEL with ARGUMENTS, and compares with FUNCTION(state, *arguments) of --module, STATE being {name: tensor} of the model. Both sides
        begin with the same random numbers. Returns what the model returns."""
        import torch  # pylint: disable=import-outside-toplevel
        state = {name: tensor for name, tensor in model.state_dict(keep_vars=True).items() if isinstance(tensor, torch.Tensor)}
        question = self._ask(function, (state,) + arguments, {}, True)
        result = model(*arguments)
        if question is not None:
            self._after(question, result)
        return result

    def close(self) -> None:
        """Ends the connection."""
        if os.getpid() == self._pid:
            self._socket.close()

    def __str__(self) -> str:
        found = f"{self.differing} differ, first {self.differences[0]}" if self.differences else "none differs"
        skipped = "; " + ", ".join(f"{count} {reason}" for reason, count in sorted(self.skipped.items())) if self.skipped else ""
        lost = f"; {self.lost}" if self.lost else ""
        return f"{sum(self.agreed.values())} calls agree, {found}{skipped}{lost}"

    # ---- one call ----

    def _skip(self, reason: str) -> None:
        with self._lock:
            self.skipped[reason] = self.skipped.get(reason, 0) + 1

    @staticmethod
    def _random() -> List[Any]:
        """The states of all random number generators."""
        import torch  # pylint: disable=import-outside-toplevel
        states = [torch.get_rng_state()]
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            states += torch.cuda.get_rng_state_all()
        return states

    def _before(self, name: str, arguments: Tuple[Any, ...], keywords: Optional[Dict[str, Any]]) -> Optional[_Question]:
        return self._ask(name, arguments, keywords, False)

    def _ask(self, name: str, arguments: Tuple[Any, ...], keywords: Optional[Dict[str, Any]],
             always: bool) -> Optional[_Question]:
        """What to ask about a call, with its arguments as they are now. None: nothing."""
        if os.getpid() != self._pid or self._tensorless.get(name, 0) >= TENSORLESS_MOST:
            return None
        with self._lock:
            call = self.calls[name] = self.calls.get(name, 0) + 1
        if not always and (call - 1) % self.every != 0:
            return None
        if self.lost:
            self._skip("not asked: the golden process is lost")
            return None
        try:
            packer = exchange.Packer()
            random = self._random()
            fields = {"name": name, "spread": True, "arguments": packer.pack(tuple(arguments)), "keywords": packer.pack(keywords or None)}
            fields["random"] = packer.pack(random[0]) if always else None
        except exchange.Unsupported as error:
            self._skip(f"not sent: {error}")
            return None
        if packer.bytes > self.max_bytes // 2:
            self._skip("too large")
            return None
        # Tensors of this process's memory are the ones that the call may change: they are copied now.
        packer.memories = [bytes(memory) for memory in packer.memories]
        packer.kept.clear()
        return _Question(name, call, fields, packer, random)

    def _after(self, question: _Question, result: Any) -> None:
        import torch  # pylint: disable=import-outside-toplevel
        outputs = exchange.tensors_of(result)
        if not outputs:
            self._tensorless[question.name] = self._tensorless.get(question.name, 0) + 1
            return
        random = any(not torch.equal(one, other) for one, other in zip(question.random, self._random()))
        if random and question.fields["random"] is None:
            self._skip("random")
            return
        answer = self._exchange(question)
        if answer is None:
            return
        if random and answer.fields.get("widened"):
            self._skip("random")  # other dtypes draw other numbers
            return
        if answer.kind != exchange.ANSWER:
            self._skip(f"not computed: {str(answer.fields.get('error'))[:200]}")
            return
        try:
            unpacker = exchange.Unpacker(answer)
            golden = [unpacker.unpack(output) for output in answer.fields["outputs"]]
            spreads = answer.fields["spreads"]
        except (exchange.Refused, KeyError, TypeError) as error:
            self._lose(f"the golden process's answer is refused: {error}")
            return
        self._compare(question, outputs, golden, spreads)

    def _compare(self, question: _Question, outputs: List[Any], golden: List[Any], spreads: List[Any]) -> None:
        if len(outputs) != len(golden):
            self._differ(question, 0, f"{len(outputs)} outputs, golden {len(golden)}", {})
            return
        for number, (mine, other) in enumerate(zip(outputs, golden)):
            try:
                reason, figures = judge(mine, other, spreads[number])
            except (TypeError, ValueError) as error:
                self._skip(f"not compared: {error}")
                return
            if reason:
                self._differ(question, number, reason, figures)
                return
        with self._lock:
            self.agreed[question.name] = self.agreed.get(question.name, 0) + 1

    def _differ(self, question: _Question, output: int, reason: str, figures: Dict[str, Any]) -> None:
        here = os.path.dirname(os.path.abspath(__file__))
        frames = [frame for frame in traceback.extract_stack() if not os.path.abspath(frame.filename).startswith(here)]
        stack = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
        difference = Difference(question.name, question.call, output, reason, figures, stack)
        with self._lock:
            self.differing += 1
            if len(self.differences) < DIFFERENCES_MOST:
                self.differences.append(difference)
        if callable(self.on_differ):
            self.on_differ(difference)
        elif self.on_differ == "raise":
            raise Disagreement(difference)
        else:
            warnings.warn(f"hooktrace: {difference}", RuntimeWarning, stacklevel=2)

    # ---- the golden process ----

    def _exchange(self, question: _Question) -> Optional[exchange.Message]:
        """The answer to QUESTION, or None if none came: no further one is asked then."""
        with self._lock:
            if self.lost:
                self._skip("not asked: the golden process is lost")
                return None
            self._number += 1
            try:
                message = exchange.encode(exchange.CALL, {**question.fields, "number": self._number}, question.packer.memories, self._key)
                self._socket.send(message)
                answer = exchange.decode(self._socket.receive(), self._key)
            except exchange.Unsupported as error:
                self._skip(f"not sent: {error}")
                return None
            except (nng.NngError, exchange.Refused) as error:
                self._lose(f"the golden process at {self.url} is lost after {self._number - 1} answers: {error}")
                return None
            if answer.fields.get("number") not in (self._number, None):
                self._lose("the golden process answered another question")
                return None
            return answer

    def _lose(self, reason: str) -> None:
        self.lost = reason
        self._skip("not answered")
        warnings.warn(f"hooktrace: {reason}; the program continues without it", RuntimeWarning, stacklevel=2)


def validate(golden: str, operators: Union[str, Sequence[str]] = "torch.*", every: int = 1,
             on_differ: Union[str, Callable[[Difference], None]] = "warn", timeout: float = 30.0, token_file: Optional[str] = None,
             max_bytes: int = 1 << 30) -> Validation:
    """Checks operators of torch against the golden process at the URL GOLDEN, within `with`; or single calls by call() and step().

    OPERATORS: shell patterns of their names. EVERY: each EVERY-th call of an operator, from the first on. ON_DIFFER: "warn", "raise" (Disagreement,
    from the call), or a function that is given a Difference. TIMEOUT: seconds to wait for an answer; when none comes, validation ends, and the
    program continues. TOKEN_FILE: of the golden process, for another machine (default: HOOK_TOKEN_FILE). MAX_BYTES: calls with more are skipped.
    Raises ValueError for invalid arguments, NngError without libnng.
    """
    patterns = [operators] if isinstance(operators, str) else list(operators)
    return Validation(golden, patterns, every, on_differ, timeout, token_file or os.environ.get("HOOK_TOKEN_FILE"), max_bytes)
