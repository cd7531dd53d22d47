#!/usr/bin/python3
"""The readers of .npy and .pt files of hookcli compare, beside NumPy and torch: each dtype, order of elements, stride and offset bit by bit;
what is no tensor, compressed, cut or damaged is refused with a reason."""
import io
import json
import os
import random
import zipfile

import numpy
import torch

from harness import Run, expect, expect_true, main

NPY = ["bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64"]
TORCH = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]
LATER = ["uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2"]  # of torch from 2.3 on
SHAPES = [(), (0,), (1,), (7,), (3, 4), (2, 0, 5), (2, 3, 4, 5)]


def read(run: Run, paths):
    lines = run.command(run.workload("dump_print"), "array", *paths).stdout.splitlines()
    expect("arrays read", len(lines), len(paths))
    return [json.loads(line) for line in lines]


def bits(random_source, dtype, shape):
    count = 1
    for size in shape:
        count *= size
    size = numpy.dtype(dtype).itemsize
    content = random_source.bytes(count * size)
    if dtype == "bool":
        content = bytes(byte & 1 for byte in content)
    return numpy.frombuffer(content, dtype).reshape(shape)


def npy_files(run: Run):
    """path -> (dtype, shape, bytes in C order)"""
    source, truth = numpy.random.default_rng(17), {}
    for dtype in NPY:
        for shape in SHAPES:
            array = bits(source, dtype, shape)
            forms = [("c", array, (1, 0)), ("f", numpy.asfortranarray(array), (2, 0)), ("n", array, (3, 0)),
                     ("big", array.astype(array.dtype.newbyteorder(">")), (1, 0)),
                     ("bigf", numpy.asfortranarray(array.astype(array.dtype.newbyteorder(">"))), (1, 0)),
                     ("cut", array[..., ::2] if array.ndim else array, (1, 0))]
            for form, stored, version in forms:
                path = run.path(f"{dtype}-{len(truth)}-{form}.npy")
                with open(path, "wb") as stream:
                    numpy.lib.format.write_array(stream, stored, version=version)
                truth[path] = (dtype, stored.shape, numpy.ascontiguousarray(stored).astype(dtype).tobytes())
    return truth


def tensor_bytes(tensor):
    flat = tensor.detach().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""


def views(tensor):
    yield "whole", tensor
    if tensor.dim() >= 2:
        yield "turned", tensor.transpose(0, -1)
        yield "part", tensor[1:, :2]
        yield "every", tensor[:, ::2]
    if tensor.dim() >= 1 and tensor.numel():
        yield "wide", tensor[:1].expand(4, *tensor.shape[1:]) if tensor.dim() == 1 else tensor.unsqueeze(0).expand(3, *tensor.shape)
        yield "last", tensor[-1]
    if tensor.is_floating_point():
        yield "parameter", torch.nn.Parameter(tensor)
        yield "wanted", tensor.clone().requires_grad_()


def pt_files(run: Run):
    source, truth = numpy.random.default_rng(18), {}
    for dtype in TORCH + [name for name in LATER if hasattr(torch, name)]:
        size = torch.empty(0, dtype=getattr(torch, dtype)).element_size()
        for shape in SHAPES:
            plain = bits(source, "bool" if dtype == "bool" else f"uint{8 * size}", shape)
            flat = torch.frombuffer(bytearray(plain.tobytes()), dtype=getattr(torch, dtype)) if plain.size else torch.empty(0, dtype=getattr(torch, dtype))
            for form, tensor in views(flat.reshape(shape)):
                path = run.path(f"{dtype}-{len(truth)}-{form}.pt")
                torch.save(tensor, path)
                truth[path] = (dtype, tuple(tensor.shape), tensor_bytes(tensor))
                again = run.path(f"{dtype}-{len(truth)}-{form}-4.pt")
                torch.save(tensor, again, pickle_protocol=4)
                truth[again] = truth[path]
    return truth


