"""Workers of a DataLoader, forked and spawned, and other programs started by one that has PyTorch loaded."""
import subprocess
import sys

import torch
from torch.utils.data import DataLoader, Dataset

ITEMS = 64


class Numbers(Dataset):
    def __len__(self):
        return ITEMS

    def __getitem__(self, index):
        return torch.full((8, 8), float(index)), index


def main():
    torch.manual_seed(1)
    total = 0.0
    for method in "fork", "spawn":
        for tensors, indices in DataLoader(Numbers(), batch_size=8, num_workers=2, shuffle=True, multiprocessing_context=method):
            total += float(tensors.sum() * indices.sum())
    print(total)
    print(subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True, text=True, check=True).stdout)
    print(subprocess.check_output("echo $((1 + 1)) | cat", shell=True, text=True))


if __name__ == "__main__":
    main()
