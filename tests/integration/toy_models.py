"""toy_models: a small transformer and a small CNN in NumPy that train on several ranks and dump every call, for tests.

It stands for a framework: operators with their gradients, data parallelism (the mean of the gradients over all ranks after each
step), plain gradient descent. A Fault changes one operator, or memory, of one rank in one step.
"""
import numpy

from dumps import BACKWARD, FORWARD, GRADIENT, INPUT, MODULE, OUTPUT, PARAMETER, STATE, Rank, Tensor, bfloat16


class Fault:
    """At call number CALL of the forward pass (or backward pass) of RANK in STEP: KIND is bit, nan, cast, scale, transposed or memory."""

    def __init__(self, kind, rank, step, call, phase=FORWARD, seed=0):
        self.kind, self.rank, self.step, self.call, self.phase = kind, rank, step, call, phase
        self.random = numpy.random.default_rng(seed)
        self.name = None

    def applies(self, model, phase, call):
        return (model.rank, model.step, phase, call) == (self.rank, self.step, self.phase, self.call)

    def spoil(self, value):
        value = numpy.array(value, dtype=numpy.float32, order="C")
        flat = value.reshape(-1)
        at = int(self.random.integers(flat.size))
        if self.kind == "nan":
            flat[at] = numpy.nan
        elif self.kind == "cast":
            value = bfloat16(value)
        elif self.kind == "scale":
            value = value * numpy.float32(1.5)
        else:
            flat.view(numpy.uint32)[at] ^= numpy.uint32(1) << numpy.uint32(self.random.integers(0, 31) if self.kind == "bit" else 0)
        return value


# Each operator: forward(values, options) -> (value, kept), backward(gradient, values, kept, options) -> gradients of the inputs.
def _linear(v, _):
    return v[0] @ v[1].T + v[2], None


def _linear_back(g, v, _, __):
    flat, x = g.reshape(-1, g.shape[-1]), v[0].reshape(-1, v[0].shape[-1])
    return g @ v[1], flat.T @ x, flat.sum(0)


def _norm(v, _):
    mean, deviation = v[0].mean(-1, keepdims=True), numpy.sqrt(v[0].var(-1, keepdims=True) + 1e-5)
    hat = (v[0] - mean) / deviation
    return hat * v[1] + v[2], (hat, deviation)


def _norm_back(g, v, kept, _):
    hat, deviation = kept
    inner = g * v[1]
    back = (inner - inner.mean(-1, keepdims=True) - hat * (inner * hat).mean(-1, keepdims=True)) / deviation
    axes = tuple(range(g.ndim - 1))
    return back, (g * hat).sum(axes), g.sum(axes)


def _batch_norm(v, _):
    mean, deviation = v[0].mean((0, 2, 3), keepdims=True), numpy.sqrt(v[0].var((0, 2, 3), keepdims=True) + 1e-5)
    hat = (v[0] - mean) / deviation
    return hat * v[1][:, None, None] + v[2][:, None, None], (hat, deviation)


def _batch_norm_back(g, v, kept, _):
    hat, deviation = kept
    inner = g * v[1][:, None, None]
    back = (inner - inner.mean((0, 2, 3), keepdims=True) - hat * (inner * hat).mean((0, 2, 3), keepdims=True)) / deviation
    return back, (g * hat).sum((0, 2, 3)), g.sum((0, 2, 3))


def _softmax(v, _):
    e = numpy.exp(v[0] - v[0].max(-1, keepdims=True))
    out = e / e.sum(-1, keepdims=True)
    return out, out


def _softmax_back(g, _, out, __):
    return ((g - (g * out).sum(-1, keepdims=True)) * out,)


def _gelu(v, _):
    t = numpy.tanh(0.7978845608 * (v[0] + 0.044715 * v[0] ** 3))
    return 0.5 * v[0] * (1 + t), t


def _gelu_back(g, v, t, _):
    return (g * (0.5 * (1 + t) + 0.5 * v[0] * (1 - t * t) * 0.7978845608 * (1 + 3 * 0.044715 * v[0] ** 2)),)


