"""loss_scale: gradients that a GradScaler has multiplied. That they overflow is normal: the scaler leaves out the step and halves its scale."""
import sys
from typing import Any

from .. import _native
from .session import Session


def _scaler() -> Any:
    for name in ("torch.amp.grad_scaler", "torch.cuda.amp.grad_scaler"):
        found = getattr(sys.modules.get(name), "GradScaler", None)
        if found is not None:
            return found
    return None


def _scales(scaler: Any) -> None:
    _native.values_loss_scaled(bool(scaler.is_enabled()))


def _is_done(_: Any) -> None:
    _native.values_loss_scaled(False)


def follow(session: Session) -> None:
    """From a scaler's scale() to its unscale_(), step() or update(), gradients of SESSION are flagged as scaled."""
    scaler = _scaler()
    if scaler is not None:
        session.notice(scaler.scale, "torch.amp.GradScaler.scale", _scales)
        for name in ("unscale_", "step", "update"):
            session.notice(getattr(scaler, name), f"torch.amp.GradScaler.{name}", _is_done)
