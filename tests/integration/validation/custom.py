"""Functions for golden processes, and calls of them: custom.py URL."""
import sys

import torch


def scale(tensor, factor):
    return {"scaled": tensor * factor, "sum": tensor.sum()}


def step(state, batch):
    model = torch.nn.Linear(3, 2).to(batch.dtype)
    model.load_state_dict(state)
    return model(batch)


def main():
    from hooktrace import precision
    model, batch = torch.nn.Linear(3, 2), torch.randn(5, 3)
    check = precision.validate(sys.argv[1], on_differ="raise", timeout=600)
    assert torch.equal(check.call(scale, batch, 3)["scaled"], batch * 3)
    assert torch.equal(check.step(model, batch), model(batch))
    assert torch.equal(check.call(torch.add, batch, batch, alpha=2), 3 * batch)
    assert sum(check.agreed.values()) == 3, check
    wrong = torch.nn.Linear(3, 2)
    wrong.register_forward_hook(lambda module, arguments, result: result * 1.01)
    for act in (lambda: check.step(wrong, batch), lambda: check.call(lambda_named("scale"), batch, 3)):
        try:
            act()
        except precision.Disagreement as error:
            assert error.difference.operator in ("step", "scale"), error
        else:
            raise AssertionError("no disagreement was raised")
    check.call(torch.nn.functional.dropout, batch)
    assert check.skipped == {"random": 1}, check
    check.call(unknown, batch)
    assert any(reason.startswith("not computed: refused: no operator 'unknown'") for reason in check.skipped), check
    check.call(torch.add, batch, batch.to_sparse())
    assert any(reason.startswith("not sent") for reason in check.skipped), check
    try:
        check.call(torch.add, batch, torch.ones(7, 7))
    except RuntimeError:
        pass
    check.call(torch.add, batch, 1)
    print(check)


def lambda_named(name):
    """A function that the golden process knows, and that is wrong here."""
    def wrong(tensor, factor):
        return {"scaled": tensor * factor + 1, "sum": tensor.sum()}
    wrong.__name__ = name
    return wrong


def unknown(tensor):
    return tensor


if __name__ == "__main__":
    main()