def check_equal(run: Run, truth):
    for path, found in zip(truth, read(run, truth)):
        dtype, shape, content = truth[path]
        name = os.path.basename(path)
        expect(f"{name}: reason", found.get("error"), None)
        expect(f"{name}: dtype", found["dtype"], dtype)
        expect(f"{name}: shape", tuple(found["shape"]), tuple(shape))
        expect_true(f"{name}: its elements differ", found["elements"] == content.hex())


def write(run: Run, name, content):
    with open(run.path(name), "wb") as stream:
        stream.write(content)
    return run.path(name)


def saved(value, **options):
    stream = io.BytesIO()
    torch.save(value, stream, **options)
    return stream.getvalue()


def npy_bytes(array, **options):
    stream = io.BytesIO()
    numpy.save(stream, array, **options)
    return stream.getvalue()


def compressed(content):
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name) + b" " * 100 * (not name.endswith("pkl")))
    return stream.getvalue()


def check_refused(run: Run):
    whole, array = saved(torch.arange(12.0).reshape(3, 4)), npy_bytes(numpy.arange(12.0).reshape(3, 4))
    wanted = {
        "list.pt": (saved([torch.ones(2)]), "something else than one tensor"),
        "dict.pt": (saved({"a": torch.ones(2)}), "something else than one tensor"),
        "number.pt": (saved(3), "something else than one tensor"),
        "sparse.pt": (saved(torch.eye(3).to_sparse()), "_get_layout"),
        "code.pt": (saved(os.getcwd), "is not one of a tensor's pickle|something else"),
        "complex.pt": (saved(torch.ones(2, dtype=torch.complex64)), "ComplexFloatStorage"),
        "old.pt": (saved(torch.ones(2), _use_new_zipfile_serialization=False), "neither"),
        "deflated.pt": (compressed(whole), "compressed"),
        "cut.pt": (whole[:-30], "cut"),
        "cut.npy": (array[:-1], "cut"),
        "head.npy": (array[:20], "cut within its header"),
        "future.npy": (array[:6] + b"\x09" + array[7:], "version 9"),
        "records.npy": (npy_bytes(numpy.zeros(2, [("a", "f4"), ("b", "i4")])), "not that of an array"),
        "objects.npy": (npy_bytes(numpy.array([{}], dtype=object), allow_pickle=True), r'"\|O"'),
        "complex.npy": (npy_bytes(numpy.zeros(2, "c8")), '"<c8"'),
        "text.npy": (npy_bytes(numpy.array(["ab"])), '"<U2"'),
        "empty.npy": (b"", "neither"),
        "other.npy": (b"hello world", "neither"),
        "huge.npy": (array[:10] + array[10:].replace(b"(3, 4)", b"(9999999999999, 9999999999999)"), "cut|header"),
    }
    paths = [write(run, name, content) for name, (content, _) in wanted.items()]
    for path, found in zip(paths + [run.directory, run.path("absent.npy")], read(run, paths + [run.directory, run.path("absent.npy")])):
        pattern = wanted.get(os.path.basename(path), (b"", "Invalid argument|No such file"))[1]
        expect_true(f"{os.path.basename(path)}: {found}", any(one in found.get("error", "") for one in pattern.replace("\\", "").split("|")))


def check_damaged(run: Run):
    """Whatever one byte of a file becomes, the reader ends by itself, with a tensor or a reason."""
    source = random.Random(19)
    whole = [saved(torch.arange(12.0).reshape(3, 4).t()), npy_bytes(numpy.arange(12.0).reshape(3, 4))]
    paths = []
    for number in range(400):
        content = bytearray(whole[number % 2])
        for _ in range(source.choice([1, 1, 4])):
            content[source.randrange(len(content))] = source.randrange(256)
        paths.append(write(run, f"damaged-{number}", bytes(content[:source.choice([len(content), len(content), source.randrange(len(content))])])))
    for found in read(run, paths):
        expect_true(f"{found}", "error" in found or found["dtype"])


def test(run: Run):
    check_equal(run, npy_files(run))
    check_equal(run, pt_files(run))
    check_refused(run)
    check_damaged(run)


main(test)
