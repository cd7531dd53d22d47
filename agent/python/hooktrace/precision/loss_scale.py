"""loss_scale: gradients that a GradScaler has multiplied. That they overflow is normal: the scaler leaves out the step and halves its scale."""
import sys
from typing import Any, Callable, List, Optional

from .. import _native
from .session import Session


def _scalers() -> List[Any]:
    """torch's GradScaler, and that of torch_npu, which has methods of its own."""
    of_torch = [getattr(sys.modules.get(name), "GradScaler", None) for name in ("torch.amp.grad_scaler", "torch.cuda.amp.grad_scaler")]
    of_npu = getattr(sys.modules.get("torch_npu.npu.amp.grad_scaler"), "GradScaler", None)
    return [found for found in (of_torch[0] or of_torch[1], of_npu) if found is not None]


def _is_done(_: Any) -> None:
    _native.values_loss_scaled(False)


def follow(session: Session, scaled: Optional[Callable[[], None]] = None) -> None:
    """From a scaler's scale() to its unscale_(), step() or update(), gradients of SESSION are flagged as scaled. SCALED is called when they begin
    to be."""
    def scales(scaler: Any) -> None:
        is_scaled = bool(scaler.is_enabled())
        _native.values_loss_scaled(is_scaled)
        if is_scaled and scaled is not None:
            scaled()

    for scaler in _scalers():
        session.notice(scaler.scale, "torch.amp.GradScaler.scale", scales)
        for name in ("unscale_", "step", "update"):
            session.notice(getattr(scaler, name), f"torch.amp.GradScaler.{name}", _is_done)
