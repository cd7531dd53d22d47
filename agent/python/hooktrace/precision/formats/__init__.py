"""Files of other tools: NumPy's .npy, torch's .pt, the dumps of ptdbg_ascend and msprobe. Neither NumPy nor torch is needed."""
