"""PyTorch imported and used a little, without threads of its own so that sums come out the same."""
import sys

import torch


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    matrix = torch.randn(64, 64)
    print((matrix @ matrix).sum().item(), torch.linalg.svd(matrix)[1][:3])
    print(sorted(name for name in sys.modules if name.startswith("torch"))[-3:])


if __name__ == "__main__":
    main()
