"""framework_program FRAMEWORK WEIGHTS.npz STORE DTYPE: the same small network in torch, paddle or mindspore, forward, with the values of
each call dumped to STORE. Prints the largest logit of each image, from the framework itself."""
import sys

import numpy

import hooktrace.precision


def torch_forward(arrays, dtype):
    import torch
    from torch.nn import functional
    one = {name: torch.from_numpy(array).to(getattr(torch, dtype)) for name, array in arrays.items()}

    def forward():
        x = functional.max_pool2d(functional.relu(functional.conv2d(one["images"], one["first"], one["first_bias"], padding=1)), 2)
        x = functional.relu(functional.conv2d(x, one["second"], one["second_bias"], padding=1))
        x = functional.linear(x.flatten(1), one["out"], one["out_bias"])
        return functional.softmax(x, dim=-1)
    return forward, lambda x: x.float().numpy()


def paddle_forward(arrays, dtype):
    import paddle
    from paddle.nn import functional
    one = {name: paddle.to_tensor(array).astype(dtype) for name, array in arrays.items()}
    one["out"] = paddle.to_tensor(arrays["out"].T.copy()).astype(dtype)

    def forward():
        x = functional.max_pool2d(functional.relu(functional.conv2d(one["images"], one["first"], one["first_bias"], padding=1)), 2)
        x = functional.relu(functional.conv2d(x, one["second"], one["second_bias"], padding=1))
        x = functional.linear(x.flatten(1), one["out"], one["out_bias"])
        return functional.softmax(x, axis=-1)
    return forward, lambda x: x.astype("float32").numpy()


def mindspore_forward(arrays, dtype):
    import mindspore
    from mindspore import ops
    one = {name: mindspore.Tensor(array, getattr(mindspore, dtype)) for name, array in arrays.items()}

    def forward():
        x = ops.max_pool2d(ops.relu(ops.conv2d(one["images"], one["first"], one["first_bias"], pad_mode="pad", padding=1)), 2, 2)
        x = ops.relu(ops.conv2d(x, one["second"], one["second_bias"], pad_mode="pad", padding=1))
        x = ops.dense(x.flatten(start_dim=1), one["out"], one["out_bias"])
        return ops.softmax(x, axis=-1)
    return forward, lambda x: x.astype(mindspore.float32).asnumpy()


def main():
    framework, weights, store, dtype = sys.argv[1:]
    forward, back = {"torch": torch_forward, "paddle": paddle_forward, "mindspore": mindspore_forward}[framework](
        dict(numpy.load(weights)), dtype)
    with hooktrace.precision.Dumper(store, task="tensor", backward=False, quiet=True) as dumper:
        result = forward()
        dumper.step()
    print(back(result).argmax(axis=1).tolist())


if __name__ == "__main__":
    main()
