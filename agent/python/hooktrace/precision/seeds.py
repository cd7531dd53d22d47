"""seeds: the same random numbers in each run."""
import os
import random
import sys


def seed_all(seed: int = 1234, deterministic: bool = False) -> None:
    """Seeds random, NumPy, and the frameworks that the program has imported. PYTHONHASHSEED is set for programs that this one starts.
    DETERMINISTIC: torch uses algorithms that give the same result each time, and raises RuntimeError where it has none."""
    random.seed(seed)
    os.environ["PYTHONHASHSEED"] = str(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(seed)
        if deterministic:
            os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
            torch.use_deterministic_algorithms(True)
            torch.backends.cudnn.benchmark = False
    if "paddle" in sys.modules:
        sys.modules["paddle"].seed(seed)
    if "mindspore" in sys.modules:
        sys.modules["mindspore"].set_seed(seed)