def _patches(x, size):
    padded = numpy.pad(x, ((0, 0), (0, 0), (size // 2,) * 2, (size // 2,) * 2))
    return numpy.lib.stride_tricks.sliding_window_view(padded, (size, size), (2, 3))


def _conv(v, _):
    patches = _patches(v[0], v[1].shape[-1])
    return numpy.einsum("nchwij,ocij->nohw", patches, v[1], optimize=True) + v[2][:, None, None], patches


def _conv_back(g, v, patches, _):
    flipped = v[1][:, :, ::-1, ::-1]
    back = numpy.einsum("nohwij,ocij->nchw", _patches(g, v[1].shape[-1]), flipped, optimize=True)
    return back, numpy.einsum("nohw,nchwij->ocij", g, patches, optimize=True), g.sum((0, 2, 3))


def _pool(v, _):
    n, c, h, w = v[0].shape
    cells = v[0].reshape(n, c, h // 2, 2, w // 2, 2)
    out = cells.max((3, 5))
    return out, cells == out[:, :, :, None, :, None]


def _pool_back(g, v, mask, _):
    return ((mask * g[:, :, :, None, :, None]).reshape(v[0].shape),)


def _entropy(v, _):
    shifted = v[0] - v[0].max(-1, keepdims=True)
    chances = numpy.exp(shifted) / numpy.exp(shifted).sum(-1, keepdims=True)
    picked = numpy.take_along_axis(chances.reshape(-1, chances.shape[-1]), v[1].reshape(-1, 1), 1)
    return -numpy.log(picked).mean(), chances


def _entropy_back(g, v, chances, _):
    flat = chances.reshape(-1, chances.shape[-1]).copy()
    flat[numpy.arange(flat.shape[0]), v[1].reshape(-1)] -= 1
    return (g * flat.reshape(chances.shape) / flat.shape[0],)


OPERATORS = {
    "torch.nn.functional.linear": (_linear, _linear_back),
    "torch.nn.functional.layer_norm": (_norm, _norm_back),
    "torch.nn.functional.batch_norm": (_batch_norm, _batch_norm_back),
    "torch.nn.functional.softmax": (_softmax, _softmax_back),
    "torch.nn.functional.gelu": (_gelu, _gelu_back),
    "torch.nn.functional.relu": (lambda v, _: (numpy.maximum(v[0], 0), None), lambda g, v, _, __: (g * (v[0] > 0),)),
    "torch.nn.functional.conv2d": (_conv, _conv_back),
    "torch.nn.functional.max_pool2d": (_pool, _pool_back),
    "torch.nn.functional.cross_entropy": (_entropy, _entropy_back),
    "torch.matmul": (lambda v, _: (v[0] @ v[1], None),
                     lambda g, v, _, __: (g @ numpy.swapaxes(v[1], -1, -2), numpy.swapaxes(v[0], -1, -2) @ g)),
    "torch.add": (lambda v, _: (v[0] + v[1], None), lambda g, _, __, ___: (g, g)),
    "torch.mul": (lambda v, factor: (v[0] * numpy.float32(factor), None), lambda g, _, __, factor: (g * numpy.float32(factor),)),
    "torch.Tensor.transpose": (lambda v, axes: (numpy.swapaxes(v[0], *axes), None), lambda g, _, __, axes: (numpy.swapaxes(g, *axes),)),
    "torch.Tensor.reshape": (lambda v, shape: (v[0].reshape(shape), None), lambda g, v, _, __: (g.reshape(v[0].shape),)),
}
VIEWS = ("torch.Tensor.transpose", "torch.Tensor.reshape")


class Model:
    """One rank of a model. The dtype is that of activations, parameters and gradients; sums are float32."""

    def __init__(self, seed, rank=0, dtype="float32", fault=None, store=True, extra=None, modules=True):
        self.rank, self.dtype, self.fault, self.extra, self.modules = rank, dtype, fault, extra, modules
        self.rows = Rank(rank, store)
        self.random = numpy.random.default_rng(seed)
        self.parameters, self.step, self.path = {}, 0, ""
        self.build()

    def parameter(self, name, *shape, fill=None):
        value = numpy.full(shape, fill, numpy.float32) if fill is not None else self.random.normal(0, 0.6 / numpy.sqrt(shape[-1]), shape)
        self.parameters[name] = Tensor(value.astype(numpy.float32), self.dtype)

    def block(self, name, out, size, *kernel):
        self.parameter(f"{name}.weight", out, size, *kernel)
        self.parameter(f"{name}.bias", out, fill=0.01)

    # ---- calls ----

    def record(self, call, phase, name, values, made, *, number, forward=None, stack=None):
        backward = phase == BACKWARD
        for role, list_ in (((OUTPUT, values), (INPUT, made)) if backward else ((INPUT, values), (OUTPUT, made))):
            for slot, value in enumerate(list_):
                if value is not None:
                    self.rows.row(call, self.step, name, value, role=role, slot=str(slot), phase=phase, number=number, of=self.path,
                                  forward=forward, stack=stack)

    def op(self, name, *inputs, options=None):
        call, place = self.rows.call(), self.calls
        self.calls += 1
        forward, _ = OPERATORS[name]
        values = [one.value for one in inputs]
        spoilt = self.fault is not None and self.fault.applies(self, FORWARD, place)
        if spoilt and self.fault.kind == "memory":
            inputs[0].value = self.fault.spoil(inputs[0].value)
            values[0] = inputs[0].value
        if spoilt and self.fault.kind == "transposed":
            values[1] = numpy.ascontiguousarray(values[1].T)
        out, kept = forward(values, options)
        if spoilt and self.fault.kind not in ("memory", "transposed"):
            out = self.fault.spoil(out)
        if spoilt:
            self.fault.name = name
        result = Tensor(out, self.dtype, base=inputs[0] if name in VIEWS else None)
        stack = self.rows.stack((f"/src/{self.path or 'model'}.py:{10 + place} forward", "/src/train.py:7 step"))
        number = self.rows.number(self.step, FORWARD, name)
        self.record(call, FORWARD, name, list(inputs) + ([options] if options is not None and not isinstance(options, tuple) else []), [result],
                    number=number, stack=stack)
        self.tape.append((name, inputs, result, kept, options, call, self.path, number))
        if self.extra == place:
            self.rows_extra(result)
        return result

    def rows_extra(self, tensor):
        """A call that the other side does not make."""
        call = self.rows.call()
        number = self.rows.number(self.step, FORWARD, "torch.nn.functional.relu")
        self.record(call, FORWARD, "torch.nn.functional.relu", [tensor], [Tensor(numpy.maximum(tensor.value, 0), self.dtype)], number=number)

    def module(self, path, name, body, tensor):
        """Calls BODY as the module PATH of class NAME; its inputs are dumped before it runs, its outputs after."""
        outer, self.path = self.path, path
        call = self.rows.call()
        if self.modules:
            self.rows.row(call, self.step, path, tensor, kind=MODULE, of=name, role=INPUT)
        out = body(tensor)
        if self.modules:
            self.rows.row(call, self.step, path, out, kind=MODULE, of=name, role=OUTPUT)
        self.path = outer
        return out

    def linear(self, name, x):
        return self.op("torch.nn.functional.linear", x, self.parameters[f"{name}.weight"], self.parameters[f"{name}.bias"])

    # ---- a step ----

    def backward(self):
        gradients = {id(self.tape[-1][2]): numpy.float32(1)}
        for place, (name, inputs, result, kept, options, call, path, number) in enumerate(reversed(self.tape)):
            arriving = gradients.get(id(result))
            if arriving is None:
                continue
            self.path = path
            arriving = Tensor(arriving, self.dtype)
            made = OPERATORS[name][1](arriving.value, [one.value for one in inputs], kept, options)
            made = [Tensor(one, self.dtype) for one in made]
            if self.fault is not None and self.fault.applies(self, BACKWARD, place):
                made[0] = Tensor(self.fault.spoil(made[0].value), self.dtype)
                self.fault.name = name
            self.record(self.rows.call(), BACKWARD, name, [arriving], made, number=number, forward=call)
            for one, gradient in zip(inputs, made):
                gradients[id(one)] = gradients[id(one)] + gradient.value if id(one) in gradients else gradient.value
        self.path = ""
        return {name: gradients[id(one)] for name, one in self.parameters.items()}

    def forward_backward(self):
        self.tape, self.calls = [], 0
        self.forward()
        return self.backward()

    def update(self, gradients):
        for name, value in gradients.items():
            self.rows.row(self.rows.call(), self.step, name, Tensor(value, self.dtype), kind=STATE, phase=GRADIENT, slot="")
            parameter = self.parameters[name]
            parameter.change(parameter.value - numpy.float32(0.05) * value)
            self.rows.row(self.rows.call(), self.step, name, parameter, kind=STATE, phase=PARAMETER, slot="")
        self.rows.lines.append(f"step\t{self.step}")
        self.step += 1

    def batch(self):
        return numpy.random.default_rng([self.step, self.rank, 7])


class Transformer(Model):
    WIDTH, HEADS, LAYERS, WORDS, LENGTH = 16, 2, 3, 11, 6

    def build(self):
        for layer in range(self.LAYERS):
            for name, out, size in (("attn.qkv", 3 * self.WIDTH, self.WIDTH), ("attn.out", self.WIDTH, self.WIDTH),
                                    ("mlp.up", self.WIDTH, self.WIDTH), ("mlp.down", self.WIDTH, self.WIDTH)):
                self.block(f"layers.{layer}.{name}", out, size)
            for norm in ("norm1", "norm2"):
                self.parameter(f"layers.{layer}.{norm}.weight", self.WIDTH, fill=1.0)
                self.parameter(f"layers.{layer}.{norm}.bias", self.WIDTH, fill=0.0)
        self.block("head", self.WORDS, self.WIDTH)

    def norm(self, name, x):
        return self.op("torch.nn.functional.layer_norm", x, self.parameters[f"{name}.weight"], self.parameters[f"{name}.bias"])

    def attention(self, name, x):
        heads = []
        n, t, w = x.value.shape
        h, d = self.HEADS, self.WIDTH // self.HEADS
        # One projection for each of query, key and value: the rows of the shared weight are a view.
        for third in range(3):
            weight, bias = self.parameters[f"{name}.qkv.weight"], self.parameters[f"{name}.qkv.bias"]
            part = slice(third * w, (third + 1) * w)
            weight_part, bias_part = Tensor(weight.value[part], self.dtype, base=weight), Tensor(bias.value[part], self.dtype, base=bias)
            weight_part.offset, bias_part.offset = third * w * w, third * w
            self.parts.append((f"{name}.qkv", third, weight_part, bias_part))
            one = self.op("torch.nn.functional.linear", x, weight_part, bias_part)
            one = self.op("torch.Tensor.reshape", one, options=(n, t, h, d))
            heads.append(self.op("torch.Tensor.transpose", one, options=(1, 2)))
        scores = self.op("torch.matmul", heads[0], self.op("torch.Tensor.transpose", heads[1], options=(2, 3)))
        chances = self.op("torch.nn.functional.softmax", self.op("torch.mul", scores, options=1 / numpy.sqrt(d)))
        mixed = self.op("torch.Tensor.transpose", self.op("torch.matmul", chances, heads[2]), options=(1, 2))
        return self.linear(f"{name}.out", self.op("torch.Tensor.reshape", mixed, options=(n, t, w)))

    def feed(self, name, x):
        return self.linear(f"{name}.down", self.op("torch.nn.functional.gelu", self.linear(f"{name}.up", x)))

    def layer(self, name, x):
        x = self.op("torch.add", x, self.module(f"{name}.attn", "Attention", lambda y: self.attention(f"{name}.attn", y), self.norm(f"{name}.norm1", x)))
        return self.op("torch.add", x, self.module(f"{name}.mlp", "Mlp", lambda y: self.feed(f"{name}.mlp", y), self.norm(f"{name}.norm2", x)))

    def forward(self):
        self.parts = []
        random = self.batch()
        x = Tensor(random.normal(0, 1, (4, self.LENGTH, self.WIDTH)).astype(numpy.float32), self.dtype)
        labels = Tensor(random.integers(0, self.WORDS, (4, self.LENGTH)), "int64")
        for layer in range(self.LAYERS):
            x = self.module(f"layers.{layer}", "Layer", lambda y, layer=layer: self.layer(f"layers.{layer}", y), x)
        self.op("torch.nn.functional.cross_entropy", self.linear("head", x), labels)

    def backward(self):
        parameters, whole = self.parameters, {}
        self.parameters = {name: one for name, one in parameters.items() if ".qkv." not in name}
        for name, third, weight, bias in self.parts:
            self.parameters[f"{name}.weight {third}"], self.parameters[f"{name}.bias {third}"] = weight, bias
        gradients = super().backward()
        self.parameters = parameters
        for name in parameters:
            whole[name] = numpy.concatenate([gradients[f"{name} {third}"] for third in range(3)]) if ".qkv." in name else gradients[name]
        return whole


class Cnn(Model):
    def build(self):
        self.block("conv1", 6, 3, 3, 3)
        self.block("conv2", 6, 6, 3, 3)
        self.parameter("bn.weight", 6, fill=1.0)
        self.parameter("bn.bias", 6, fill=0.0)
        self.block("hidden", 96, 96)
        self.block("fc", 10, 96)

    def conv(self, name, x):
        return self.module(name, "Conv2d", lambda y: self.op(
            "torch.nn.functional.conv2d", y, self.parameters[f"{name}.weight"], self.parameters[f"{name}.bias"]), x)

    def forward(self):
        random = self.batch()
        x = Tensor(random.normal(0, 1, (4, 3, 8, 8)).astype(numpy.float32), self.dtype)
        labels = Tensor(random.integers(0, 10, (4, 1)), "int64")
        x = self.op("torch.nn.functional.relu", self.conv("conv1", x))
        x = self.op("torch.nn.functional.batch_norm", self.conv("conv2", x), self.parameters["bn.weight"], self.parameters["bn.bias"])
        x = self.op("torch.nn.functional.max_pool2d", self.op("torch.nn.functional.relu", x))
        x = self.op("torch.Tensor.reshape", x, options=(4, 96))
        x = self.op("torch.nn.functional.relu", self.linear("hidden", x))
        self.op("torch.nn.functional.cross_entropy", self.linear("fc", x), labels)


def train(run, path, model, *, ranks=1, steps=4, seed=1, **options):
    """Trains MODEL on RANKS ranks, writes the dump PATH, and returns the models."""
    models = [model(seed, rank, **options) for rank in range(ranks)]
    for _ in range(steps):
        all_gradients = [one.forward_backward() for one in models]
        mean = {name: sum(gradients[name] for gradients in all_gradients) / numpy.float32(ranks) for name in all_gradients[0]}
        for one in models:
            one.update(mean)
    for one in models:
        one.rows.write(run, path)
    return models
